# Every target does its own set-up in .venv, quietly and only when needed.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# Of which real history the screenshots are, and where its data is.
RUNS ?= runs/results
DATA ?= data
export PYTHONSAFEPATH := 1
export CLARINET_TEST_DATA ?= $(wildcard ../shared/data)

.PHONY: setup demo test lint bench screenshots soak clean

setup: $(READY)

$(READY): pyproject.toml
	@test -x $(BIN)/python || (echo "Making .venv" && $(PYTHON) -m venv .venv)
	@echo "Installing into .venv (the first time takes a few minutes)"
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[dev]" > .venv/install.log 2>&1 \
		|| (cat .venv/install.log && false)
	@touch $@

demo: setup
	@$(BIN)/clarinet demo

test: setup
	@$(BIN)/python -m pytest --numprocesses logical --dist worksteal

lint: setup
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: setup
	@PYTHONPATH=. $(BIN)/python -m benchmarks.loop
	@PYTHONPATH=. $(BIN)/python -m benchmarks.memory
	@PYTHONPATH=. $(BIN)/python -m benchmarks.recording
	@PYTHONPATH=. $(BIN)/python -m benchmarks.first_paint
	@PYTHONPATH=. $(BIN)/python -m benchmarks.long_run
	@PYTHONPATH=. $(BIN)/python -m benchmarks.redraw
	@PYTHONPATH=. $(BIN)/python -m benchmarks.streaming
	@PYTHONPATH=. $(BIN)/python -m benchmarks.compare

screenshots: setup
	@PYTHONPATH=. $(BIN)/python -m benchmarks.screenshots --runs-dir $(RUNS) --data-dir $(DATA)

soak: setup
	@CLARINET_SOAK=1 $(BIN)/python -m pytest --durations 10 tests/faults
	@PYTHONPATH=. $(BIN)/python -m benchmarks.soak

clean:
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
