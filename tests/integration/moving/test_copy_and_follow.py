"""Tables are copied, then followed: on every pair, with keys of every sort and with none."""

from __future__ import annotations

from tests.integration.moving.pairs import EVERY_WAY, Moving, remarks_of

ORDERS = "CREATE TABLE orders (id INT PRIMARY KEY, name VARCHAR(50) NOT NULL, total DECIMAL(10, 2), note VARCHAR(200))"


@EVERY_WAY
def test_what_is_there_and_what_comes(moving: Moving) -> None:
    moving.source.execute(ORDERS)
    moving.target.execute(ORDERS)
    rows = [(n, f"name {n}", n / 4, None if n % 3 else "a\tb\\c\nd\re'\"") for n in range(-500, 500)]
    moving.source.executemany("INSERT INTO orders VALUES (%s, %s, %s, %s)", rows)
    asked = moving.asking("orders", chunk_rows=300)
    status = asked.run()
    assert status["tables"][0]["rows_copied"] == 1000
    assert status["tables"][0]["chunks"] >= 3
    source, target = moving.rows("orders")
    assert source == target
    moving.source.execute("UPDATE orders SET total = total + 1, note = 'changed' WHERE id > 400")
    moving.source.execute("DELETE FROM orders WHERE id < -400")
    moving.source.execute("UPDATE orders SET id = id + 10000 WHERE id BETWEEN 1 AND 5")
    moving.source.execute("INSERT INTO orders VALUES (0 + 777777, 'new', 1, NULL)")
    status = asked.run()
    assert status["changes"] == 99 + 100 + 5 + 1
    assert remarks_of(status) == []
    source, target = moving.rows("orders")
    assert source == target
