"""References to objects that do not exist, in the catalog's record of dependencies and in its rows; and foreign keys
whose parent does not exist, or no longer has the key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.check.schema.objects import Relation, SchemaSession
from tieout.connectors.protocols.check import Inspection, SchemaFailure
from tieout.model.failures import FailureKind
from tieout.model.tables import TableName

# Between two plain tables four triggers enforce a foreign key: two of the child, two of the parent. PostgreSQL 18 has
# foreign keys that are declared NOT ENFORCED.
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


def check_foreign_keys(session: SchemaSession, relations: Mapping[int, Relation]) -> None:
    for owner, name, parent, gone, columns, theirs, *facts in session.rows(_FOREIGN_KEYS, [list(relations)]):
        inspection = relations[owner].inspection
        inspection.looked_at["foreign keys"] += 1
        reason = _reason(parent, gone, theirs, facts)
        if reason:
            details = {"reason": reason, "refers_to": f"{parent} ({', '.join(theirs)})"}
            inspection.failures.append(
                SchemaFailure(FailureKind.INVALID_FOREIGN_KEY, details, tuple(columns), constraint=name)
            )


def _reason(parent: str, gone: bool, theirs: list[str], facts: list[object]) -> str | None:
    own, keyed, has_index, index, is_key, covers, lost_operators, unenforced = facts
    key = f"({', '.join(theirs)})"
    if gone:
        return "the table that it references does not exist"
    if not own:
        return "one of its columns was dropped"
    if not keyed:
        return f"a column of {parent} that it references was dropped"
    if not has_index:
        return f"the index that made {key} a key of {parent} does not exist"
    if not covers:
        return f"the index {index} is not on {key} of {parent}"
    if not is_key:
        return f"the index {index} does not make {key} a key of {parent}: it is not unique, not valid or partial"
    if lost_operators:
        return "an operator that compares the two keys does not exist"
    return "its triggers are missing: nothing enforces it" if unenforced else None


# Rows of the catalogs with the table that they belong to, the part of the table that they define, and the name of an
# index or a constraint. Rows that belong to no table are left out.
_OWNERS = """
SELECT 'pg_class'::regclass::oid AS classid, c.oid AS objid, c.oid AS owner, NULL::text AS place,
  NULL::text AS index_name, NULL::text AS constraint_name FROM pg_class c WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm')
UNION ALL SELECT 'pg_class'::regclass, i.indexrelid, i.indrelid, NULL, c.relname, NULL
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
UNION ALL SELECT 'pg_attrdef'::regclass, d.oid, d.adrelid, 'column ' || coalesce(a.attname, d.adnum::text), NULL, NULL
  FROM pg_attrdef d LEFT JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
UNION ALL SELECT 'pg_rewrite'::regclass, r.oid, r.ev_class, CASE WHEN r.ev_type <> '1' THEN 'rule ' || r.rulename END,
  NULL, NULL FROM pg_rewrite r
UNION ALL SELECT 'pg_constraint'::regclass, k.oid, k.conrelid, NULL, NULL, k.conname FROM pg_constraint k
UNION ALL SELECT 'pg_trigger'::regclass, t.oid, t.tgrelid, 'trigger ' || t.tgname, NULL, NULL FROM pg_trigger t
UNION ALL SELECT 'pg_policy'::regclass, p.oid, p.polrelid, 'policy ' || p.polname, NULL, NULL FROM pg_policy p"""

_KEPT = ("class", "proc", "type", "operator", "opclass", "opfamily", "collation", "namespace", "constraint", "am")
"""Catalogs, without their prefix, whose rows are referenced."""

_DEPENDENCIES = f"""
WITH owners AS ({_OWNERS})
SELECT o.owner, o.place, o.index_name, o.constraint_name, NULL::text, d.refclassid::regclass::text, d.refobjid::int8,
  nullif(d.refobjsubid, 0)
FROM pg_depend d JOIN owners o USING (classid, objid)
WHERE o.owner = ANY(%s::oid[]) AND ({
    " OR ".join(
        f"d.refclassid = {quoting.text(name)}::regclass AND NOT EXISTS (SELECT FROM {name} x WHERE x.oid = d.refobjid)"
        for name in (f"pg_{catalog}" for catalog in _KEPT)
    )
} OR d.refclassid = 'pg_class'::regclass AND d.refobjsubid <> 0 AND NOT EXISTS (SELECT FROM pg_attribute x
    WHERE x.attrelid = d.refobjid AND x.attnum = d.refobjsubid AND NOT x.attisdropped))"""

# References in the rows of the catalogs themselves: somebody may have edited those and not the dependencies.
_ROWS = """
SELECT a.attrelid, 'column ' || a.attname, NULL, NULL, a.attname, 'pg_type', a.atttypid::int8, NULL::int
  FROM pg_attribute a WHERE a.attrelid = ANY(%s::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
  AND NOT EXISTS (SELECT FROM pg_type t WHERE t.oid = a.atttypid)
UNION ALL SELECT a.attrelid, 'column ' || a.attname, NULL, NULL, a.attname, 'pg_collation', a.attcollation::int8, NULL
  FROM pg_attribute a WHERE a.attrelid = ANY(%s::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
  AND a.attcollation <> 0 AND NOT EXISTS (SELECT FROM pg_collation l WHERE l.oid = a.attcollation)
UNION ALL SELECT d.adrelid, 'column ' || d.adnum, NULL, NULL, NULL, 'pg_class', d.adrelid::int8, d.adnum
  FROM pg_attrdef d WHERE d.adrelid = ANY(%s::oid[]) AND NOT EXISTS (SELECT FROM pg_attribute a
  WHERE a.attrelid = d.adrelid AND a.attnum = d.adnum AND NOT a.attisdropped)
UNION ALL SELECT t.tgrelid, 'trigger ' || t.tgname, NULL, NULL, NULL, 'pg_proc', t.tgfoid::int8, NULL
  FROM pg_trigger t WHERE t.tgrelid = ANY(%s::oid[])
  AND NOT EXISTS (SELECT FROM pg_proc p WHERE p.oid = t.tgfoid)
UNION ALL SELECT i.inhrelid, NULL, NULL, NULL, NULL, 'pg_class', i.inhparent::int8, NULL
  FROM pg_inherits i WHERE i.inhrelid = ANY(%s::oid[])
  AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = i.inhparent)
UNION ALL SELECT c.oid, NULL, NULL, NULL, NULL, 'pg_class', c.reltoastrelid::int8, NULL
  FROM pg_class c WHERE c.oid = ANY(%s::oid[]) AND c.reltoastrelid <> 0
  AND NOT EXISTS (SELECT FROM pg_class t WHERE t.oid = c.reltoastrelid)
UNION ALL SELECT c.oid, NULL, NULL, NULL, NULL, 'pg_namespace', c.relnamespace::int8, NULL
  FROM pg_class c WHERE c.oid = ANY(%s::oid[])
  AND NOT EXISTS (SELECT FROM pg_namespace n WHERE n.oid = c.relnamespace)
UNION ALL SELECT c.oid, NULL, NULL, NULL, NULL, 'pg_am', c.relam::int8, NULL
  FROM pg_class c WHERE c.oid = ANY(%s::oid[]) AND c.relam <> 0
  AND NOT EXISTS (SELECT FROM pg_am m WHERE m.oid = c.relam)"""

_UNINDEXED = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('i', 'I') AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indexrelid = c.oid)"""

_NOUNS = {
    "pg_class": "relation",
    "pg_proc": "function",
    "pg_opclass": "operator class",
    "pg_opfamily": "operator family",
    "pg_namespace": "schema",
    "pg_am": "access method",
}


def check_references(session: SchemaSession, relations: Mapping[int, Relation]) -> None:
    """Runs last: skips parts that already have a failure."""
    oids = list(relations)
    found = [*session.rows(_ROWS, [oids] * _ROWS.count("%s")), *session.rows(_DEPENDENCIES, [oids])]
    for relation in relations.values():
        relation.inspection.looked_at["references"] += 1
    for owner, place, index, constraint, column, catalog, oid, number in found:
        inspection = relations[owner].inspection
        defect = SchemaFailure(
            FailureKind.MISSING_REFERENCE,
            {"refers_to": _gone(catalog, oid, number)},
            (column,) if column else (),
            index,
            constraint,
            place,
        )
        if defect.part not in {each.part for each in inspection.failures}:
            inspection.failures.append(defect)


def indexes_of_nothing(session: SchemaSession) -> list[Inspection]:
    """Indexes without a definition in the catalog: nothing says which table they belong to."""
    found = []
    for schema, name in session.rows(_UNINDEXED):
        inspection = Inspection(TableName(schema, name), "index")
        details = {"reason": "the catalog has no definition for it"}
        inspection.failures.append(SchemaFailure(FailureKind.INVALID_INDEX_DEFINITION, details, index=name))
        found.append(inspection)
    return found


def _gone(catalog: str, oid: int, number: Any) -> str:
    noun = _NOUNS.get(catalog, catalog.removeprefix("pg_"))
    return (
        f"{noun} {oid}, which does not exist"
        if number is None
        else f"column {number} of {noun} {oid}, which does not exist"
    )
