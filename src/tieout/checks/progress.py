"""Progress of a check, by table and family: recorded for --resume, and shown to the user."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tieout.checks.checked import Checked, Unit
from tieout.meta import MetaStore
from tieout.meta.progress import KeptUnit
from tieout.model.check_statements import Family
from tieout.model.documents import failure_document, failure_from, result_document, result_from
from tieout.model.progress_events import Listener, Progress
from tieout.model.redaction import Redaction
from tieout.runtime.ranges import resumable


@dataclass(frozen=True)
class Ledger:
    """`rest` waits, or raises to stop the job. Not `keeps`: what was found at one position of a log
    does not answer for a later one. `redaction` hides values in what is stored.
    """

    store: MetaStore
    job_id: str
    listener: Listener
    rest: Callable[[float], None]
    keeps: bool = True
    redaction: Redaction | None = None

    def checked(
        self, of: tuple[str, ...], family: Family, check: Callable[[Unit], Iterator[Checked]]
    ) -> Iterator[Checked]:
        """The results of a family's checks on a table: made now, or stored before the job was stopped.

        `of` is the table's name in parts: a name with dots in it must not be mistaken for another one.
        """
        table = ".".join(of)
        kept = self.store.check_units.get(self.job_id, of, family.value) if self.keeps else None
        if kept is not None and kept.results is not None:
            yield from map(_read, kept.results)
            return
        self.listener(Progress(family.value, table))
        yield from resumable(
            [self._unit(of, family, kept)],
            lambda unit: (found.detected_now() for found in check(unit)),
            partial(self._finish, of, family),
        )
        self.listener(Progress("done", table))

    def _unit(self, of: tuple[str, ...], family: Family, kept: KeptUnit | None) -> Unit:
        def keep(state: bytes, rows: int, total: int | None) -> None:
            self._keep(of, family, KeptUnit(rows, state, None))
            self.listener(Progress(family.value, ".".join(of), rows, total))

        return Unit(self.rest, None if kept is None else kept.state, keep)

    def _finish(self, of: tuple[str, ...], family: Family, made: Sequence[Checked]) -> None:
        rows = max((each.result.rows or 0 for each in made), default=0)
        results = [
            {"result": result_document(each.result), "failures": [failure_document(f) for f in each.failures]}
            for each in (found.shown(self.redaction) for found in made)
        ]
        self._keep(of, family, KeptUnit(rows, None, results))

    def _keep(self, of: tuple[str, ...], family: Family, unit: KeptUnit) -> None:
        if self.keeps:
            self.store.check_units.keep(self.job_id, of, family.value, unit)


def _read(document: dict[str, object]) -> Checked:
    result, failures = document["result"], document["failures"]
    assert isinstance(result, dict)
    assert isinstance(failures, list)
    return Checked(result_from(result), tuple(failure_from(each) for each in failures), kept=True)
