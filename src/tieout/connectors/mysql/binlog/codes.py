"""The numbers of the binary log: kinds of events, and types of columns."""

from __future__ import annotations

from tieout.connectors.mysql.binlog.byte_reader import Cursor

QUERY, STOP, ROTATE, INTVAR, RAND, USER_VAR, FORMAT = 2, 3, 4, 5, 13, 14, 15
XID, BEGIN_LOAD, APPEND_BLOCK, DELETE_FILE, EXECUTE_LOAD, TABLE_MAP = 16, 17, 9, 11, 18, 19
WRITE_V1, UPDATE_V1, DELETE_V1 = 23, 24, 25
INCIDENT, HEARTBEAT, IGNORABLE, ROWS_QUERY = 26, 27, 28, 29
WRITE, UPDATE, DELETE = 30, 31, 32
MYSQL_GTID, MYSQL_ANONYMOUS, PREVIOUS_GTIDS, TRANSACTION_CONTEXT, VIEW_CHANGE, XA_PREPARE = 33, 34, 35, 36, 37, 38
PARTIAL_UPDATE, TRANSACTION_PAYLOAD, HEARTBEAT_V2 = 39, 40, 41
ANNOTATE_ROWS, CHECKPOINT, GTID, GTID_LIST, START_ENCRYPTION, QUERY_COMPRESSED = 160, 161, 162, 163, 164, 165
WRITE_COMPRESSED_V1, UPDATE_COMPRESSED_V1, DELETE_COMPRESSED_V1 = 166, 167, 168
WRITE_COMPRESSED, UPDATE_COMPRESSED, DELETE_COMPRESSED = 169, 170, 171

SILENT = frozenset(
    {
        *(STOP, ROTATE, INTVAR, RAND, USER_VAR, FORMAT, BEGIN_LOAD, APPEND_BLOCK, DELETE_FILE),
        *(HEARTBEAT, IGNORABLE, ROWS_QUERY, PREVIOUS_GTIDS, TRANSACTION_CONTEXT, VIEW_CHANGE, HEARTBEAT_V2),
        *(ANNOTATE_ROWS, CHECKPOINT, GTID_LIST, START_ENCRYPTION),
    }
)
"""Events that change nothing by themselves. INTVAR and the like only set values for a statement in the log."""

ROWS = frozenset(
    {
        *(WRITE_V1, UPDATE_V1, DELETE_V1, WRITE, UPDATE, DELETE),
        *(WRITE_COMPRESSED_V1, UPDATE_COMPRESSED_V1, DELETE_COMPRESSED_V1),
        *(WRITE_COMPRESSED, UPDATE_COMPRESSED, DELETE_COMPRESSED),
    }
)

TOLD = ROWS | {
    *(QUERY, QUERY_COMPRESSED, XID, EXECUTE_LOAD, TABLE_MAP, INCIDENT, MYSQL_GTID, MYSQL_ANONYMOUS, XA_PREPARE),
    *(PARTIAL_UPDATE, TRANSACTION_PAYLOAD, GTID),
}
"""Events that a reader must not skip."""


TINY, SHORT, LONG, FLOAT, DOUBLE, TIMESTAMP, LONGLONG, INT24 = 1, 2, 3, 4, 5, 7, 8, 9
DATE, TIME, DATETIME, YEAR, NEWDATE, VARCHAR, BIT = 10, 11, 12, 13, 14, 15, 16
TIMESTAMP2, DATETIME2, TIME2 = 17, 18, 19
BLOB_COMPRESSED, VARCHAR_COMPRESSED = 140, 141
JSON, DECIMAL, ENUM, SET = 245, 246, 247, 248
TINY_BLOB, MEDIUM_BLOB, LONG_BLOB, BLOB, VAR_STRING, STRING, GEOMETRY = 249, 250, 251, 252, 253, 254, 255

NUMERIC = frozenset({TINY, SHORT, LONG, FLOAT, DOUBLE, LONGLONG, INT24, YEAR, DECIMAL})
"""Types for which the table map says whether they are signed."""

BLOBS = frozenset({TINY_BLOB, MEDIUM_BLOB, LONG_BLOB, BLOB, BLOB_COMPRESSED, GEOMETRY, JSON})
TEXT = frozenset({VARCHAR, VARCHAR_COMPRESSED, VAR_STRING, STRING, *BLOBS} - {GEOMETRY, JSON})
"""Types for which it names a collation; binary strings have 63. MariaDB names one for GEOMETRY too."""

OLD_TEMPORAL = frozenset({TIMESTAMP, TIME, DATETIME})
"""Types of tables that were created without mysql56_temporal_format."""

_ONE_BYTE = frozenset({FLOAT, DOUBLE, TIMESTAMP2, DATETIME2, TIME2, *BLOBS})
_TWO_BYTES = frozenset({VARCHAR, VARCHAR_COMPRESSED})
_PAIRS = frozenset({BIT, DECIMAL, ENUM, SET, VAR_STRING, STRING})


def metadata_of(code: int, sizes: Cursor) -> tuple[int, int, int]:
    """The real type of a column, its size and its scale."""
    if code in _ONE_BYTE:
        return code, sizes.byte(), 0
    if code in _TWO_BYTES:
        return code, sizes.byte() | sizes.byte() << 8, 0
    if code not in _PAIRS:
        return code, 0, 0
    first, second = sizes.byte(), sizes.byte()
    if code == DECIMAL:
        return code, first, second
    if code == BIT:
        return code, second * 8 + first, 0
    if first & 0x30 != 0x30:
        # Two bits of a length beyond 255 are hidden in the type, as the complement of what it always has there.
        return first | 0x30, second | (first & 0x30 ^ 0x30) << 4, 0
    return first, second, 0
