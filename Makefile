# Each target sets up .venv first, if pyproject.toml or requirements-dev.lock has changed since.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# The runs and the data that `make screenshots` draws.
RUNS ?= runs/results
DATA ?= data
export PYTHONSAFEPATH := 1
# Keep compiled modules even where the environment does not: the tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE
export CLARINET_TEST_DATA ?= $(wildcard ../shared/data)

.PHONY: setup demo test coverage lint build build-check release-check lock docs bench bench-gpu screenshots soak clean

setup: $(READY)

$(READY): pyproject.toml requirements-dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| (echo "make: needs Python 3.11 or newer: name one with PYTHON=python3.12" && false)
	@test -x $(BIN)/pip || (echo "Making .venv" && $(PYTHON) -m venv --clear .venv)
	@echo "Installing into .venv (the first time takes a few minutes)"
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements-dev.lock --editable ".[dev]" \
		> .venv/install.log 2>&1 || (cat .venv/install.log && false)
	@touch $@

demo: setup
	@$(BIN)/clarinet demo

test: setup
	@$(BIN)/python -m pytest --numprocesses logical --dist worksteal

# Source lines and branches of core and clarinet_tui that the tests execute, in worker processes as well.
coverage: setup
	@rm -f .coverage .coverage.*
	@$(BIN)/python -m pytest --numprocesses logical --dist worksteal --cov --cov-report term:skip-covered $(TESTS)

lint: setup
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

# The source distribution, and the wheel that is built from it.
build: setup
	@rm -rf build dist
	@$(BIN)/python -m build --outdir dist . > .venv/build.log 2>&1 || (cat .venv/build.log && false)

# Installs the wheel into an empty environment and trains from there.
build-check: build
	@PYTHONS=$(PYTHON) .ci/install-check pip

# The same, and the demo, with every supported Python that is installed, with pipx and with uv.
release-check: build
	@DEMO=1 PYTHON=$(PYTHON) .ci/install-check pip pipx uv

# The versions of all packages that development was last tested with; a local build of torch stands for its release.
lock: setup
	@$(BIN)/pip freeze --disable-pip-version-check --exclude-editable | sed 's/^\(torch.*\)+.*/\1/' > requirements-dev.lock

# The documentation as web pages in build/site; links between pages are checked.
docs: setup
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs --quiet build --clean

bench: setup
	@PYTHONPATH=. $(BIN)/python -m benchmarks.loop
	@PYTHONPATH=. $(BIN)/python -m benchmarks.memory
	@PYTHONPATH=. $(BIN)/python -m benchmarks.recording
	@PYTHONPATH=. $(BIN)/python -m benchmarks.ingest
	@PYTHONPATH=. $(BIN)/python -m benchmarks.first_ingest
	@PYTHONPATH=. $(BIN)/python -m benchmarks.cluster
	@PYTHONPATH=. $(BIN)/python -m benchmarks.first_paint
	@PYTHONPATH=. $(BIN)/python -m benchmarks.long_run
	@PYTHONPATH=. $(BIN)/python -m benchmarks.redraw
	@PYTHONPATH=. $(BIN)/python -m benchmarks.streaming
	@PYTHONPATH=. $(BIN)/python -m benchmarks.compare

# To run on a machine with an NVIDIA GPU; its output is worth an issue.
bench-gpu: setup
	@PYTHONPATH=. $(BIN)/python -m benchmarks.gpu

screenshots: setup
	@PYTHONPATH=. $(BIN)/python -m benchmarks.screenshots --runs-dir $(RUNS) --data-dir $(DATA)
	@PYTHONPATH=. $(BIN)/python -m benchmarks.session

soak: setup
	@CLARINET_SOAK=1 $(BIN)/python -m pytest --durations 10 tests/faults
	@PYTHONPATH=. $(BIN)/python -m benchmarks.soak

clean:
	rm -rf .venv build dist *.egg-info .coverage* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
