# A fresh clone needs make and Python 3.11; `make demo` and `make test` bring the rest.
# ARGS="..." goes to pytest and to the demo; PYTHON=... chooses the interpreter.

VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --use-pep517
ARGS ?=
# Each worker of the tests has its own Spark and its own servers.
WORKERS ?= 2
# How many movers `make test-kills` kills, those of earlier runs of the same code counted.
KILLS ?= 500
# What `make bench-verify` measures us against: in an environment of its own, its drivers are not ours.
PEER := .venv-peer
RELADIFF := reladiff[mysql,postgresql]==0.6.0

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev java servers demo test test-faults test-kills golden mutants lint format bench-verify bench-move bench-check bench-check-changed soak clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.ready ## tieout and what it needs, in .venv

setup-dev: $(VENV)/.ready-dev ## the same, with the tools for testing and linting

$(BIN)/python:
	@tools/venv $(VENV)

$(VENV)/.ready: pyproject.toml | $(BIN)/python
	@echo "Installing tieout into $(VENV) (some minutes the first time)"
	@$(PIP_INSTALL) -e .
	@touch $@

$(VENV)/.ready-dev: pyproject.toml | $(BIN)/python
	@echo "Installing tieout and its development tools into $(VENV) (some minutes the first time)"
	@$(PIP_INSTALL) -e '.[dev]'
	@touch $(VENV)/.ready $@

$(VENV)/spark.jsa: $(VENV)/.ready-dev tools/class_archive.py | java
	@echo "Making an archive of Spark's classes for the tests (half a minute)"
	@rm -f $@; $(BIN)/python tools/class_archive.py $@ || echo "There is none: each start of Spark takes longer"

java: ## a headless Java 17, if there is none
	@tools/java

servers: ## the programs of MariaDB and PostgreSQL, if they are missing; starts no service
	@tools/servers

demo: setup java ## the product on an embedded pair of databases
	@$(BIN)/tieout demo $(ARGS)

test: setup-dev java servers $(VENV)/spark.jsa ## the tests, without the long ones of test-faults
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=10 $(ARGS)

test-faults: setup-dev java servers $(VENV)/spark.jsa ## movers killed at every place, databases corrupted in every way (an hour; goes on where it was)
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --all-faults tests/faults/moving tests/integration/moving/test_races.py tests/integration/corruption $(ARGS)
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --all-faults tests/integration/checking/test_while_writing.py tests/integration/checking/test_changed.py tests/integration/checking/test_changed_while_writing.py $(ARGS)
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --all-faults -m thorough tests $(ARGS)

test-kills: setup-dev java servers $(VENV)/spark.jsa ## movers killed at random, KILLS=... of them; MINUTES=..., SEED=... (goes on where it was)
	$(BIN)/python -m tests.faults.kills --kills $(KILLS) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED)) $(ARGS)

mutants: setup-dev java servers $(VENV)/spark.jsa ## breaks the code in known ways: the tests have to notice each; ARGS="NAME", ARGS="-k PATTERN"
	$(BIN)/python tools/mutants -j $(WORKERS) $(ARGS)

golden: setup-dev java servers $(VENV)/spark.jsa ## what users and scripts see, beside what was recorded in tests/golden; PARTS="help api" for some of it
	@$(BIN)/python tools/golden compare $(PARTS)

lint: setup-dev ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports --no-logo

format: setup-dev ## put the code into shape
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

# BESIDE=COMMIT measures the tree and a commit in turns, without the peers; ROUNDS=... sets how often.
bench-verify: setup java servers $(if $(BESIDE),,$(PEER)/.ready) ## verification beside its peers; ROWS=... sets the size, BESIDE=... an older commit
	@$(BIN)/python $(if $(BESIDE),benchmarks/beside.py verify $(BESIDE),benchmarks/verify.py)

bench-move: setup-dev java servers ## moving beside dumps and loaders; ROWS=..., CHANGES=... set the sizes, BESIDE=... an older commit
	@$(if $(BESIDE),true,tools/pgloader)
	@$(BIN)/python $(if $(BESIDE),benchmarks/beside.py move $(BESIDE),benchmarks/move.py)

bench-check: setup-dev java servers ## index checks beside fetching the same columns, and pg_amcheck; ROWS=... sets the size, BESIDE=... an older commit
	@$(BIN)/python $(if $(BESIDE),benchmarks/beside.py check $(BESIDE),benchmarks/check.py)

bench-check-changed: setup-dev java servers ## CHECK … CHANGED beside a check of all rows; ROWS=..., CHANGES=... set the sizes
	@$(BIN)/python benchmarks/check_changed.py

soak: setup-dev java servers ## two movers for half an hour of constant writes; SECONDS=... sets how long
	@$(BIN)/python benchmarks/soak.py

$(PEER)/.ready: Makefile
	@echo "Installing $(RELADIFF) into $(PEER)"
	@test -x $(PEER)/bin/python || tools/venv $(PEER)
	@$(PEER)/bin/python -m pip install --quiet --disable-pip-version-check '$(RELADIFF)'
	@touch $@

clean: ## remove what the other targets made
	rm -rf $(VENV) $(PEER) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis spark-warehouse metastore_db derby.log
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
