# Everything that is done with Matins from a clone. `make help` lists it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
CHECKED := src tests bench

# Sets come in the same order each time, so that the tests do.
test test-web quick mutants: export PYTHONHASHSEED := 0
# Whoever wants no bytecode kept gets it all the same: without it, each of the hundreds of processes
# that the tests start compiles all of Matins anew.
unexport PYTHONDONTWRITEBYTECODE
# Half of the time goes to tests that wait: four workers keep two cores busy.
FAST := tests/unit tests/contract tests/docs tests/sim

.DEFAULT_GOAL := help
.PHONY: help up test test-web quick check collected fuzz sim mutants format bench pictures docs modules cases lock clean

help:  ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile

up: $(VENV)/.installed  ## Start all of Matins here, with demo jobs; Ctrl-C stops it
	@$(BIN)/matins up

test: $(VENV)/.installed-dev  ## Run every check and every test; the inputs are the same each time
	@$(MAKE) -s -j 2 check collected
	@$(BIN)/pytest -n 4

test-web: $(VENV)/.installed-dev  ## Test the web page in a browser, which is installed if it is missing
	@$(BIN)/python -m tests.web.chromium
	@MATINS_WEB_TESTS=required $(BIN)/pytest tests/web

quick: check  ## Run the checks and the fast tests: what to run at each step
	@$(BIN)/pytest -n 2 $(FAST)

check: $(VENV)/.installed-dev  ## Run the checks alone: format, lint, types, imports, dead code
	@$(BIN)/ruff format --check --quiet $(CHECKED)
	@$(BIN)/ruff check --quiet $(CHECKED)
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo > $(VENV)/imports.log || { cat $(VENV)/imports.log; exit 1; }
	@$(BIN)/vulture
	@$(BIN)/deptry src > $(VENV)/deptry.log 2>&1 || { cat $(VENV)/deptry.log; exit 1; }

# One process compiles the tests beside the checks, or all workers would at the same time.
collected: $(VENV)/.installed-dev
	@$(BIN)/pytest --collect-only > $(VENV)/collected.log || { cat $(VENV)/collected.log; exit 1; }

fuzz: $(VENV)/.installed-dev  ## Look for new inputs that break a property: make fuzz MINUTES=10
	@$(BIN)/python -m tests.fuzz --minutes $(or $(MINUTES),5)

mutants: $(VENV)/.installed-dev  ## Plant faults one by one; print what no fast test finds: make mutants ONLY=lease
	@$(BIN)/python -m tests.mutants $(ONLY)

format: $(VENV)/.installed-dev  ## Format the code and mend what can be mended
	@$(BIN)/ruff check --quiet --fix $(CHECKED) || true
	@$(BIN)/ruff format $(CHECKED)

bench: $(VENV)/.installed-dev  ## Print the figures of the benchmarks (some minutes)
	@$(BIN)/python -m bench.claim
	@$(BIN)/python -m bench.scheduler
	@$(BIN)/python -m bench.end_to_end --gated
	@$(BIN)/python -m bench.rolling
	@$(BIN)/python -m bench.fairness
	@$(BIN)/python -m bench.failures
	@$(BIN)/python -m bench.looks
	@$(BIN)/python -m bench.schedules
	@$(BIN)/python -m bench.forecast
	@$(BIN)/python -m bench.history

sim: $(VENV)/.installed-dev  ## Run the simulator over many seeds: make sim SEEDS=200 HOURS=2
	@$(BIN)/python -m matins.testing.simulation --seeds $(or $(SEEDS),50) --hours $(or $(HOURS),2)

pictures: $(VENV)/.installed-dev  ## Take the pictures of the web page for the documentation anew
	@$(BIN)/python -m tests.web.pictures

docs: $(VENV)/.installed-dev  ## Write what is made from the code into the documentation
	@$(BIN)/python -m tests.docs.generated

modules: $(VENV)/.installed-dev  ## List the modules, and what each is for: make modules IN=scheduler
	@$(BIN)/python -m tests.docs.modules $(IN)

cases: $(VENV)/.installed-dev  ## Check a file of schedule cases: make cases FILE=...
	@$(BIN)/python -m tests.unit.schedules.cases $(FILE)

lock: $(VENV)/.installed-dev  ## Lock the newest dependencies that pyproject.toml allows
	@$(PIP) install pip-tools
	@$(BIN)/pip-compile -q --upgrade $(COMPILE) -o requirements/runtime.txt pyproject.toml requirements/build.in
	@$(BIN)/pip-compile -q --upgrade $(COMPILE) --extra dev --extra s3 -c requirements/runtime.txt -o requirements/dev.txt pyproject.toml requirements/build.in

COMPILE := --generate-hashes --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --strip-extras --allow-unsafe --no-header

clean:  ## Remove the virtual environment and all caches; data folders stay
	@rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Matins needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "no virtual environment could be made; on Debian: apt install python3-venv" >&2; exit 1; }

$(VENV)/.installed: $(VENV)/bin/python requirements/runtime.txt pyproject.toml
	@echo "Installing Matins and what it needs into $(VENV) ..."
	@$(PIP) install --require-hashes -r requirements/runtime.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements/dev.txt
	@echo "Installing what the tests need into $(VENV) ..."
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@
