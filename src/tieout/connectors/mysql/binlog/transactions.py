"""Where transactions begin and end among the events of a log."""

from __future__ import annotations

from tieout.connectors.mysql.binlog import kinds
from tieout.connectors.mysql.binlog.ddl_tokens import Rules
from tieout.connectors.mysql.binlog.events import Event
from tieout.connectors.mysql.binlog.gtids import Gtid, gtid_of, mysql_gtid
from tieout.connectors.mysql.binlog.statements import Meaning, Query, meaning, query_of, xid_of

_UNNAMED = Gtid(0, "", standalone=True)

_MARKS = frozenset(
    {
        *(kinds.GTID, kinds.MYSQL_GTID, kinds.MYSQL_ANONYMOUS),
        *(kinds.QUERY, kinds.QUERY_COMPRESSED, kinds.XID, kinds.XA_PREPARE),
    }
)


class Groups:
    """Follows a log from the end of one transaction on.

    `gtid` names the transaction that the last event belongs to (MariaDB; `mysql_gtid` does on MySQL), `open` is
    whether more of it follows, `query` the text in the last event and `meant` what it means, if it had one.
    """

    def __init__(self) -> None:
        self.gtid = _UNNAMED
        self.name = ""
        self.mysql_gtid = ""
        self.open = False
        self.query: Query | None = None
        self.meant = Meaning.OTHER

    def ends_with(self, event: Event) -> bool:
        """Whether the next event is the last one of its transaction."""
        kind, _, server, _, body = event
        self.query = None
        if kind not in _MARKS:
            return False
        if kind == kinds.GTID:
            self.gtid = gtid_of(server, body)
            self.name, self.open = self.gtid.text, not self.gtid.standalone
            return False
        if kind == kinds.XID:
            self.name = self.name or str(int.from_bytes(body[:8], "little"))
            return self._closed()
        if kind in (kinds.QUERY, kinds.QUERY_COMPRESSED):
            return self._asked(query_of(kind, body))
        if kind == kinds.XA_PREPARE:
            return self._closed()
        self.mysql_gtid = mysql_gtid(body) if kind == kinds.MYSQL_GTID else ""
        self.gtid, self.name = _UNNAMED, self.mysql_gtid
        return False

    def _asked(self, query: Query) -> bool:
        self.query, self.meant = query, meaning(query.text, Rules(query.sql_mode))
        if self.meant is Meaning.BEGIN:
            self.open = True
            return False
        if self.meant is Meaning.XA_START:  # MariaDB says all this of an XA transaction with its GTID
            self.gtid, self.open = Gtid(0, "", standalone=False, prepared=True, xid=xid_of(query.text)), True
            return False
        if self.meant in (Meaning.XA_COMMIT, Meaning.XA_ROLLBACK) and not self.gtid.completed:
            self.gtid = Gtid(0, "", standalone=True, completed=True, xid=xid_of(query.text))
        if self.meant in (Meaning.COMMIT, Meaning.ROLLBACK):
            return self._closed()
        return not self.open

    def _closed(self) -> bool:
        self.open = False
        return True
