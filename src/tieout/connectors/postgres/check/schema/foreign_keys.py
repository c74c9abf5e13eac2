"""Foreign keys whose parent is gone, or has no such key any more."""

from __future__ import annotations

from collections.abc import Mapping

from tieout.connectors.postgres.check.schema.objects import Relation
from tieout.connectors.postgres.check.schema.session import SchemaSession
from tieout.connectors.protocols.check import Defect
from tieout.model.failures import FailureKind

# Between two plain tables four triggers ask a foreign key: two of the child, two of the parent. PostgreSQL 18 has
# foreign keys that nobody is held to, and that say so.
_FOREIGN_KEYS = """
SELECT f.conrelid, f.conname, coalesce(p.oid::regclass::text, format('table %%s (gone)', f.confrelid)), p.oid IS NULL,
  (SELECT array_agg(CASE WHEN NOT a.attisdropped THEN a.attname ELSE format('column %%s (gone)', k.attnum) END
     ORDER BY k.place) FROM unnest(f.conkey) WITH ORDINALITY AS k(attnum, place)
   LEFT JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.attnum),
  (SELECT array_agg(CASE WHEN NOT a.attisdropped THEN a.attname ELSE format('column %%s (gone)', k.attnum) END
     ORDER BY k.place) FROM unnest(f.confkey) WITH ORDINALITY AS k(attnum, place)
   LEFT JOIN pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.attnum),
  (SELECT count(*) FROM unnest(f.conkey) AS k(attnum)
   JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.attnum AND NOT a.attisdropped)
    = cardinality(f.conkey),
  (SELECT count(*) FROM unnest(f.confkey) AS k(attnum)
   JOIN pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.attnum AND NOT a.attisdropped)
    = cardinality(f.confkey),
  i.indexrelid IS NOT NULL, x.relname, i.indisunique AND i.indisvalid AND i.indisready AND i.indpred IS NULL,
  i.indrelid = f.confrelid AND i.indnkeyatts = cardinality(f.confkey)
    AND (i.indkey::int2[])[0:i.indnkeyatts - 1] @> f.confkey AND (i.indkey::int2[])[0:i.indnkeyatts - 1] <@ f.confkey,
  (SELECT count(*) FROM unnest(f.conpfeqop) AS e(op) LEFT JOIN pg_operator o ON o.oid = e.op WHERE o.oid IS NULL),
  c.relkind = 'r' AND p.relkind = 'r' AND f.conparentid = 0 AND NOT c.relispartition AND NOT p.relispartition
    AND coalesce((to_jsonb(f) ->> 'conenforced')::bool, true)
    AND (SELECT count(*) FROM pg_trigger t WHERE t.tgconstraint = f.oid) < 4
FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid LEFT JOIN pg_class p ON p.oid = f.confrelid
LEFT JOIN pg_index i ON i.indexrelid = f.conindid LEFT JOIN pg_class x ON x.oid = f.conindid
WHERE f.contype = 'f' AND f.conrelid = ANY(%s::oid[]) ORDER BY f.conname"""


def look_at_foreign_keys(session: SchemaSession, relations: Mapping[int, Relation]) -> None:
    for owner, name, parent, gone, columns, theirs, *facts in session.rows(_FOREIGN_KEYS, list(relations)):
        inspection = relations[owner].inspection
        inspection.looked_at["foreign keys"] += 1
        reason = _reason(parent, gone, theirs, facts)
        if reason:
            details = {"reason": reason, "refers_to": f"{parent} ({', '.join(theirs)})"}
            inspection.defects.append(Defect(FailureKind.INVALID_FOREIGN_KEY, details, tuple(columns), constraint=name))


def _reason(parent: str, gone: bool, theirs: list[str], facts: list[object]) -> str | None:
    own, keyed, has_index, index, is_key, covers, lost_operators, unasked = facts
    key = f"({', '.join(theirs)})"
    if gone:
        return "the table that it refers to is gone"
    if not own:
        return "a column of it was dropped"
    if not keyed:
        return f"a column that it refers to was dropped from {parent}"
    if not has_index:
        return f"the index that made {key} a key of {parent} is gone"
    if not covers:
        return f"the index {index} is not one on {key} of {parent}"
    if not is_key:
        return f"the index {index} does not make {key} a key of {parent}: it is not unique, not valid or partial"
    if lost_operators:
        return "an operator that compares the two keys is gone"
    return "its triggers are gone: nobody is held to it" if unasked else None
