"""What conditions and expressions of a task mean: Spark SQL, in a move and in every verification of it."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from random import Random

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.tasks.tables import by_target, found, request_of, verified, with_task
from tests.variants import later
from tieout import api
from tieout.errors import TieoutError, UsageError
from tieout.model.preflight import Severity
from tieout.model.progress_events import Progress
from tieout.model.requests import Meaning, Narrowing, TableRequest, VerifyRequest
from tieout.model.results import Verdict

SALES = "CREATE TABLE sales (id INT PRIMARY KEY, region VARCHAR(9) COLLATE {}, price DECIMAL(10,2), qty INT)"


def fill(moving: Moving) -> None:
    moving.source.execute(SALES.format("utf8mb4_general_ci"))
    moving.target.execute(SALES.format('"C"'))
    regions = ("EU", "eu", "Eu", "us", None)
    moving.source.executemany(
        "INSERT INTO sales VALUES (%s, %s, %s, %s)", [(n, regions[n % 5], n, n % 3) for n in range(1, 31)]
    )


def test_text_compares_by_its_letters_whatever_the_column_collates(mariadb_to_postgres: Moving) -> None:
    """To MariaDB, 'eu' = 'EU' in this column. To a task it is not: not when it moves, nor when it verifies."""
    moving = with_task(mariadb_to_postgres, TableRequest("sales", where="region = 'EU'"))
    fill(moving)
    assert moving.source.rows("SELECT COUNT(*) FROM sales WHERE region = 'EU'") == [(18,)]
    moving.run()
    assert moving.target.rows("SELECT COUNT(*), MIN(region), MAX(region) FROM sales") == [(6, "EU", "EU")]
    (table,) = verified(moving).tables
    assert (table.verdict, table.rows.source, table.rows.target) == (Verdict.EQUAL, 6, 6)
    # The engines' own SQL, as without a task: MariaDB finds three times as many.
    plain = VerifyRequest(moving.source.url, moving.target.url, moving.request.tables)
    (table,) = api.run_verification(plain, spark=moving.spark, meta=moving.meta).tables
    assert (table.differences.missing, table.differences.extra) == (12, 0)


@pytest.mark.parametrize("strategy", ["auto", later("pull")])
@pytest.mark.parametrize("both", ["price * qty", later(""), later("other")])
def test_a_column_that_only_the_target_has_is_computed(mariadb_to_postgres: Moving, both: str, strategy: str) -> None:
    """Nothing is moved, and the source's expression is for the target's column of that name."""
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY, price DECIMAL(10,2), qty INT)")
    source.execute("INSERT INTO t VALUES (1, 1.5, 2), (2, 2, 3), (3, NULL, 1)")
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, tot DECIMAL(18,4))")
    target.execute("INSERT INTO t VALUES (1, 3), (2, 6), (3, NULL)")
    there = {"price * qty": "", "": "", "other": "tot + 0"}[both]
    asked = TableRequest("t", exclude_columns=("price", "qty"), expressions={"tot": ("price * qty", there)})
    if both == "":
        asked = replace(asked, where="id > 0")
    moving = with_task(mariadb_to_postgres, asked)
    request = request_of(moving, Meaning.SPARK, strategy=strategy)
    (table,) = api.run_verification(request, spark=moving.spark, meta=moving.meta).tables
    assert (table.verdict, table.reason, table.schema) == (Verdict.EQUAL, None, ())
    preflight = api.preflight(request, moving.meta, spark=moving.spark)
    assert [each for each in preflight.problems if each.severity is not Severity.NOTE] == []
    target.execute("UPDATE t SET tot = 7 WHERE id = 2")
    result = api.run_verification(request, spark=moving.spark, meta=moving.meta)
    assert found(result) == {"t": {("changed", ("2",))}}
    assert [set(each.columns) for each in result.differences] == [{"tot"}]


def test_a_task_that_is_not_moved_has_the_same_sql_on_both_sides(mariadb_to_postgres: Moving) -> None:
    fill(mariadb_to_postgres)
    rows = mariadb_to_postgres.source.rows("SELECT id, region, price, qty FROM sales")
    mariadb_to_postgres.target.executemany("INSERT INTO sales VALUES (%s, upper(%s), %s, %s)", rows)
    both = TableRequest(
        "sales",
        where="region IS NOT NULL AND lower(region) = 'eu'",
        expressions={"region": ("upper(region)", ""), "price": ("price * 2", "price + price")},
    )
    moving = with_task(mariadb_to_postgres, both)
    result = api.run_verification(request_of(moving, Meaning.SPARK), spark=moving.spark, meta=moving.meta)
    (table,) = result.tables
    assert (table.verdict, table.reason, table.rows.source) == (Verdict.EQUAL, None, 18)
    moving.target.execute("UPDATE sales SET price = price + 1 WHERE id = 1")
    moving.target.execute("DELETE FROM sales WHERE id = 2")
    result = api.run_verification(request_of(moving, Meaning.SPARK), spark=moving.spark, meta=moving.meta)
    assert found(result) == {"sales": {("changed", ("1",)), ("missing", ("2",))}}
    (priced,) = (each for each in result.differences if each.columns)
    assert {name: (pair.source, pair.target) for name, pair in priced.columns.items()} == {"price": ("2", "4")}


def test_what_is_typed_narrows_the_task(mariadb_to_postgres: Moving) -> None:
    """A typed condition is the engines' own SQL, and the task's holds as well; the rest of the target is not extra."""
    moving = with_task(mariadb_to_postgres, TableRequest("sales", where="region = 'EU'"))
    fill(moving)
    moving.run()
    moving.target.execute("UPDATE sales SET qty = 9")

    def narrowed(**typed: object) -> list[str]:
        request = replace(request_of(moving), narrowing=Narrowing(**typed))  # type: ignore[arg-type]
        result = api.run_verification(request, spark=moving.spark, meta=moving.meta)
        return sorted(str(next(iter(each.key.values()))) for each in result.differences)

    assert narrowed(source_where="id < 12 -- of both", target_where="id < 12") == ["10", "5"]
    assert narrowed(columns=("region", "id")) == []
    assert narrowed(exclude_columns=("qty",)) == []
    for typed in (("orders",), ("sales", "orders")):
        with pytest.raises(UsageError, match="the task has no table orders"):
            narrowed(tables=typed)


def test_a_typed_column_may_have_its_name_on_either_side(postgres_to_mariadb: Moving) -> None:
    source, target = postgres_to_mariadb.source, postgres_to_mariadb.target
    source.execute('CREATE TABLE t (id INT PRIMARY KEY, "Note" INT, qty INT)')
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, note INT, twice INT)")
    source.execute("INSERT INTO t VALUES (1, 1, 1)")
    table = TableRequest("t", exclude_columns=("qty",), expressions={"twice": ("qty * 2", "")})
    moving = with_task(postgres_to_mariadb, table)
    moving.run()
    target.execute("UPDATE t SET note = 5, twice = 5")
    for names, columns in ((("Note",), {"Note"}), (("note",), {"Note"}), (("twice", "Note"), {"Note", "twice"})):
        request = replace(request_of(moving), narrowing=Narrowing(columns=("id", *names)))
        (changed,) = api.run_verification(request, spark=moving.spark, meta=moving.meta).differences
        assert set(changed.columns) == columns
    request = replace(request_of(moving), narrowing=Narrowing(exclude_columns=("Note", "twice")))
    assert api.run_verification(request, spark=moving.spark, meta=moving.meta).verdict is Verdict.EQUAL


def test_rows_of_merged_tables_that_are_all_gone_are_extra(mariadb_to_postgres: Moving) -> None:
    """No table of the source matches the pattern any more; what the target holds belongs to none."""
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    for name in ("orders_1", "t"):
        source.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY)")
        source.execute(f"INSERT INTO {name} VALUES (1)")
    target.execute("CREATE TABLE orders (origin VARCHAR(40), id INT, PRIMARY KEY (origin, id))")
    merged = TableRequest("orders_*", "orders", expressions={"origin": ("_table", "")})
    moving = with_task(mariadb_to_postgres, merged, TableRequest("t"))
    moving.run()
    assert verified(moving).verdict is Verdict.EQUAL
    source.execute("DROP TABLE orders_1")
    result = verified(moving)
    assert {str(table.target_table): table.verdict for table in result.tables} == {
        "public.t": Verdict.EQUAL,
        "public.orders": Verdict.DIFFERENT,
    }


def test_merged_tables_about_which_the_task_disagrees_are_unverified(mariadb_to_postgres: Moving) -> None:
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    for number in (1, 2):
        source.execute(f"CREATE TABLE orders_{number} (id INT PRIMARY KEY, price DOUBLE)")
        source.execute(f"INSERT INTO orders_{number} VALUES (1, 1.5)")
    target.execute("CREATE TABLE orders (origin VARCHAR(40), id INT, price DOUBLE PRECISION, PRIMARY KEY (origin, id))")
    tables = [
        TableRequest(f"orders_{number}", "orders", expressions={"origin": ("_table", "")}, tolerance=tolerance)
        for number, tolerance in ((1, {"price": 1.0}), (2, {}))
    ]
    moving = with_task(mariadb_to_postgres, *tables)
    moving.run()
    target.execute("UPDATE orders SET price = 1.6 WHERE origin = 'orders_2'")
    (table,) = verified(moving).tables
    assert table.verdict is Verdict.UNVERIFIED
    assert "each with another tolerance" in str(table.reason)


def test_each_shard_s_expressions_are_looked_at(mariadb_to_postgres: Moving) -> None:
    """Also where a wrong one stands between two that are alike."""
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    tables = []
    for number, expression in enumerate(("qty + 1", "nonsense(qty)", "qty + 1"), 1):
        source.execute(f"CREATE TABLE orders_{number} (id INT PRIMARY KEY, qty INT)")
        computed = {"origin": ("_table", ""), "qty": (expression, "")}
        tables.append(TableRequest(f"orders_{number}", "orders", expressions=computed))
    target.execute("CREATE TABLE orders (origin VARCHAR(40), id INT, qty INT, PRIMARY KEY (origin, id))")
    with pytest.raises(TieoutError, match=r"orders_2: 'nonsense\(qty\)'"):
        verified(with_task(mariadb_to_postgres, *tables))


def test_suspects_of_merged_tables_are_looked_up_by_their_whole_key(mariadb_to_postgres: Moving) -> None:
    """Rows of the other tables have the same id, and are not among them."""
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    for number in (1, 2, 3):
        source.execute(f"CREATE TABLE orders_{number} (id INT PRIMARY KEY, note TEXT)")
        source.execute(f"INSERT INTO orders_{number} VALUES (1, 'x'), (2, 'y'), (3, 'z')")
    target.execute("CREATE TABLE orders (origin VARCHAR(40), id INT, note TEXT, PRIMARY KEY (origin, id))")
    moving = with_task(mariadb_to_postgres, TableRequest("orders_*", "orders", expressions={"origin": ("_table", "")}))
    moving.run()
    target.execute("UPDATE orders SET note = 'w' WHERE origin = 'orders_2' AND id < 3")
    target.execute("DELETE FROM orders WHERE origin = 'orders_3' AND id = 1")
    target.execute("INSERT INTO orders VALUES ('orders_4', 2, 'y')")

    def disturbed(progress: Progress) -> None:
        """While rows are compared: somebody writes, and one of the rows is as it should be by then."""
        if progress.stage == "rows":
            source.execute("REPLACE INTO orders_1 VALUES (9, 'later')")
            target.execute("INSERT INTO orders VALUES ('orders_1', 9, 'later') ON CONFLICT DO NOTHING")
            target.execute("UPDATE orders SET note = 'x' WHERE origin = 'orders_2' AND id = 1")

    result = api.run_verification(request_of(moving), spark=moving.spark, meta=moving.meta, listener=disturbed)
    assert found(result) == {
        "orders": {("changed", ("2", "orders_2")), ("missing", ("1", "orders_3")), ("extra", ("2", "orders_4"))}
    }
    assert (result.tables[0].differences.total, "rows rechecked" in result.tables[0].notes[-1]) == (3, True)


def test_suspects_are_looked_up_by_keys_that_a_tolerance_makes_equal(mariadb_to_postgres: Moving) -> None:
    """Their texts differ, on the two sides and from one look to the next."""
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    for database, end in ((source, "1"), (target, "2")):
        database.execute("CREATE TABLE t (k DOUBLE PRECISION PRIMARY KEY, v INT)")
        database.executemany("INSERT INTO t VALUES (%s, 1)", [(f"{n}.100{end}",) for n in range(1, 31)])
    target.execute("UPDATE t SET v = 2 WHERE k < 5")
    moving = with_task(mariadb_to_postgres, TableRequest("t", where="v > 0", tolerance={"k": "0.01"}))

    def disturbed(progress: Progress) -> None:
        if progress.stage == "rows":
            target.execute("UPDATE t SET v = 1 WHERE k < 2")
            source.execute("DELETE FROM t WHERE k BETWEEN 2 AND 3")

    result = api.run_verification(request_of(moving), spark=moving.spark, meta=moving.meta, listener=disturbed)
    assert {(each.kind.value, float(str(each.key["k"]))) for each in result.differences} == {
        ("extra", 2.1002),
        ("changed", 3.1001),
        ("changed", 4.1001),
    }


def test_merged_tables_are_chosen_together(mariadb_to_postgres: Moving) -> None:
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    for number in (1, 2):
        source.execute(f"CREATE TABLE orders_{number} (id INT PRIMARY KEY, note TEXT)")
        source.execute(f"INSERT INTO orders_{number} VALUES (1, 'x'), (2, 'y')")
    target.execute("CREATE TABLE orders (origin VARCHAR(40), id INT, note TEXT, PRIMARY KEY (origin, id))")
    moving = with_task(mariadb_to_postgres, TableRequest("orders_*", "orders", expressions={"origin": ("_table", "")}))
    moving.run()
    target.execute("UPDATE orders SET note = 'z' WHERE origin = 'orders_2'")

    def narrowed(**typed: object) -> api.VerificationResult:
        request = replace(request_of(moving), narrowing=Narrowing(**typed))  # type: ignore[arg-type]
        return api.run_verification(request, spark=moving.spark, meta=moving.meta)

    result = narrowed(tables=("orders_1",))
    (table,) = result.tables
    assert (table.rows.source, table.rows.target, table.differences.changed) == (4, 4, 2)
    assert {tuple(each.key.values()) for each in result.differences} == {("1", "orders_2"), ("2", "orders_2")}
    assert {each.table for each in result.differences} == {"public.orders"}
    with pytest.raises(UsageError, match="can't be left out alone"):
        narrowed(exclude=("orders_1",))
    # Its rows were computed, so a repair writes none of them.
    for name in (None, "public.orders"):
        plan = api.plan_repair(result.job, moving.source.url, moving.target.url, table=name, meta=moving.meta)
        assert plan.changes == 0
        assert "Spark filters, computes or merges" in plan.unrepaired[0].reason


def test_a_repair_fills_only_what_the_task_moves(mariadb_to_postgres: Moving) -> None:
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    source.execute("CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(20), secret VARCHAR(20))")
    source.execute("INSERT INTO people VALUES (1, 'Ann', 'hers'), (2, 'Bob', 'his')")
    target.execute("CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(20), secret VARCHAR(20) DEFAULT 'none')")
    moving = with_task(mariadb_to_postgres, TableRequest("people", exclude_columns=("secret",)))
    moving.run()
    (table,) = verified(moving).tables
    assert (table.verdict, [each.breaks for each in table.schema]) == (Verdict.EQUAL, [False])
    target.execute("DELETE FROM people WHERE id = 2")
    target.execute("UPDATE people SET name = 'Eve' WHERE id = 1")
    result = verified(moving)
    assert found(result) == {"people": {("missing", ("2",)), ("changed", ("1",))}}
    urls = moving.source.url, moving.target.url
    api.apply_repair(api.plan_repair(result.job, *urls, meta=moving.meta).plan, *urls, meta=moving.meta)
    assert target.rows("SELECT * FROM people ORDER BY id") == [(1, "Ann", "none"), (2, "Bob", "none")]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (TableRequest("sales", where="nonsense(region)"), r"'nonsense\(region\)'.*nonsense"),
        (TableRequest("sales", where="qty + 1"), r"'qty \+ 1' is not a condition"),
        (TableRequest("sales", expressions={"qty": ("sum(qty)", "")}), r"'sum\(qty\)'"),
        (TableRequest("sales", expressions={"qty": ("region.x", "")}), r"'region.x'"),
    ],
)
def test_what_spark_refuses_is_one_line_before_anything_is_touched(
    mariadb_to_postgres: Moving, table: TableRequest, said: str
) -> None:
    moving = with_task(mariadb_to_postgres, table)
    fill(moving)
    for flow in (
        moving.run,
        lambda: verified(moving),
        lambda: api.explain(request_of(moving), spark=moving.spark),
    ):
        with pytest.raises(TieoutError, match=f"sales: {said}") as raised:
            flow()
        assert "\n" not in str(raised.value)
    preflight = api.preflight(request_of(moving), moving.meta, spark=moving.spark, move=moving.request)
    (problem,) = (each for each in preflight.problems if each.severity is Severity.PREVENTS)
    assert "sales: " in problem.message
    assert moving.target.rows("SELECT nspname FROM pg_namespace WHERE nspname = '_tieout'") == []


def test_what_can_not_be_computed_again_is_unverified(mariadb_to_postgres: Moving) -> None:
    moving = with_task(mariadb_to_postgres, TableRequest("sales", expressions={"qty": ("CAST(rand() * 9 AS INT)", "")}))
    fill(moving)
    moving.run()
    (table,) = verified(moving).tables
    assert table.verdict is Verdict.UNVERIFIED
    assert [(each.column, each.reason) for each in table.unverified_columns] == [
        ("qty", "rand() returns something else each time")
    ]
    preflight = api.preflight(request_of(moving), moving.meta, spark=moving.spark, move=moving.request)
    assert any(each.severity is Severity.UNVERIFIED and "rand()" in each.message for each in preflight.problems)


def test_no_false_alarm_while_rows_are_written_and_moved(mariadb_to_postgres: Moving) -> None:
    """Rows of both shards and of a filter change all the time, and a mover follows; each verification finds nothing."""
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    for number in (1, 2):
        source.execute(f"CREATE TABLE orders_{number} (id INT PRIMARY KEY, price DECIMAL(10,2), region VARCHAR(5))")
        source.executemany(f"INSERT INTO orders_{number} VALUES (%s, %s, 'eu')", [(n, n) for n in range(400)])
    target.execute(
        "CREATE TABLE orders (origin VARCHAR(40), id INT, price DECIMAL(10,2), twice DECIMAL(12,2), region VARCHAR(5),"
        " PRIMARY KEY (origin, id))"
    )
    merged = TableRequest(
        "orders_*", "orders", where="region = 'eu'", expressions={"origin": ("_table", ""), "twice": ("price * 2", "")}
    )
    moving = with_task(mariadb_to_postgres, merged)
    moving = replace(
        moving, request=replace(moving.request, options=replace(moving.request.options, poll_seconds=0.05))
    )
    moving.run()
    ending, writes = threading.Event(), [0]

    def write() -> None:
        random = Random(7)
        while not ending.is_set():
            number, row = random.randint(1, 2), random.randrange(450)
            source.execute(
                random.choice(
                    (
                        f"UPDATE orders_{number} SET price = price + 1 WHERE id = {row}",
                        f"UPDATE orders_{number} SET region = IF(region = 'eu', 'us', 'eu') WHERE id = {row}",
                        f"DELETE FROM orders_{number} WHERE id = {row}",
                        f"INSERT IGNORE INTO orders_{number} VALUES ({row}, {row}, 'eu')",
                    )
                )
            )
            writes[0] += 1
            time.sleep(0.005)

    def move() -> None:
        while not ending.is_set():
            moving.run()

    threads = [threading.Thread(target=write), threading.Thread(target=move)]
    for thread in threads:
        thread.start()
    try:
        results = [verified(moving, recheck_after=1.0, recheck_times=6) for _ in range(2)]
    finally:
        ending.set()
        for thread in threads:
            thread.join()
    assert writes[0] > 200
    assert [table.verdict for result in results for table in result.tables] == [Verdict.EQUAL] * 2
    assert any("rechecked" in note for result in results for table in result.tables for note in table.notes)
    target.execute("UPDATE orders SET twice = 1 WHERE id = 13")
    moving.run()
    result = verified(moving)
    assert set(by_target(result)) == {"orders"}
    assert {key[0] for _, key in found(result)["orders"]} == {"13"}
