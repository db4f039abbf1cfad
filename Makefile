# Set up, check and try Forklore. `make` alone lists the targets.

PYTHON  ?= python3
# One more than there are processors: many tests wait for a browser, a disk or a clock.
WORKERS ?= $(shell $(PYTHON) -c "import os; print(1 + (os.cpu_count() or 1))")
TAVERNS ?= 2
MUTANTS ?= 1

VENV := .venv
BIN  := $(VENV)/bin
LOCK := requirements-dev.txt
PIP  := $(BIN)/python -m pip --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test check e2e windows mutants lint bench docs format lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/set-up ## make a checkpoint and a branch of a sample story, and show that nothing leaks
	@$(BIN)/forklore demo

# Compiled modules are kept, whatever is set: each of several processes would compile all tests anew.
unexport PYTHONDONTWRITEBYTECODE

# Nothing is skipped for want of what they fetch.
test e2e: export FORKLORE_E2E = required

test: $(VENV)/set-up-dev ## everything: linters, then all tests; what they need is fetched meanwhile
	@$(BIN)/python -m tests.e2e_sillytavern.installing browser
	@$(BIN)/python -m tests.e2e_sillytavern.installing > $(VENV)/fetched 2>&1 & fetching=$$!; \
	$(MAKE) lint && $(BIN)/python -m pytest -q -n $(WORKERS) -m "not sillytavern" || { kill $$fetching; exit 1; }; \
	wait $$fetching || { cat $(VENV)/fetched; exit 1; }
	$(MAKE) e2e

check: lint ## the fast part of test, for daily work
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow and not crash and not e2e and not sillytavern"

e2e: $(VENV)/set-up-dev ## the extension in the real SillyTavern; gets it once, with npm
	$(BIN)/python -m tests.e2e_sillytavern.installing
	$(BIN)/python -m pytest -q -n $(TAVERNS) --dist loadscope -m sillytavern tests/e2e_sillytavern tests/extension

windows: $(VENV)/set-up-dev ## the tests of disks and stories with a Python for Windows, under Wine; gets both once
	$(BIN)/python -m tests.windows.installing
	WORKERS=$(WORKERS) $(BIN)/python -m tests.windows.running

mutants: $(VENV)/set-up-dev ## break the core in thousands of ways and list what no test notices; takes hours, goes on where it was stopped
	$(BIN)/mutmut run --max-children $(MUTANTS) > $(VENV)/mutants.log 2>&1 || { tail -n 40 $(VENV)/mutants.log; exit 1; }
	$(BIN)/mutmut results

lint: $(VENV)/set-up-dev ## the linters alone
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/set-up-dev ## measure against plain copying; the table is in bench/results.md
	$(BIN)/python -m bench

docs: $(VENV)/set-up-dev ## write docs/reference and the page's types anew from the code
	$(BIN)/python docs/generate.py

format: $(VENV)/set-up-dev ## lay out the code and mend what a linter can mend
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

lock: $(VENV)/set-up-dev ## write requirements-dev.txt anew: the newest versions that pyproject.toml allows
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
	| $(BIN)/uv pip compile --quiet --no-config --upgrade --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command "make lock" --extra dev --output-file $(LOCK) pyproject.toml -

clean: ## remove everything that setting up, testing and building made
	rm -rf $(VENV) build dist mutants .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests bench docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The stamps make a second run quick. A change of pyproject.toml or of the lock installs anew.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/set-up: pyproject.toml | $(BIN)/python
	$(PIP) install -e .
	@$(BIN)/python -m compileall -q src/forklore
	@touch $@

# What the lock says and nothing else; the project is built with what was installed, so nothing more is fetched for it.
$(VENV)/set-up-dev: pyproject.toml $(LOCK) | $(BIN)/python
	$(PIP) install --require-hashes -r $(LOCK)
	$(PIP) install --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q src/forklore
	@touch $@ $(VENV)/set-up
