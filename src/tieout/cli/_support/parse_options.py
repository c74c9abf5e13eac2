"""The options of `verify` and `preflight` as typed, turned into a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tieout.cli._support.context import Sides
from tieout.errors import UsageError
from tieout.model.requests import Meaning, Narrowing, TableRequest, VerifyOptions, VerifyRequest
from tieout.model.results import Strategy

if TYPE_CHECKING:
    from tieout.config.settings import Settings


@dataclass(frozen=True, slots=True)
class TypedTables:
    """The options about tables, rows and columns as typed; None: left out."""

    table: Sequence[str] | None = None
    exclude: Sequence[str] | None = None
    where: str | None = None
    source_where: str | None = None
    target_where: str | None = None
    key: str | None = None
    columns: str | None = None
    exclude_columns: str | None = None
    tolerance: Sequence[str] | None = None
    expr: Sequence[str] | None = None

    @property
    def names(self) -> list[str]:
        """The names of the typed options."""
        return ["--" + name.replace("_", "-") for name in self.__slots__ if getattr(self, name)]


def table_requests(words: TypedTables) -> tuple[TableRequest, ...]:
    """The typed tables, with what was typed about rows and columns."""
    tables = [_table(name) for name in words.table or ()]
    settings = _settings(words)
    if settings and not tables:
        tables = [TableRequest("*")]
    return tuple(replace(table, **settings) for table in tables)


def narrowing_of(words: TypedTables, request: VerifyRequest) -> VerifyRequest:
    """The request of a task, with what was typed beside it.

    What was typed narrows the task, which keeps its entries: they say where each table goes and which rows count, and
    several may be about one table.
    """
    if not words.names:
        return request
    typed = _settings(words)
    conditions = Narrowing(
        source_where=typed.get("source_where") or typed.get("where"),
        target_where=typed.get("target_where") or typed.get("where"),
        expressions=typed.get("expressions", {}),
    )
    names = ("exclude", "key", "columns", "exclude_columns", "tolerance")
    narrowing = replace(conditions, **{name: typed[name] for name in names if name in typed})
    if request.meaning is Meaning.MOVED and words.expr:
        raise UsageError(
            "--expr can't be combined with a task that is moved: the task says what its columns hold",
            "write it in the task's `columns`, or give --source and --target instead of the task",
        )
    if not request.tables and request.meaning is not Meaning.MOVED:
        return replace(request, tables=table_requests(TypedTables(table=words.table)), narrowing=narrowing)
    if any("=" in name for name in words.table or ()):
        raise UsageError("the task already says which tables belong together", "give --table the source's name")
    return replace(request, narrowing=replace(narrowing, tables=tuple(words.table or ())))


def _table(text: str) -> TableRequest:
    source, equals, target = text.partition("=")
    if not source.strip() or (equals and not target.strip()):
        raise UsageError(f"--table {text!r} names no table", "write --table orders, or --table source=target")
    return TableRequest(source.strip(), target.strip() or None)


def _settings(words: TypedTables) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "exclude": tuple(words.exclude or ()),
        "where": words.where,
        "source_where": words.source_where,
        "target_where": words.target_where,
        "key": _names("--key", words.key),
        "columns": _names("--columns", words.columns),
        "exclude_columns": _names("--exclude-columns", words.exclude_columns) or (),
        "tolerance": dict(_pair("--tolerance", text, "col=1e-6") for text in words.tolerance or ()),
        "expressions": {name: _sides(sql) for name, sql in (_expression(text) for text in words.expr or ())},
    }
    return {name: value for name, value in settings.items() if value}


def _names(option: str, text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    if "" in names:
        raise UsageError(f"{option} {text!r} has an empty name", "write names with commas between: a,b")
    return names


def _expression(text: str) -> tuple[str, str]:
    return _pair("--expr", text, "total=price * qty|total")


def _pair(option: str, text: str, example: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if not name.strip() or not value.strip():
        raise UsageError(f"{option} {text!r} is not COLUMN=…", f"write {option} '{example}'")
    return name.strip(), value.strip()


def _sides(sql: str) -> tuple[str, str]:
    """The source's SQL and the target's. `||` is SQL's concatenation and does not separate them."""
    parts = sql.replace("||", "\0").split("|")
    if len(parts) > 2:
        raise UsageError(f"--expr: {sql!r} has more than two sides", "write COLUMN=SOURCE_SQL|TARGET_SQL")
    source, target = (part.replace("\0", "||").strip() for part in (*parts, "")[:2])
    return source, target


_AS_TYPED = (
    "chunk_seconds",
    "chunk_rows",
    "max_rows_per_second",
    "recheck_after",
    "recheck_times",
    "redact_values",
)
_DIGESTS_DEPEND_ON = ("strategy", "hash_bits", "counts_only", "exact_scale")


@dataclass(frozen=True, slots=True)
class TypedOptions:
    """The options about how to verify as typed; None (False, for a flag): left out."""

    strategy: str | None = None
    hash_bits: str | None = None
    counts_only: bool = False
    exact_scale: bool = False
    limit: str | None = None
    chunk_seconds: float | None = None
    chunk_rows: int | None = None
    max_rows_per_second: int | None = None
    recheck_after: float | None = None
    recheck_times: int | None = None
    redact_values: bool | None = None

    @property
    def names_that_digests_depend_on(self) -> list[str]:
        """The names of typed options that digests, or what the job stores, depend on."""
        typed = [name for name in _DIGESTS_DEPEND_ON if getattr(self, name)]
        typed += ["redact_values"] if self.redact_values is not None else []
        return ["--" + name.replace("_", "-") for name in typed]


def verify_options(words: TypedOptions, base: VerifyOptions) -> VerifyOptions:
    """`base`, overridden by what was typed."""
    typed: dict[str, Any] = {name: getattr(words, name) for name in _AS_TYPED if getattr(words, name) is not None}
    if words.strategy is not None:
        typed["strategy"] = Strategy(words.strategy)
    if words.hash_bits is not None:
        typed["hash_bits"] = int(words.hash_bits)
    if words.limit is not None:
        typed["limit"] = _limit(words.limit)
    for flag in ("counts_only", "exact_scale"):
        if getattr(words, flag):
            typed[flag] = True
    return replace(base, **typed)


def _limit(text: str) -> int | None:
    if text.strip().lower() == "none":
        return None
    if not text.strip().isdecimal() or int(text) < 1:
        raise UsageError(f"--limit {text!r} is not a number from 1", "write --limit 1000, or --limit none for all")
    return int(text)


def build_request(
    settings: Settings, task: str | None, sides: Sides, tables: TypedTables, options: TypedOptions
) -> VerifyRequest:
    """The request of a task or of two endpoints; typed options override the task's, typed conditions narrow it."""
    if task is not None:
        if any(sides):
            raise UsageError("a task has its own source and target", "give a task, or --source and --target")
        request = narrowing_of(tables, settings.verify_request(task))
        return replace(request, options=verify_options(options, request.options))
    source, target = sides
    if source is None or target is None:
        missing = [name for name, url in (("--source", source), ("--target", target)) if url is None]
        raise UsageError(f"{' and '.join(missing)} missing", "give a task, or --source URL and --target URL")
    defaults = VerifyOptions(redact_values=settings.redact_values)
    request = VerifyRequest(settings.endpoint(source), settings.endpoint(target), options=defaults)
    return replace(request, tables=table_requests(tables), options=verify_options(options, request.options))
