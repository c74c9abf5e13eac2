"""Failures over time: when a check saw each first and last, since when it is gone, and what people noted."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from tieout.errors import UsageError
from tieout.meta.database import Database
from tieout.meta.ids import find, new_id
from tieout.meta.ownership import now, touch
from tieout.meta.schema import failures
from tieout.model.check_statements import Family
from tieout.model.defaults import LISTED_FAILURES
from tieout.model.documents import failure_document, failure_from
from tieout.model.failures import CheckResult, Failure, FailureKind, FailureState, KeptFailure

_AT_ONCE = 500
_DISTINGUISHING = ("entry.", "rule", "message")
"""Details that tell failures apart which are about the same row: an entry of an index, a rule, an engine's words."""


class Failures:
    def __init__(self, database: Database) -> None:
        self._database = database

    def record(
        self,
        job_id: str,
        endpoint: str,
        check: CheckResult,
        found: Sequence[Failure],
        shown: Sequence[Failure] | None = None,
    ) -> None:
        """Records what a check found. What it found before and not now is gone, unless the listing was truncated.

        `shown` is what to keep of each, if not all of it; a failure is recognized by what it is.
        A resolved failure that a check sees again is open again. An ignored one stays ignored.
        """
        of_check = _hash(endpoint, check.family.value, check.table, check.name)
        identities = _identities(endpoint, check, found)
        kept = found if shown is None else shown
        documents = {each: failure_document(failure) for each, failure in zip(identities, kept, strict=True)}
        with self._database.write() as connection:
            touch(connection, job_id)
            at = now()
            known = _known(connection, list(documents))
            if not check.cut:
                of_it = failures.c.of_check == of_check, failures.c.gone_since.is_(None)
                connection.execute(update(failures).where(*of_it).values(gone_since=at))
            for identity, document in documents.items():
                if identity in known:
                    _see_again(connection, identity, job_id, document, at)
            rows = [
                {
                    "id": new_id("f", at) + f"-{number}",
                    "identity": identity,
                    "of_check": of_check,
                    "job_id": job_id,
                    "endpoint": endpoint,
                    "kind": document["failure"],
                    "found": document,
                    "state": FailureState.OPEN,
                    "first_seen": at,
                    "last_seen": at,
                }
                for number, (identity, document) in enumerate(documents.items())
                if identity not in known
            ]
            for start in range(0, len(rows), _AT_ONCE):
                connection.execute(insert(failures), rows[start : start + _AT_ONCE])

    def list(
        self,
        *,
        limit: int = LISTED_FAILURES,
        state: FailureState | None = None,
        kind: str | None = None,
        gone: bool = False,
    ) -> list[KeptFailure]:
        """The newest first; those that are gone only if the caller asks for them."""
        query = select(failures).order_by(failures.c.last_seen.desc(), failures.c.id).limit(limit)
        if state is not None:
            query = query.where(failures.c.state == state)
        if kind is not None:
            query = query.where(failures.c.kind == kind)
        if not gone:
            query = query.where(failures.c.gone_since.is_(None))
        with self._database.read() as connection:
            return [_kept(row) for row in connection.execute(query)]

    def of_job(self, job_id: str) -> Sequence[KeptFailure]:
        """The failures that this job was the last to see, in the order it recorded them."""
        query = select(failures).where(failures.c.job_id == job_id, failures.c.gone_since.is_(None))
        with self._database.read() as connection:
            found = [_kept(row) for row in connection.execute(query)]
        return sorted(found, key=lambda each: (each.last_seen, int(each.id.rpartition("-")[2]), each.id))

    def known(self, endpoint: str, family: str, table: str, name: str | None) -> Sequence[Failure]:
        """What the last check of the same thing found."""
        of_check = _hash(endpoint, family, table, name)
        query = select(failures.c.found).where(failures.c.of_check == of_check, failures.c.gone_since.is_(None))
        with self._database.read() as connection:
            return [failure_from(document) for document in connection.scalars(query.order_by(failures.c.id))]

    def get(self, reference: str) -> KeptFailure:
        with self._database.read() as connection:
            return _kept(_one(connection, reference))

    def judge(self, reference: str, state: FailureState, note: str | None) -> KeptFailure:
        """Records what a person says about a failure."""
        with self._database.write() as connection:
            row = _one(connection, reference)
            connection.execute(update(failures).where(failures.c.id == row.id).values(state=state, note=note))
            return _kept(_one(connection, row.id))


def _one(connection: Connection, reference: str) -> Any:
    newest_first = select(failures).order_by(failures.c.last_seen.desc(), failures.c.id)
    row = find(connection, newest_first, failures.c.id, reference)
    if row is None:
        raise UsageError(f"there is no failure {reference!r}", "see `tieout failures list`")
    return row


def _known(connection: Connection, identities: Sequence[str]) -> set[str]:
    known: set[str] = set()
    for start in range(0, len(identities), _AT_ONCE):
        some = identities[start : start + _AT_ONCE]
        known |= set(connection.scalars(select(failures.c.identity).where(failures.c.identity.in_(some))))
    return known


def _see_again(connection: Connection, identity: str, job_id: str, document: Mapping[str, Any], at: datetime) -> None:
    seen = update(failures).where(failures.c.identity == identity)
    connection.execute(seen.values(job_id=job_id, found=dict(document), last_seen=at, gone_since=None))
    connection.execute(seen.where(failures.c.state == FailureState.RESOLVED).values(state=FailureState.OPEN))


def _identities(endpoint: str, check: CheckResult, found: Sequence[Failure]) -> Sequence[str]:
    """Numbers equal rows that have neither a key nor an address, to distinguish them."""
    seen: Counter[str] = Counter()
    identities = []
    for failure in found:
        placeless = failure.primary_key is None and failure.place is None
        # The details of a definition may change on every check: the value of a sequence.
        identity = _identity(endpoint, failure, by_details=placeless and check.family is not Family.SCHEMA)
        number = seen[identity] if placeless else 0
        seen[identity] += 1
        identities.append(_hash(identity, number) if number else identity)
    return identities


def _identity(endpoint: str, failure: Failure, *, by_details: bool) -> str:
    """By the row's key if it has one: its address changes with every update. Several rows may break one primary key.

    The entry of a row that is gone has an address that stays, and stores of earlier versions know it by that.
    """
    where = dict(failure.primary_key) if failure.primary_key is not None else failure.place
    if failure.kind in (FailureKind.PRIMARY_KEY_VIOLATION, FailureKind.DANGLING_INDEX_ENTRY):
        where = failure.place or where
    details = {name: value for name, value in failure.details.items() if by_details or name.startswith(_DISTINGUISHING)}
    about = (failure.table, failure.columns, failure.index, failure.constraint)
    return _hash(endpoint, failure.kind.value, *about, where, details)


def _hash(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _kept(row: Any) -> KeptFailure:
    return KeptFailure(
        row.id,
        row.job_id,
        row.endpoint,
        failure_from(row.found),
        FailureState(row.state),
        row.note,
        row.first_seen,
        row.last_seen,
        row.gone_since,
    )
