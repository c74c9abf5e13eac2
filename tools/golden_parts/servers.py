"""What verify, check, repair and run write and how they end, from MariaDB to PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.golden_parts.running import Workplace, workplace
from tools.golden_parts.shop import CHANGES, SPOILING, Servers, change, configuration, fill, servers

if TYPE_CHECKING:
    from tests.servers.server import Database


def record() -> str:
    texts = []
    with servers() as both:
        for tale in (verifying, checking, moving):
            with (
                both.database(both.mariadb, "shop_old") as old,
                both.database(both.postgres, "shop_new") as new,
                workplace(both.known()) as place,
            ):
                tale(place, old, new)
                texts.append(place.text())
        for story in (alike, refused):
            with workplace(both.known()) as place:
                story(place, both)
                texts.append(place.text())
    return "\n".join(texts)


def verifying(place: Workplace, old: Database, new: Database) -> None:
    fill(old)
    fill(new)
    (place.directory / "tieout.yaml").write_text(configuration(old.url, new.url))
    pair = ("--source", old.url, "--target", new.url, "--quiet", "--recheck-times", "0")
    place.title("preflight, explain")
    place.run("preflight", "--source", old.url, "--target", new.url, "-o", "json")
    place.run("verify", *pair, "--explain", "-o", "json")
    place.title("verify: equal")
    for strategy in ("auto", "pushdown", "native"):  # two engines can't be compared by the latter
        place.run("verify", *pair, "--strategy", strategy, "-o", "json")
    place.title("verify: different")
    change(new, SPOILING)
    place.run("verify", *pair, "-o", "json")
    place.title("repair")
    place.run("repair", "plan", "last", "--quiet", "-o", "json")  # its passwords are not kept
    urls = ("--source", old.url, "--target", new.url, "--quiet")
    place.run("repair", "plan", "last", *urls, "--sql", "plan.sql", "-o", "json", files=("plan.sql",))
    for verb in ("apply", "undo"):
        place.run("repair", verb, "last", *urls, "-o", "json")


def checking(place: Workplace, old: Database, new: Database) -> None:
    from tests.corruption import mariadb, postgres

    for side in (old, new):
        fill(side)
    place.title("check: clean")
    _checked(place, old, new, "json")
    new.execute("CREATE EXTENSION amcheck; CREATE EXTENSION pageinspect")
    place.run("check", new.url, "CHECK TABLE orders", "--quiet", "-o", "json")
    place.title("check: failures")
    mariadb.violated_check(old, "orders", "id = 6", {"qty": -6})
    mariadb.orphaned_rows(old, "customers", "id = 9")
    postgres.violated_check(new, "orders", "id = 6", {"qty": -6})
    postgres.orphaned_rows(new, "customers", "id = 9")
    _checked(place, old, new, "json")
    place.title("repair")
    words = ("--choose", "check_violation=set_null", "--choose", "foreign_key_violation=insert_parent", "--quiet")
    place.run(
        "repair", "plan", "last", *words, "--url", new.url, "--sql", "plan.sql", "-o", "json", files=("plan.sql",)
    )
    for verb in ("apply", "undo"):
        place.run("repair", verb, "last", "--url", new.url, "--quiet", "-o", "json")


def _checked(place: Workplace, old: Database, new: Database, form: str) -> None:
    for side in (old, new):
        place.run("check", side.url, f"CHECK DATABASE {side.name}", "--quiet", "--recheck-after", "0.1s", "-o", form)


def moving(place: Workplace, old: Database, new: Database) -> None:
    fill(old)
    (place.directory / "tieout.yaml").write_text(configuration(old.url, new.url))
    run = ("run", "shop", "--until-caught-up", "--quiet", "-o", "json")
    place.title("run")
    place.run("preflight", "shop", "-o", "json")
    place.run(*run)
    change(old, CHANGES)
    place.run(*run)
    place.run("status", "shop", "-o", "json")
    place.run("verify", "shop", "--quiet", "-o", "json")
    place.run("stop", "shop")
    place.run("task", "drop", "shop")


def alike(place: Workplace, both: Servers) -> None:
    """Two databases of one engine: rows are hashed where they are."""
    place.title("verify: two of one engine")
    for server in (both.mariadb, both.postgres):
        with both.database(server, "shop_old") as old, both.database(server, "shop_new") as new:
            fill(old)
            fill(new)
            change(new, SPOILING)
            pair = ("--source", old.url, "--target", new.url, "--quiet", "--recheck-times", "0")
            for strategy in ("auto", "pushdown", "native"):
                place.run("verify", *pair, "--strategy", strategy, "-o", "json")


def refused(place: Workplace, both: Servers) -> None:
    """Who may not in, and what is not there."""
    place.title("access, missing objects")
    for server in (both.mariadb, both.postgres):
        with both.database(server, "shop_old") as database:
            fill(database)
            stranger = f"{server.scheme}://tieout:wrong@{server.host}:{server.port}/{database.name}"
            nowhere = database.url.replace(database.name, "no_such_db")
            for url in (stranger, nowhere):
                place.run("verify", "--source", url, "--target", database.url, "--quiet", "-o", "json")
                place.run("check", url, "CHECK TABLE orders", "--quiet", "-o", "json")
            place.run("check", database.url, "CHECK TABLE nope", "--quiet", "-o", "json")
            place.run("jobs", "list", "--meta", stranger)
