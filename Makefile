# Everything sets itself up: `make demo` and `make test` need only Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install -q --disable-pip-version-check
# What an editable install depends on: the build, and which modules there are.
BUILD_INPUTS := pyproject.toml CMakeLists.txt $(wildcard src/jamrank/kernels/*.cpp src/jamrank/kernels/*.hpp)
MODULES := $(shell find src -name '*.py' | sort | cksum | cut -d ' ' -f 1)

.PHONY: demo test lint typecheck unit format benchmark benchmark-rivals figure reproduce test-oldest docs clean

demo: $(VENV)/demo-$(MODULES)
	$(BIN)/jamrank demo

test: lint typecheck unit

lint: $(VENV)/dev-$(MODULES)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

typecheck: $(VENV)/dev-$(MODULES)
	$(BIN)/mypy

unit: $(VENV)/dev-$(MODULES)
	$(BIN)/python -m pytest

format: $(VENV)/dev-$(MODULES)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Prints the ratios and writes them to benchmarks/results.md and benchmarks/passes.md.
benchmark: $(VENV)/dev-$(MODULES)
	$(BIN)/python -m benchmarks.passes
	$(BIN)/python -m benchmarks.core

# jamrank and its rivals on the same votes, most of an hour: benchmarks/compare.md, .json and .png. The rivals get an
# environment of their own.
benchmark-rivals:
	$(PYTHON) -m venv .venv-rivals
	.venv-rivals/bin/pip install -q --disable-pip-version-check -r benchmarks/requirements.txt ".[figures]"
	.venv-rivals/bin/python -m benchmarks.compare

# The picture of the README and its numbers.
figure: $(VENV)/figure-$(MODULES)
	$(BIN)/python examples/overview.py

# The paper's experiments, all of them with ten seeds: about half an hour on two cores. Downloads the data sets unless
# JAMRANK_DATA names a folder with copies. Interrupted and started again, it goes on where it was.
reproduce: $(VENV)/dev-$(MODULES)
	$(BIN)/jamrank reproduce --out docs/reproduction

# The oldest versions that pyproject.toml claims.
test-oldest:
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install -q --disable-pip-version-check -c tests/oldest.txt ".[test]"
	.venv-oldest/bin/python -m pytest

docs: $(VENV)/docs-$(MODULES)
	$(BIN)/sphinx-build -W -b html docs docs/_build
	@echo "Open docs/_build/index.html"

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "jamrank needs Python 3.11 or newer; try: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo-$(MODULES): $(BUILD_INPUTS) | $(BIN)/python
	@echo "Installing jamrank into $(VENV); the first time this takes a minute or two."
	$(PIP) -e ".[demo]"
	touch $@

$(VENV)/dev-$(MODULES): $(BUILD_INPUTS) | $(BIN)/python
	@echo "Installing jamrank and its test tools into $(VENV); the first time this takes a minute or two."
	$(PIP) -e ".[dev]"
	touch $@ $(VENV)/demo-$(MODULES)

$(VENV)/figure-$(MODULES): $(VENV)/dev-$(MODULES)
	$(PIP) -e ".[dev,figures]"
	touch $@

$(VENV)/docs-$(MODULES): $(VENV)/dev-$(MODULES)
	$(PIP) -e ".[dev,docs]"
	touch $@

clean:
	rm -rf $(VENV) .venv-oldest .venv-rivals jamrank-demo jamrank-reproduction docs/reproduction/.trials
	rm -rf build dist docs/_build .pytest_cache .mypy_cache .ruff_cache
