"""What a mover does about a table whose definition changed: it follows what it can, and stops the table otherwise."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from tieout.connectors.protocols.change_log import Retyped
from tieout.connectors.protocols.move import TypeCatalog
from tieout.errors import UnreachableError, UnsupportedError
from tieout.failpoints import reach
from tieout.model.moves import Transfer
from tieout.model.tables import TableName
from tieout.move.schema_changes import Adapter, TableProblem
from tieout.move.widened_columns import Incompatible, with_columns

if TYPE_CHECKING:
    from tieout.move.table_mover import TableMover


@dataclass
class ChangedTables:
    """`proving`: tables whose types have changed, and whose rows are about to be compared."""

    mover: TableMover
    proving: set[TableName] = field(default_factory=set)

    def adapt_or_stop(self, spark: SparkSession, problem: TableProblem) -> None:
        """Follows columns from the position where they were added or widened; any other problem stops its table."""
        if problem.exact and not self.mover.follow(spark, problem.before, exact=True):
            return  # the source has another log, which reports it at another position
        found = [transfer for transfer in self.mover.transfers if transfer.source.name == problem.table]
        if not found:
            return  # another problem has stopped it on the way
        (transfer,), reason = found, problem.reason
        try:
            if problem.columns is not None:
                self._adapt(transfer, self._adapter.adapted(transfer, problem))
                return
            if not problem.exact and self._is_widened(spark, transfer):
                return
        except Incompatible as error:
            reason = f"{problem.reason}: {error}"
        found = [each for each in self.mover.transfers if each.source.name == problem.table]
        if not found:
            return
        (transfer,) = found
        self.mover.stop_table(transfer, reason)

    def _is_widened(self, spark: SparkSession, transfer: Transfer) -> bool:
        """Whether the source's catalog says that columns hold more by now, and the target does so, too, from now on.

        Incompatible if rows may have other values. The target may be widened earlier than the log says: no row changes.
        """
        name = transfer.source.name
        catalog = self.mover.source.type_catalog(self.mover.request.task)
        if catalog is None or name in self.proving:
            return False
        found = self.mover.log.coverage([name])
        retyped = found.retyped.get(name)
        if retyped is None and name in found.reasons:
            return False
        try:
            widened = self._adapter.by_catalog(transfer, retyped)
        finally:
            if self.mover.log.coverage([name]).retyped.get(name) != retyped:
                raise UnreachableError(f"{name} is being altered", "the mover looks at it again")
        if widened is None and retyped is None:
            return False
        new = widened or transfer
        if widened is not None and retyped is not None and retyped.rewritten:
            new = self._proven(spark, transfer, widened, retyped, catalog)
        if retyped is not None:
            catalog.accept(name, retyped)
            reach("types-accepted")
        current = next(each for each in self.mover.transfers if each.source.name == name)
        self._adapt(current, new)
        return True

    def _proven(
        self, spark: SparkSession, transfer: Transfer, widened: Transfer, retyped: Retyped, catalog: TypeCatalog
    ) -> Transfer:
        """The widened transfer, after the target has reached the change. Incompatible if the change gave rows other
        values: nothing in the log shows that.
        """
        name = transfer.source.name
        self.proving.add(name)
        try:
            self.mover.transfers = [widened if each is transfer else each for each in self.mover.transfers]
            self.mover.target.mark_altered(self.mover.fence, [widened])
            self.mover.follow(spark, self.mover.log.now())
            current = next((each for each in self.mover.transfers if each.source.name == name), None)
            if current is None:
                raise Incompatible("it was stopped")
            self._require_equal(current, retyped, catalog)
            return current
        finally:
            self.proving.discard(name)

    def _require_equal(self, transfer: Transfer, retyped: Retyped, catalog: TypeCatalog) -> None:
        try:
            with catalog.rewritten(transfer, retyped.columns, same_engine=self.mover.same_engine) as lines:
                unequal = self.mover.target.unequal_rows(self.mover.fence, transfer, lines)
        except UnsupportedError as error:
            raise Incompatible(str(error)) from None
        if unequal:
            raise Incompatible(f"{unequal:,} of its rows got other values with it")

    def _adapt(self, transfer: Transfer, adapted: Transfer) -> None:
        """Goes on with another transfer of a table. Others may go to the same target."""
        beside = [t for t in self.mover.transfers if t is not transfer and t.target.name == adapted.target.name]
        new = {id(other): with_columns(other, {}, adapted.target) for other in beside} | {id(transfer): adapted}
        self.mover.transfers = [new.get(id(each), each) for each in self.mover.transfers]
        source = adapted.source
        self.mover.target.progress.plan_columns(self.mover.fence, source.name, source.column_names, adapted.target.name)
        if adapted.typed:
            known = [column for column in source.columns if column.name in adapted.typed]
            self.mover.target.progress.plan_types(self.mover.fence, source.name, known)
        self.mover.target.mark_altered(self.mover.fence, [adapted])

    def take_more_now(self, spark: SparkSession) -> bool:
        """Whether a value did not fit because the source takes more by now; the target does so, too, from now on."""
        with suppress(Incompatible):
            return any(self._is_widened(spark, transfer) for transfer in tuple(self.mover.transfers))
        return False

    @property
    def _adapter(self) -> Adapter:
        return Adapter(
            self.mover.source, self.mover.target, self.mover.fence, self.mover.endpoints, self.mover.same_engine
        )
