# Everything sets itself up: `make demo` and `make test` need only Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install -q --disable-pip-version-check
# What an editable install depends on: the build, and which modules there are.
BUILD_INPUTS := pyproject.toml CMakeLists.txt $(wildcard src/jamrank/kernels/*.cpp src/jamrank/kernels/*.hpp)
MODULES := $(shell find src -name '*.py' | sort | cksum | cut -d ' ' -f 1)

# Benchmarks have an environment of their own, with jamrank as its users install it.
RIVALS := .venv-rivals

# How many tests run at the same time: three keep two cores busy, as many wait for a browser or a database.
JOBS ?= 3
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

.PHONY: demo test test-long golden lint typecheck unit wheel format figure gallery report-figure reproduce test-oldest docs clean
.PHONY: benchmark benchmark-rivals benchmark-growth benchmark-profile benchmark-scale benchmark-quick
.PHONY: benchmark-verdicts benchmark-recovery benchmark-coverage benchmark-scorers benchmark-heldout
.PHONY: benchmark-everyday benchmark-alike benchmark-covariates benchmark-studio benchmark-baseline
.PHONY: benchmark-next benchmark-encoding benchmark-cluster benchmark-gpu benchmark-jury fuzz kills bounds

demo: $(VENV)/demo-$(MODULES)
	$(BIN)/jamrank demo

# Types are checked while the tests run.
test: lint
	$(MAKE) -j 2 typecheck unit

lint: $(VENV)/dev-$(MODULES)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

typecheck: $(VENV)/dev-$(MODULES)
	$(BIN)/mypy

unit: $(VENV)/dev-$(MODULES)
	$(PYTEST)

# What is repeated hundreds of times: fits of many samples, killed runs, damaged files, random examples. Half an hour.
test-long: $(VENV)/dev-$(MODULES)
	$(PYTEST) -m 'long or hypothesis' --hypothesis-profile long --timeout 1800

# Every model's results against tests/golden, which the whole suite does too.
golden: $(VENV)/dev-$(MODULES)
	$(PYTEST) tests/golden

format: $(VENV)/dev-$(MODULES)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Every ratio that jamrank is judged by, ten to twenty minutes: benchmarks/results.md, .json and .png.
benchmark: $(RIVALS)/jamrank $(RIVALS)/rivals
	$(RIVALS)/bin/python -m benchmarks.ratios

# Whether anything is slower than at an earlier commit (COMMIT=13ef558), a quarter of an hour: benchmarks/baseline.md and .json.
benchmark-baseline: $(RIVALS)/jamrank $(RIVALS)/rivals
	$(RIVALS)/bin/python -m benchmarks.baseline $(if $(COMMIT),--commit $(COMMIT))

# jamrank and its rivals on 10⁴ to 10⁷ votes, most of an hour: benchmarks/compare.md, .json and .png.
benchmark-rivals: $(RIVALS)/jamrank $(RIVALS)/rivals
	$(RIVALS)/bin/python -m benchmarks.compare

# How time and memory grow, ten minutes: benchmarks/growth.md, .json and .png.
benchmark-growth: $(RIVALS)/jamrank
	$(RIVALS)/bin/python -m benchmarks.growth

# What reading 50 million votes costs beside fitting them, some minutes: benchmarks/encoding.md and .json.
benchmark-encoding: $(RIVALS)/jamrank
	$(RIVALS)/bin/python -m benchmarks.encoding

# Where the time goes, a minute: benchmarks/profile.md and .json.
benchmark-profile: $(RIVALS)/jamrank
	$(RIVALS)/bin/python -m benchmarks.profile

# Whether the default is right on everyday jobs, up to six hours, resumed where it stopped (QUICK=1: two minutes):
# benchmarks/everyday.md and .json.
benchmark-everyday: $(RIVALS)/jamrank $(RIVALS)/rivals
	$(RIVALS)/bin/python -m benchmarks.everyday $(if $(QUICK),--quick)

# Whether the comparison of models picks the right one, a few minutes: benchmarks/heldout.md and .json.
benchmark-heldout: $(RIVALS)/jamrank
	$(RIVALS)/bin/python -m benchmarks.heldout

# Up to a billion votes from disk, an hour and 60 GB of room (SCRATCH=DIR): benchmarks/scale.md and .json.
benchmark-scale: $(RIVALS)/jamrank
	$(RIVALS)/bin/python -m benchmarks.scale $(if $(SCRATCH),--scratch $(SCRATCH))

# Fits on a dask cluster, most of an hour and 10 GB of memory and of room (SCRATCH=DIR): benchmarks/cluster.md and .json.
benchmark-cluster: $(RIVALS)/cluster
	$(RIVALS)/bin/python -m benchmarks.cluster $(if $(SCRATCH),--scratch $(SCRATCH))

# How often intervals hold the truth, over an hour on two cores: benchmarks/coverage.md and .json.
benchmark-coverage: $(RIVALS)/jamrank
	$(RIVALS)/bin/python -m benchmarks.coverage

# Votes until a level is reached, choosing against random pairs, Swiss rounds and ASAP (JAMRANK_RIVALS), some hours,
# resumed where it stopped: benchmarks/next.md, .json and .png. QUICK=1 takes two minutes and only shows that it works.
benchmark-next: $(VENV)/dev-$(MODULES)
	$(PIP) networkx matplotlib
	nice -n 10 $(BIN)/python -m benchmarks.next $(if $(QUICK),--quick)

# Whether intervals hold where annotators think alike, up to six hours, resumed where it stopped (QUICK=1: two
# minutes): benchmarks/alike.md and .json.
benchmark-alike: $(RIVALS)/jamrank
	$(RIVALS)/bin/python -m benchmarks.alike $(if $(QUICK),--quick)

# Whether planted effects of covariates are found and taken out of the ranking, about ten minutes, resumed where it
# stopped (QUICK=1: some seconds): benchmarks/covariates.md and .json.
benchmark-covariates: $(RIVALS)/jamrank
	$(RIVALS)/bin/python -m benchmarks.covariates $(if $(QUICK),--quick)

# Whether annotators get the verdicts they deserve, some minutes: benchmarks/verdicts.md and .json.
benchmark-verdicts: $(RIVALS)/jamrank
	$(RIVALS)/bin/python -m benchmarks.verdicts

# The studio with 200 judges on SQLite and PostgreSQL, killed 30 times, and whole studies, about half an hour,
# resumed where it stopped: benchmarks/studio.md and .json. ONLY=load-sqlite,kills-sqlite measures some parts, QUICK=1
# shows in two minutes that it works.
benchmark-studio: $(VENV)/dev-$(MODULES)
	$(BIN)/python -m benchmarks.studio $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY))

# Whether votes drawn from each noise give back its parameters, a few minutes: benchmarks/recovery.md and .json.
benchmark-recovery: $(RIVALS)/jamrank
	$(RIVALS)/bin/python -m benchmarks.recovery

# Accuracy of the scorers on wine, digits and votes drawn from the models, half an hour: benchmarks/scorers.md and .json.
benchmark-scorers: $(VENV)/dev-$(MODULES)
	$(BIN)/python -m benchmarks.scorers

# Hostile input of every kind, 202,000 cases of two seeds, most of an hour: benchmarks/fuzz.md and .json.
fuzz: $(VENV)/dev-$(MODULES)
	POLARS_MAX_THREADS=1 JAMRANK_THREADS=1 $(BIN)/python -m benchmarks.fuzz $(if $(CASES),--cases $(CASES)) $(if $(MINUTES),--minutes $(MINUTES))

# The whole command killed 400 times at random moments, some minutes: benchmarks/kills.md and .json.
kills: $(VENV)/dev-$(MODULES)
	POLARS_MAX_THREADS=1 JAMRANK_THREADS=1 $(BIN)/python -m benchmarks.kills

# Time and memory of small inputs that once took much, a minute: benchmarks/bounds.md and .json.
bounds: $(VENV)/dev-$(MODULES)
	POLARS_MAX_THREADS=1 JAMRANK_THREADS=1 $(BIN)/python -m benchmarks.bounds

# Passes and fits on a GPU, two minutes; needs a card: benchmarks/gpu.md and .json.
benchmark-gpu: $(RIVALS)/jamrank
	$(RIVALS)/bin/pip install -q --disable-pip-version-check ".[gpu]"
	$(RIVALS)/bin/python -m benchmarks.gpu

# What the jury saves, how fast it asks and whether its audit is right, a quarter of an hour: benchmarks/jury.md and .json.
benchmark-jury: $(VENV)/dev-$(MODULES)
	$(BIN)/python -m benchmarks.jury

# Six of them in small, to see that they work: build/quick-benchmarks.
benchmark-quick: $(RIVALS)/jamrank $(RIVALS)/rivals
	$(RIVALS)/bin/python -m benchmarks.ratios --quick
	$(RIVALS)/bin/python -m benchmarks.compare --quick
	$(RIVALS)/bin/python -m benchmarks.growth --quick
	$(RIVALS)/bin/python -m benchmarks.profile --quick
	$(RIVALS)/bin/python -m benchmarks.scale --quick
	$(RIVALS)/bin/python -m benchmarks.heldout --quick

# The picture of the README and its numbers.
figure: $(VENV)/figure-$(MODULES)
	$(BIN)/python examples/overview.py

# The picture of the report in the docs; needs a chromium.
report-figure: $(VENV)/dev-$(MODULES)
	$(BIN)/python examples/report.py

# The worked examples of the documentation: docs/gallery. Real data, in the folder that JAMRANK_DATA names.
gallery: $(VENV)/figure-$(MODULES)
	$(BIN)/python -m examples.gallery

# The paper's experiments, all of them with ten seeds: about half an hour on two cores. Downloads the data sets unless
# JAMRANK_DATA names a folder with copies. Interrupted and started again, it goes on where it was.
reproduce: $(VENV)/dev-$(MODULES)
	$(BIN)/jamrank reproduce --out docs/reproduction

# The oldest versions that pyproject.toml claims.
test-oldest:
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install -q --disable-pip-version-check -c tests/oldest.txt ".[test]"
	.venv-oldest/bin/python -m pytest -n $(JOBS) --dist worksteal

# A wheel and an sdist into dist, each tried in an environment of its own: some minutes.
wheel: $(VENV)/release
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python packaging/try_distributions.py dist/*

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

$(VENV)/release: | $(BIN)/python
	$(PIP) "build>=1.2" "twine>=5.1"
	touch $@

$(VENV)/docs-$(MODULES): $(VENV)/dev-$(MODULES)
	$(PIP) -e ".[dev,docs]"
	touch $@

$(RIVALS)/jamrank: $(BUILD_INPUTS) $(shell find src -name '*.py')
	@echo "Installing jamrank into $(RIVALS); the first time this takes a minute or two."
	$(PYTHON) -m venv $(RIVALS)
	$(RIVALS)/bin/pip install -q --disable-pip-version-check ".[figures]"
	touch $@

$(RIVALS)/cluster: $(RIVALS)/jamrank
	$(RIVALS)/bin/pip install -q --disable-pip-version-check ".[cluster]"
	touch $@

# One that cannot be installed keeps none of the others away; the next run tries it again.
$(RIVALS)/rivals: benchmarks/requirements.txt | $(RIVALS)/jamrank
	@echo "Installing the rivals into $(RIVALS); the first time this takes a few minutes."
	@install="$(RIVALS)/bin/pip install -q --disable-pip-version-check"; \
	if $$install -r $<; then touch $@; else \
	  grep -v '^#' $< | while read -r rival; do $$install "$$rival" || echo "$$rival: left out"; done; \
	fi

clean:
	rm -rf $(VENV) .venv-oldest $(RIVALS) jamrank-demo jamrank-reproduction docs/reproduction/.trials
	rm -rf build dist docs/_build .pytest_cache .mypy_cache .ruff_cache
