# Every target sets up what it needs; repeated runs start at once. CI calls the same targets.

PYTHON ?= python3
# The folder that `make run` opens: make run DIR=/some/project
DIR ?= $(CURDIR)

VENV   := .venv
BIN    := $(VENV)/bin
PEERS  := tests/peers

RUNTIME_READY := $(VENV)/.runtime-ready
DEV_READY     := $(VENV)/.dev-ready
PEERS_READY   := $(PEERS)/node_modules/.ready
GOLDENS_READY := $(VENV)/.goldens-ready

# The caller's Python settings stay outside, and the pins hold for the build backend as well.
unexport PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONDONTWRITEBYTECODE PYTHONWARNINGS VIRTUAL_ENV
unexport PIP_USER PIP_TARGET PIP_PREFIX
export PYTHONNOUSERSITE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_BUILD_CONSTRAINT := $(PIP_CONSTRAINT)

# Programs started from here may call make themselves; they must not inherit our flags and variables.
OUTSIDE_MAKE := env -u MAKEFLAGS -u MAKEOVERRIDES -u MAKELEVEL -u MFLAGS -u PIP_CONSTRAINT -u PIP_BUILD_CONSTRAINT

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup run check test bench fmt clean

help:
	@echo "make run     talk to Porter in this folder (DIR=/some/project for another)"
	@echo "make test    every check and every test"
	@echo "make check   formatting, lint, types, import direction, generated code, docs"
	@echo "make setup   the development environment   make fmt     format and fix"
	@echo "make bench   the budgets, measured         make clean   remove what was built"

setup: $(DEV_READY) $(PEERS_READY) $(GOLDENS_READY)

run: $(RUNTIME_READY)
	@$(OUTSIDE_MAKE) $(BIN)/portico chat --cwd "$(DIR)"

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate_acp.py --check
	$(BIN)/python scripts/check_docs.py

test: check
	$(OUTSIDE_MAKE) $(BIN)/pytest -n 2 --dist worksteal

bench: setup
	$(OUTSIDE_MAKE) $(BIN)/python -m bench

fmt: $(DEV_READY)
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(PEERS)/node_modules build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache
	find src tests bench scripts -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@command -v "$(PYTHON)" >/dev/null || { \
		echo "Portico needs Python 3.11 or newer, and '$(PYTHON)' was not found." \
			"Install it, or name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Portico needs Python 3.11 or newer, and '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1)." \
			"Name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@"$(PYTHON)" -m venv --clear $(VENV) || { \
		echo "Python could not make a virtual environment." \
			"On Debian and Ubuntu, install the package python3-venv." >&2; exit 1; }

$(RUNTIME_READY): $(BIN)/python pyproject.toml constraints.txt
	@echo "Setting up Portico (once) …"
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(DEV_READY): $(BIN)/python pyproject.toml constraints.txt
	@echo "Setting up the development environment (once) …"
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(RUNTIME_READY) $@

$(PEERS_READY): $(PEERS)/package.json $(PEERS)/package-lock.json
	@command -v npm >/dev/null || { \
		echo "The tests need Node 20 or newer with npm; install it first." >&2; exit 1; }
	@npm ci --prefix $(PEERS) --no-audit --no-fund --ignore-scripts --no-update-notifier --loglevel=error
	@touch $@

$(GOLDENS_READY): $(DEV_READY) scripts/fetch_goldens.py
	@$(BIN)/python scripts/fetch_goldens.py
	@touch $@
