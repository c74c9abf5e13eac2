"""A MySQL table from SHOW CREATE TABLE: what comes first, and what comes later."""

from __future__ import annotations

from tieout.connectors.mysql.move.ddl_same_engine import own_structure
from tieout.connectors.sql.ddl import PARENT, TABLE
from tieout.model.tables import TableName

SHOWN = r"""CREATE TABLE `t` (
  `a AUTO_INCREMENT` int(11) DEFAULT 0 COMMENT 'no AUTO_INCREMENT',
  `id` int(11) NOT NULL AUTO_INCREMENT COMMENT 'is AUTO_INCREMENT',
  `v` varchar(9) DEFAULT '),\n KEY `x` (',
  PRIMARY KEY (`id`),
  UNIQUE KEY `u``q` (`v`),
  UNIQUE KEY `w` (`v`,`id`),
  KEY `plain` (`v`(3) DESC),
  FULLTEXT KEY `words` (`v`),
  CONSTRAINT `here` FOREIGN KEY (`a`, `b``)`) REFERENCES `p` (`x`, `y`) ON DELETE CASCADE,
  CONSTRAINT `there` FOREIGN KEY (`a`) REFERENCES `other`.`p``q` (`x`),
  CONSTRAINT `checked` CHECK (`v` <> ' FOREIGN KEY (`a`) REFERENCES `p` (')
) ENGINE=InnoDB AUTO_INCREMENT=42 DEFAULT CHARSET=utf8mb4 COMMENT='AUTO_INCREMENT=7'
 PARTITION BY HASH (`id`)
PARTITIONS 4"""


def test_parts_are_told_apart() -> None:
    made = own_structure(SHOWN, TableName("db", "t"), None)

    (create,) = made.create
    assert create.splitlines() == [
        f"CREATE TABLE {TABLE} (",
        "  `a AUTO_INCREMENT` int(11) DEFAULT 0 COMMENT 'no AUTO_INCREMENT',",
        "  `id` int(11) NOT NULL COMMENT 'is AUTO_INCREMENT',",
        r"  `v` varchar(9) DEFAULT '),\n KEY `x` (',",
        "  PRIMARY KEY (`id`),",
        "  CONSTRAINT `checked` CHECK (`v` <> ' FOREIGN KEY (`a`) REFERENCES `p` (')",
        ") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='AUTO_INCREMENT=7'",
        " PARTITION BY HASH (`id`)",
        "PARTITIONS 4",
    ]
    ((indexes,), (unique, numbered)) = made.indexes, made.unique
    assert indexes.statement == f"ALTER TABLE {TABLE} ADD KEY `plain` (`v`(3) DESC), ADD FULLTEXT KEY `words` (`v`)"
    assert (unique.name, unique.statement) == (
        "u`q",
        f"ALTER TABLE {TABLE} ADD UNIQUE KEY `u``q` (`v`), ADD UNIQUE KEY `w` (`v`,`id`)",
    )
    assert numbered.statement.startswith(f"ALTER TABLE {TABLE} MODIFY `id` int(11) NOT NULL AUTO_INCREMENT")
    assert made.counters == (f"ALTER TABLE {TABLE} AUTO_INCREMENT = 42",)
    assert [key.parent for key in made.references] == [TableName("db", "p"), TableName("other", "p`q")]
    assert made.references[1].part.statement == (
        f"ALTER TABLE {TABLE} ADD CONSTRAINT `there` FOREIGN KEY (`a`) REFERENCES {PARENT} (`x`)"
    )


def test_a_unique_key_in_place_of_a_primary_one_is_there_from_the_beginning() -> None:
    shown = SHOWN.replace("  PRIMARY KEY (`id`),\n", "")
    made = own_structure(shown, TableName("db", "t"), "w")
    assert "  UNIQUE KEY `w` (`v`,`id`)" in made.create[0]
    assert made.unique[0].statement == f"ALTER TABLE {TABLE} ADD UNIQUE KEY `u``q` (`v`)"
