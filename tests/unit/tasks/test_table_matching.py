"""Which table goes with which: what is only on one side is never forgotten."""

import pytest

from tieout.errors import UsageError
from tieout.model.requests import TableRequest
from tieout.model.tables import TableName
from tieout.tasks.table_matching import Names, pair_tables, schemas_named


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


def test_schemas_that_requests_name_are_looked_at():
    requests = (TableRequest("sales.*", "archive.*"), TableRequest("orders"))
    assert schemas_named(requests, "shop", of_target=False) == ["sales", "shop"]
    assert schemas_named(requests, "public", of_target=True) == ["archive", "public"]
