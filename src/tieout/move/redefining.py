"""What a statement in the log means for a table whose definition it changed."""

from __future__ import annotations

from tieout.model.changes import Begin, Redefined
from tieout.model.moving import Transfer
from tieout.move.holdings import Holdings
from tieout.move.trouble import ColumnsChanged, TableChanged


def follow(change: Redefined, transaction: Begin, transfer: Transfer, holdings: Holdings) -> None:
    """TableChanged if its rows can't be followed behind the statement, ColumnsChanged if it got some to follow."""
    name = transfer.source.name
    if change.reason is not None and not holdings.all_hold(transaction):
        # What all chunks hold was over before the first row was read.
        raise TableChanged(f"{name}: {change.reason}")
    read = {column.name.lower(): column.name for column in transfer.reads.source_columns}
    for gone in change.dropped:
        if gone.lower() in read:
            raise TableChanged(f"{name} has no column {read[gone.lower()]} any more")
    for changed in change.changed:
        # Of before the copy, too: the table was planned before its log was begun, with another type perhaps.
        if changed.lower() in read:
            raise TableChanged(f"{name}: its column {read[changed.lower()]} was changed, perhaps with its values")
    if _lost_key(change, transfer):
        raise TableChanged(f"{name}: the key that tells its rows apart was dropped or renamed")
    _follow_added(change, transaction, transfer, holdings)


def _follow_added(change: Redefined, transaction: Begin, transfer: Transfer, holdings: Holdings) -> None:
    known = {column.lower() for column in transfer.source.column_names}
    added = {column: default for column, default in change.added if column.lower() not in known}
    if not added:
        return
    reason = f"{transfer.source.name} got a column {next(iter(added))}"
    if holdings.may_be_later_than(transaction):
        # Its chunks were read without the column: values that it had by then are in none of them.
        raise TableChanged(f"{reason} while it was copied")
    raise ColumnsChanged(reason, (*transfer.source.column_names, *added), added)


def _lost_key(change: Redefined, transfer: Transfer) -> bool:
    table = transfer.source
    keys = {index.name.lower() for index in table.indexes if index.unique and index.columns == table.key}
    return bool(transfer.reads.key and keys) and keys <= {name.lower() for name in change.unindexed}
