"""What SHOW GRANTS says, and what follows from it."""

from __future__ import annotations

import pytest

from tieout.connectors.mysql.move.preflight import Grants

WANTED = ("SELECT", "INSERT")


@pytest.mark.parametrize(
    ("line", "lacking"),
    [
        ("GRANT ALL PRIVILEGES ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*' WITH GRANT OPTION", []),
        ("GRANT USAGE ON *.* TO `u`@`%`", ["SELECT", "INSERT"]),
        ("GRANT SELECT, INSERT, BINLOG MONITOR ON *.* TO `u`@`%`", []),
        ("GRANT SELECT ON `my_shop`.* TO `u`@`%`", ["INSERT"]),
        ("GRANT ALL PRIVILEGES ON `my\\_shop`.* TO `u`@`%`", []),
        ("GRANT ALL PRIVILEGES ON `my%`.* TO `u`@`%`", []),
        ("GRANT ALL PRIVILEGES ON `my\\%`.* TO `u`@`%`", ["SELECT", "INSERT"]),
        ("GRANT ALL PRIVILEGES ON `other`.* TO `u`@`%`", ["SELECT", "INSERT"]),
        ("GRANT SELECT, INSERT ON `my_shop`.`orders` TO `u`@`%`", ["SELECT", "INSERT"]),
        ("GRANT `writer` TO `u`@`%`", ["SELECT", "INSERT"]),
    ],
)
def test_what_a_user_lacks(line: str, lacking: list[str]) -> None:
    assert Grants([line]).lacking(WANTED, "my_shop") == lacking
