"""A statement in the log means the same whatever comments and spaces stand between its words."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from tieout.connectors.mysql.binlog.ddl_effects import redefined
from tieout.connectors.mysql.binlog.statements import meaning, truncated
from tieout.connectors.mysql.binlog.tables import Wanted
from tieout.model.tables import TableName

WANTED = Wanted(frozenset({TableName("shop", "t"), TableName("shop", "u"), TableName("shop", "it`s")}), folded=False)

STATEMENTS = [
    "TRUNCATE t",
    "TRUNCATE TABLE shop . t",
    "TRUNCATE `it``s` WAIT 5",
    "SET STATEMENT max_statement_time = 9 FOR TRUNCATE TABLE u",
    "DROP TABLE t , elsewhere . u",
    "DROP TABLE IF EXISTS x , `it``s` CASCADE",
    "RENAME TABLE t TO x , y WAIT 3 TO u",
    "ALTER TABLE t ADD COLUMN c VARCHAR ( 9 ) DEFAULT 'it''s -- /* t' , DROP INDEX i , RENAME TO x",
    "ALTER IGNORE TABLE x EXCHANGE PARTITION p WITH TABLE shop . u",
    "ALTER TABLE t TRUNCATE PARTITION p",
    "ALTER TABLE t DROP PARTITION p",
    "ALTER TABLE t COMMENT = '#' , ADD INDEX ( a )",
    "CREATE OR REPLACE TABLE t ( id INT )",
    "CREATE TABLE IF NOT EXISTS t ( id INT )",
    "CREATE UNIQUE INDEX i ON t ( a )",
    "DROP DATABASE shop",
    "DROP TEMPORARY TABLE t",
    "INVENTED t",
    "OPTIMIZE TABLE t",
    "INSERT INTO t VALUES ( 1 )",
    "ROLLBACK WORK TO SAVEPOINT a",
    "SAVEPOINT a",
    "BEGIN",
    "XA COMMIT X'78' , X'' , 1",
]

noise = st.text("tu sho.p`'\"#-*/!M5;,\\()@\t\r", max_size=12) | st.sampled_from(["TABLE u", "TRUNCATE u;", "u, t"])
spaces = st.sampled_from([" ", "\n", "\t", "\r\n", "\v", "\f"])
to_the_end_of_the_line = st.builds(lambda mark, text: f"{mark}{text}\n", st.sampled_from(["#", "-- ", "--\t"]), noise)
comments = noise.filter(lambda text: "*/" not in text and not re.match("M?!", text)).map(lambda text: f"/*{text} */")
gaps = st.lists(spaces | to_the_end_of_the_line | comments, max_size=4).map("".join)
code = st.sampled_from(["/*!", "/*! ", "/*!50000 ", "/*M!100100 ", "/*M! "])


@st.composite
def spelled(draw: st.DrawFn, statement: str) -> str:
    """The statement with something between any two of its words, and some of them as code for some versions."""
    text, ends_with_a_word = draw(gaps), False
    for word in re.findall(r"X'\w*'|'(?:[^']|'')*'|\S+", statement):
        if re.fullmatch("[A-Za-z_]+", word) and word.isupper():
            word = "".join(draw(st.sampled_from([letter, letter.lower()])) for letter in word)
        if draw(st.integers(0, 9)) == 0:
            word = f"{draw(code)}{word}{draw(gaps)}*/"
        gap = draw(gaps)
        text += (gap or " " if ends_with_a_word and re.match(r"\w", word) else gap) + word
        ends_with_a_word = re.search(r"\w$", word) is not None
    return text + draw(gaps)


@settings(max_examples=200)
@given(st.sampled_from(STATEMENTS).flatmap(lambda statement: st.tuples(st.just(statement), spelled(statement))))
def test_comments_and_spaces_change_nothing(pair: tuple[str, str]) -> None:
    plain, odd = pair
    assert meaning(odd) is meaning(plain)
    assert truncated(odd) == truncated(plain)
    assert set(redefined(odd, "shop", WANTED)) == set(redefined(plain, "shop", WANTED))
