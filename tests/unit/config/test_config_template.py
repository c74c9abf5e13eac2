"""`tieout init` writes a file that works once its variables are set."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tieout.config import Settings, load, write_template
from tieout.config.task_settings import TaskSettings
from tieout.config.template import TEMPLATE
from tieout.errors import ConfigError, UsageError
from tieout.model.defaults import CONNECTIONS
from tieout.model.requests import VerifyOptions


def test_the_template_loads(tmp_path: Path) -> None:
    write_template(tmp_path / "tieout.yaml")
    environment = {"OLD_USER": "a", "OLD_PASSWORD": "s3cret/@", "NEW_USER": "b", "NEW_PASSWORD": "s3cret/@"}
    settings = load(tmp_path / "tieout.yaml", environment=environment)
    request = settings.verify_request("shop")
    assert request.source == "mysql://a:s3cret%2F%40@localhost:3306/shop?connections=8"
    assert request.target == "postgresql://b:s3cret%2F%40@localhost:5432/shop?schema=public"
    assert [table.source for table in request.tables] == ["shop.orders", "shop.*"]
    assert request.options == VerifyOptions()  # as its comment says


def test_what_it_spells_out_are_the_defaults(tmp_path: Path) -> None:
    write_template(tmp_path / "tieout.yaml")
    environment = dict.fromkeys(("OLD_USER", "OLD_PASSWORD", "NEW_USER", "NEW_PASSWORD"), "x")
    settings = load(tmp_path / "tieout.yaml", environment=environment)
    assert (settings.meta, settings.spark) == (Settings().meta, Settings().spark)
    assert settings.endpoints["old"].connections == CONNECTIONS
    task, plain = settings.task("shop"), TaskSettings(source="old", target="new")
    assert (task.delivery, task.consistency, task.options) == (plain.delivery, plain.consistency, plain.options)


def test_everything_commented_out_loads_too(tmp_path: Path) -> None:
    text = re.sub(r"^( +)# (?=\w+: )", r"\1", TEMPLATE, flags=re.M)
    assert text.count("#") < TEMPLATE.count("#")
    (tmp_path / "tieout.yaml").write_text(text)
    environment = {"OLD_USER": "a", "OLD_PASSWORD": "b", "NEW_USER": "c", "NEW_PASSWORD": "d"}
    orders = load(tmp_path / "tieout.yaml", environment=environment).verify_request("shop").tables[0]
    assert orders.tolerance == {"weight": "0.001", "ratio": "1e-9 relative"}
    assert orders.expressions == {"total": ("price * qty", "")}


def test_without_its_variables_it_says_which(tmp_path: Path) -> None:
    write_template(tmp_path / "tieout.yaml")
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "tieout.yaml", environment={})
    named = re.findall(r"variable (\w+) is not set", str(caught.value))
    assert named == ["OLD_USER", "OLD_PASSWORD", "NEW_USER", "NEW_PASSWORD"]


def test_a_file_is_overwritten_only_by_force(tmp_path: Path) -> None:
    file = tmp_path / "tieout.yaml"
    file.write_text("mine")
    with pytest.raises(UsageError) as caught:
        write_template(file)
    assert str(caught.value) == f"{file} exists already (give --force to overwrite it)"
    assert file.read_text() == "mine"
    write_template(file, force=True)
    assert file.read_text() == TEMPLATE


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "nowhere" / "tieout.yaml"
    with pytest.raises(UsageError) as caught:
        write_template(file)
    assert str(caught.value) == f"can't write {file}: No such file or directory"
