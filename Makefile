# Every target sets up what it needs; repeated runs start at once. CI calls the same targets.

PYTHON ?= python3
# The folder that `make run` opens: make run DIR=/some/project
DIR ?= $(CURDIR)
# How many tests run at once: tests wait for other programs, so there are more workers than cores.
WORKERS ?= 4

VENV   := .venv
BIN    := $(VENV)/bin
PEERS  := tests/peers
WEB    := web
EDITOR := vscode
PAGE   := src/portico/doors/http/page

RUNTIME_READY := $(VENV)/.runtime-ready
DEV_READY     := $(VENV)/.dev-ready
PEERS_READY   := $(PEERS)/node_modules/.ready
GOLDENS_READY := $(VENV)/.goldens-ready
BROWSER_READY := $(VENV)/.browser-ready
OFFLINE_READY := $(VENV)/.offline-ready
SERVERS_READY := $(VENV)/.servers-ready
WEB_READY     := $(WEB)/node_modules/.ready
PAGE_READY    := $(PAGE)/build.json
EDITOR_READY  := $(EDITOR)/node_modules/.ready
VSIX          := $(EDITOR)/dist/portico.vsix
VSCODE_READY  := $(VENV)/.vscode-ready

# Ignore the caller's Python settings, and pin the build backend as well.
unexport PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONDONTWRITEBYTECODE PYTHONWARNINGS VIRTUAL_ENV
unexport PIP_USER PIP_TARGET PIP_PREFIX
export PYTHONNOUSERSITE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_BUILD_CONSTRAINT := $(PIP_CONSTRAINT)

# Programs started from here may call make themselves; they must not inherit our flags and variables.
OUTSIDE_MAKE := env -u MAKEFLAGS -u MAKEOVERRIDES -u MAKELEVEL -u MFLAGS -u PIP_CONSTRAINT -u PIP_BUILD_CONSTRAINT

# Keeps the output of parallel targets apart, if this make can.
OUTPUT_SYNC := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup run page vsix editor check test page-tests architecture bench dist fmt clean

help:
	@echo "make run     open the chat page with Porter in this folder (DIR=/some/project for another)"
	@echo "make test    every check and every test"
	@echo "make check   formatting, lint, types, import direction, generated code, docs"
	@echo "make setup   the development environment   make fmt     format and fix"
	@echo "make bench   the budgets, measured         make page    build the chat page"
	@echo "make dist    a wheel with the page inside  make clean   remove what was built"
	@echo "make vsix    the VS Code extension         make editor  try it, in a VS Code in the browser"

setup: $(DEV_READY) $(PEERS_READY) $(GOLDENS_READY) $(WEB_READY) $(PAGE_READY) $(BROWSER_READY) $(OFFLINE_READY) $(SERVERS_READY) $(VSIX) $(VSCODE_READY)

# Without a network the offline model is missing, and everything else works.
run: $(RUNTIME_READY) $(PAGE_READY)
	@$(OUTSIDE_MAKE) $(BIN)/portico models pull smollm2 >/dev/null || true
	@$(OUTSIDE_MAKE) $(BIN)/portico serve --open --cwd "$(DIR)"

page: $(PAGE_READY)

vsix: $(VSIX)

editor: $(RUNTIME_READY) $(VSIX)
	@$(OUTSIDE_MAKE) $(BIN)/python -m scripts.open_editor --program "$(abspath $(BIN)/portico)" --vsix $(VSIX) "$(DIR)"

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate_acp.py --check
	$(BIN)/python scripts/generate_ahp.py --check
	$(BIN)/python scripts/generate_proto.py --check
	cd $(WEB) && npx prettier --check --cache --log-level warn . && npx eslint --cache . && npx tsc
	cd $(WEB) && node scripts/check-names.mjs src ../$(EDITOR)/src
	cd $(WEB) && node scripts/check-size.mjs
	cd $(EDITOR) && npx prettier --check --cache --log-level warn . && npx eslint --cache . && npx tsc
	$(BIN)/python scripts/check_names.py
	$(BIN)/python -m scripts.draw_architecture --check
	$(BIN)/python -m scripts.write_reference --check
	$(BIN)/python scripts/check_docs.py

# The checks and the tests of the pages run in parallel, each printing its output at its end.
test: setup
	@$(MAKE) --no-print-directory --jobs=2 $(OUTPUT_SYNC) check page-tests
	$(OUTSIDE_MAKE) $(BIN)/pytest -n $(WORKERS) --dist worksteal --durations=20

# On two cores vitest would use only one by default.
page-tests: setup
	cd $(WEB) && npx vitest run --maxWorkers=100%
	cd $(EDITOR) && npx vitest run --maxWorkers=100%

# docs/architecture.md and its picture, made from the code and the trace of a real turn.
architecture: setup
	$(OUTSIDE_MAKE) $(BIN)/python -m scripts.draw_architecture

bench: setup
	$(OUTSIDE_MAKE) $(BIN)/python -m bench $(BENCH)

dist: $(DEV_READY) $(PAGE_READY)
	rm -rf dist
	$(BIN)/python -m hatchling build

fmt: $(DEV_READY) $(WEB_READY) $(EDITOR_READY)
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	cd $(WEB) && npx prettier --write --log-level warn .
	cd $(EDITOR) && npx prettier --write --log-level warn .

clean:
	rm -rf $(VENV) $(PEERS)/node_modules $(WEB)/node_modules $(EDITOR)/node_modules $(EDITOR)/dist $(PAGE) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis \
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
	@$(BIN)/python -m pip install --quiet --editable '.[models,offline]'
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

$(WEB_READY): $(WEB)/package.json $(WEB)/package-lock.json
	@command -v npm >/dev/null || { \
		echo "The chat page is built with Node 20 or newer and npm; install them first." \
			"The terminal needs neither: $(BIN)/portico chat" >&2; exit 1; }
	@npm ci --prefix $(WEB) --no-audit --no-fund --ignore-scripts --no-update-notifier --loglevel=error
	@touch $@

$(PAGE_READY): $(WEB_READY) $(WEB)/build.mjs $(shell find $(WEB)/src -type f)
	@cd $(WEB) && node build.mjs
	@touch $@

$(EDITOR_READY): $(EDITOR)/package.json $(EDITOR)/package-lock.json
	@npm ci --prefix $(EDITOR) --no-audit --no-fund --ignore-scripts --no-update-notifier --loglevel=error
	@touch $@

$(VSIX): $(DEV_READY) $(EDITOR_READY) $(PAGE_READY) $(EDITOR)/build.mjs $(EDITOR)/README.md $(EDITOR)/package.json $(shell find $(EDITOR)/src $(EDITOR)/media -type f)
	@rm -rf dist && $(BIN)/python -m hatchling build --target wheel > /dev/null
	@cd $(EDITOR) && node build.mjs && npx vsce package --no-dependencies --allow-missing-repository --readme-path dist/README.md --no-rewrite-relative-links --out dist/portico.vsix

$(VSCODE_READY): $(DEV_READY) scripts/find_vscode.py
	@$(BIN)/python scripts/find_vscode.py --install > /dev/null
	@touch $@

$(BROWSER_READY): $(DEV_READY) scripts/find_browser.py
	@$(BIN)/python scripts/find_browser.py --install > /dev/null
	@touch $@

$(GOLDENS_READY): $(DEV_READY) scripts/fetch_goldens.py
	@$(BIN)/python scripts/fetch_goldens.py
	@touch $@

$(OFFLINE_READY): $(DEV_READY) scripts/fetch_offline_model.py
	@$(BIN)/python scripts/fetch_offline_model.py
	@touch $@

$(SERVERS_READY): $(DEV_READY) scripts/fetch_language_servers.py src/portico/editors/language_servers/catalog.py
	@$(BIN)/python -m scripts.fetch_language_servers
	@touch $@

# `make bench NAME …` measures only these: the words after it are names of measurements, not targets.
ifeq (bench,$(firstword $(MAKECMDGOALS)))
BENCH := $(filter-out bench,$(MAKECMDGOALS))
ifneq (,$(BENCH))
.PHONY: $(BENCH)
$(eval $(BENCH):;@:)
endif
endif
