"""The two ways to read MariaDB: connectorx, and pymysql where connectorx can't connect. Both read the same."""

from dataclasses import replace

from tieout.config.urls import parse_url
from tieout.connectors.mysql.snapshot import arrow_batches
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.registry import open_endpoint
from tieout.model.canonical_kinds import Kind, common_kind
from tieout.model.digests import Digest
from tieout.model.keys import EVERYTHING
from tieout.verification.plan import Side
from tieout.verification.work import DigestRange

TABLE = """CREATE TABLE t (id BIGINT UNSIGNED PRIMARY KEY, f FLOAT, x DOUBLE, d DECIMAL(38, 15), s VARCHAR(40),
  l VARCHAR(40) CHARACTER SET latin1, b BLOB, day DATE, at DATETIME(6), ts TIMESTAMP(6) NULL, span TIME(6), y YEAR,
  bits BIT(9), e ENUM('a', 'b'), m SET('x', 'y'), j JSON)"""
ROWS = """INSERT INTO t VALUES
  (18446744073709551615, 0.1, 0.1, 1.000000000000001, 'ü 😀 ', 'é', X'00FF5C27', '2020-02-29',
   '9999-12-31 23:59:59.999999', '2020-06-01 12:00:00.000001',
   '-838:59:59', 1901, b'101010101', 'b', 'x,y', '{"a": 9007199254740993}'),
  (1, -0.0, 1e308, -0.5, '', '', '', '0001-01-01', '2020-01-01 00:00:00', '2038-01-01', '00:00:00.000001', 0,
   b'0', 'a', '', '[]'),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"""


def digest(url):
    endpoint = open_endpoint(url)
    (table,) = endpoint.describe([name for name in endpoint.tables() if name.name == "t"])
    kinds = [common_kind(column.type, column.type) for column in table.columns]
    assert all(isinstance(kind, Kind) for kind in kinds)
    scan = Scan(table, tuple(map(ScanColumn, table.columns, kinds)), (0,), (0,))
    (found,) = DigestRange(Side(endpoint.reader(), scan), EVERYTHING).run()
    endpoint.close()
    return found.digest


def test_both_drivers_read_the_same(mysql_db):
    mysql_db.execute(TABLE)
    mysql_db.execute(ROWS)
    ((socket,),) = mysql_db.rows("SELECT @@socket")
    url = parse_url(mysql_db.url)
    fast = digest(url)
    assert fast != Digest(3, 0)
    assert fast.count == 3
    with mysql_db.server.recording() as seen:
        assert digest(replace(url, params={"socket": socket})) == fast
    # pymysql sends its queries as text; connectorx would have prepared them.
    assert not [statement for statement in seen if statement.text.lower().startswith("prepare")]


def test_zero_dates_are_read_by_both(mysql_db):
    mysql_db.execute(TABLE)
    with mysql_db.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = ''")
        cursor.execute("INSERT INTO t (id, day, at, ts) VALUES (1, '0000-00-00', '2020-00-10', '0000-00-00')")
        connection.commit()
    ((socket,),) = mysql_db.rows("SELECT @@socket")
    url = parse_url(mysql_db.url)
    assert digest(url) == digest(replace(url, params={"socket": socket}))


def test_the_arrow_driver_stays_on_the_address_of_the_url(mysql_db):
    """Not on the server's socket: behind a tunnel, a path of that name belongs to another server."""
    who = "SELECT host AS h FROM information_schema.processlist WHERE id = connection_id()"
    (batch,) = arrow_batches(parse_url(mysql_db.url), who, None)
    ((host,),) = (column.to_pylist() for column in batch.columns)
    assert host.startswith("127.0.0.1:")
