"""The hash that an engine gives each row, by the SQL of its own digests."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from tests.integration.matrix.columns import MARIADB
from tests.integration.matrix.engines import TestDatabase
from tests.integration.matrix.pairs import How
from tieout.config.urls import parse_url
from tieout.connectors.mysql.connection import connect as connect_mysql
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.postgres.connection import connect as connect_postgres
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.protocols.endpoint import HashSpec, Scan
from tieout.connectors.registry import open_endpoint
from tieout.connectors.sql import select
from tieout.model.requests import TableRequest, VerifyOptions
from tieout.model.results import Strategy
from tieout.model.tables import TableName
from tieout.verification.columns import compare_schemas
from tieout.verification.plan import scans

Hashes = dict[int, tuple[Any, ...]]


def row_hashes(source: TestDatabase, target: TestDatabase, table: str, how: How) -> tuple[Hashes, Hashes]:
    spec = HashSpec(how.strategy is Strategy.NATIVE, how.bits, seed=20240229)
    left, right = _scans(source, target, table)
    return _hashes(source, left, spec), _hashes(target, right, spec)


def _scans(source: TestDatabase, target: TestDatabase, table: str) -> tuple[Scan, Scan]:
    described = []
    for side in (source, target):
        with closing(open_endpoint(parse_url(side.url))) as endpoint:
            described += endpoint.describe([TableName(endpoint.default_schema(), table)])
    comparison = compare_schemas(*described, TableRequest(table), VerifyOptions())
    left, right, _ = scans(*described, comparison, (None, None))
    return left, right


def _hashes(side: TestDatabase, scan: Scan, spec: HashSpec) -> Hashes:
    url = parse_url(side.url)
    if side.engine == MARIADB:
        mysql = MySQLDialect(ServerKind.MARIADB)
        statement = select.aggregate(mysql, scan, "", f"`id`, {mysql.digest_columns(scan, spec)}")
        with connect_mysql(url) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return {row[0]: tuple(row[1:]) for row in cursor.fetchall()}
    postgres = PostgresDialect()
    with connect_postgres(url, "test") as connection:
        keys = [key for (key,) in connection.execute(select.aggregate(postgres, scan, "", '"id"')).fetchall()]
        return {key: connection.execute(postgres.digest(scan, f'"id" = {key}', spec)).fetchone() for key in keys}
