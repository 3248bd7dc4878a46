# Everything sets itself up: `make demo` and `make test` need only Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BUILD_INPUTS := pyproject.toml CMakeLists.txt $(wildcard src/jamrank/kernels/*.cpp src/jamrank/kernels/*.hpp)

.PHONY: demo test lint format typecheck unit benchmark test-oldest docs clean

demo: $(VENV)/.demo
	$(BIN)/jamrank demo

test: lint typecheck unit

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

typecheck: $(VENV)/.dev
	$(BIN)/mypy

unit: $(VENV)/.dev
	$(BIN)/python -m pytest

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmark: $(VENV)/.dev
	$(BIN)/python -m benchmarks.core

# The oldest versions that pyproject.toml claims, on the oldest Python.
test-oldest:
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install -q -c tests/oldest.txt ".[test]"
	.venv-oldest/bin/python -m pytest

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W -b html docs docs/_build

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "jamrank needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BUILD_INPUTS) | $(VENV)/bin/python
	$(BIN)/pip install -q --disable-pip-version-check -e ".[demo]"
	touch $@

$(VENV)/.dev: $(BUILD_INPUTS) | $(VENV)/bin/python
	$(BIN)/pip install -q --disable-pip-version-check -e ".[dev]"
	touch $@ $(VENV)/.demo

$(VENV)/.docs: docs/conf.py $(VENV)/.dev
	$(BIN)/pip install -q --disable-pip-version-check ".[docs]"
	touch $@

clean:
	rm -rf $(VENV) .venv-oldest build dist docs/_build .pytest_cache .mypy_cache .ruff_cache
