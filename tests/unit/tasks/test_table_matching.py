"""Which table goes with which: what is only on one side is never forgotten."""

from dataclasses import dataclass

import pytest

from tieout.errors import UsageError
from tieout.model.requests import TableRequest
from tieout.model.tables import TableName
from tieout.tasks.table_matching import Names, names_of, pair_tables


def names(schema, *tables):
    return Names(tuple(TableName(schema, table) for table in tables), schema)


def shown(pairs):
    return [(str(p.source) if p.source else None, str(p.target) if p.target else None) for p in pairs]


def test_all_tables_of_both_sides_are_paired_or_left_with_a_hole():
    pairs = pair_tables(names("shop", "a", "b"), names("public", "b", "c"), ())
    assert shown(pairs) == [("shop.a", None), ("shop.b", "public.b"), (None, "public.c")]


def test_a_name_may_go_to_another_name():
    pairs = pair_tables(names("s", "a"), names("t", "z"), (TableRequest("a", "z"),))
    assert shown(pairs) == [("s.a", "t.z")]


def test_a_target_named_by_one_request_is_not_left_over_by_a_pattern():
    requests = (TableRequest("a", "z"), TableRequest("*"))
    pairs = pair_tables(names("s", "a", "b"), names("t", "b", "z"), requests)
    assert shown(pairs) == [("s.a", "t.z"), ("s.b", "t.b")]


def test_what_a_pattern_finds_on_the_target_is_left_over_if_its_table_goes_elsewhere():
    sides = names("s", "a", "b"), names("t", "a", "b", "c")
    requests = (TableRequest("a", "b"), TableRequest("*"))
    assert shown(pair_tables(*sides, requests)) == [("s.a", "t.b"), (None, "t.a"), ("s.b", "t.b"), (None, "t.c")]
    requests = (TableRequest("a", "b"), TableRequest("b"), TableRequest("*", exclude=("a",)))
    assert shown(pair_tables(*sides, requests)) == [("s.a", "t.b"), ("s.b", "t.b"), (None, "t.c")]
    requests = (TableRequest("a", "c"), TableRequest("b", "a"), TableRequest("*"))
    assert shown(pair_tables(*sides, requests)) == [("s.a", "t.c"), ("s.b", "t.a"), (None, "t.b")]


def test_exclusions_hold_on_both_sides():
    pairs = pair_tables(names("s", "a", "audit"), names("t", "a", "audit"), (TableRequest("*", exclude=("au*",)),))
    assert shown(pairs) == [("s.a", "t.a")]


def test_other_case_fits_only_if_nothing_else_does():
    assert shown(pair_tables(names("s", "Orders"), names("t", "orders"), ())) == [("s.Orders", "t.orders")]
    both = pair_tables(names("s", "Orders", "orders"), names("t", "orders"), (TableRequest("orders"),))
    assert shown(both) == [("s.orders", "t.orders")]


def test_a_table_that_neither_side_has_is_an_error_with_the_nearest_name():
    with pytest.raises(UsageError, match="did you mean orders"):
        pair_tables(names("s", "orders"), names("t", "orders"), (TableRequest("ordres"),))


def test_a_table_that_one_side_has_is_a_pair_with_a_hole():
    assert shown(pair_tables(names("s", "a"), names("t"), (TableRequest("a"),))) == [("s.a", None)]


def test_a_pattern_can_not_go_to_one_table():
    with pytest.raises(UsageError, match="pattern"):
        pair_tables(names("s", "a"), names("t", "a"), (TableRequest("*", "one"),))


def test_a_name_with_a_dot_is_found_as_it_is():
    assert shown(pair_tables(names("s", "a.b"), names("t", "a.b"), ())) == [("s.a.b", "t.a.b")]


@dataclass
class Side:
    """An endpoint with several schemas, of which the first is the default."""

    tables_of: dict[str, tuple[str, ...]]
    names_schema: bool = False

    def default_schema(self):
        return next(iter(self.tables_of))

    def schemas(self):
        return list(self.tables_of)

    def tables(self, schemas):
        return [TableName(schema, name) for schema in schemas for name in self.tables_of.get(schema, ())]


def paired(source, target, *requests):
    sides = names_of(source, requests, of_target=False), names_of(target, requests, of_target=True)
    return shown(pair_tables(*sides, requests))


def test_schemas_that_requests_name_are_looked_at():
    source, target = Side({"shop": ("orders",), "sales": ("a",)}), Side({"public": ("orders",), "archive": ("a",)})
    requests = (TableRequest("sales.*", "archive.*"), TableRequest("orders"))
    assert paired(source, target, *requests) == [("sales.a", "archive.a"), ("shop.orders", "public.orders")]


def test_a_pattern_of_schemas_reaches_all_of_them():
    source, target = Side({"public": ("a",), "other": ("b",)}), Side({"public": ("a",), "other": ("b", "c")})
    found = [("other.b", "other.b"), ("public.a", "public.a"), (None, "other.c")]
    assert paired(source, target, TableRequest("*.*")) == found


def test_a_schema_goes_to_its_namesake_or_to_the_default_schema():
    source = Side({"public": ("y",), "other": ("y", "z")})
    both = Side({"public": ("y", "kept"), "other": ("y",)})
    assert paired(source, both, TableRequest("other.y")) == [("other.y", "other.y")]
    assert paired(source, both, TableRequest("other.*")) == [("other.y", "other.y"), ("other.z", None)]
    one = Side({"public": ("y", "z")})
    assert paired(source, one, TableRequest("other.y")) == [("other.y", "public.y")]
    assert paired(source, one, TableRequest("other.*")) == [("other.y", "public.y"), ("other.z", "public.z")]


def test_a_schema_in_the_target_s_url_is_the_target():
    """A database of the same name on a MySQL server is none of our business."""
    source = Side({"public": (), "other": ("y", "z")})
    target = Side({"shop": ("y",), "other": ("y", "z")}, names_schema=True)
    assert paired(source, target, TableRequest("other.y")) == [("other.y", "shop.y")]
    assert paired(source, target, TableRequest("other.*")) == [("other.y", "shop.y"), ("other.z", None)]


def test_a_pattern_of_schemas_merges_none():
    source, target = Side({"public": ("a",), "other": ("a",)}), Side({"shop": ("a",)}, names_schema=True)
    assert paired(source, target, TableRequest("*.*")) == [("other.a", None), ("public.a", "shop.a")]


def test_a_schema_that_only_the_target_has_is_found_by_a_pattern():
    source, target = Side({"public": ("a",)}), Side({"public": ("a",), "new": ("b",)})
    assert paired(source, target, TableRequest("*.*")) == [("public.a", "public.a"), (None, "new.b")]


def test_an_empty_schema_of_the_target_is_not_passed_over():
    """Otherwise a move would write into another schema than the one of this name."""
    source, target = Side({"public": (), "other": ("y",)}), Side({"public": ("y",), "other": ()})
    assert paired(source, target, TableRequest("other.*")) == [("other.y", None)]
