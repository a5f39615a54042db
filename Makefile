# make help lists what can be made. Everything runs inside .venv, which the first target sets up.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PROGRAMS := $(VENV)/.programs
BROWSER := $(VENV)/.browser
PIP := $(BIN)/pip --disable-pip-version-check --quiet --no-input
UV := $(BIN)/uv pip install --python $(BIN)/python --quiet --no-deps
# One process more than cores: many tests wait for processes they started. A file of tests stays in one process.
WORKERS := $(shell echo $$(( $$(nproc 2> /dev/null || echo 2) + 1 )))
IN_PARALLEL := --numprocesses=$(WORKERS) --maxprocesses=8 --dist=loadscope --no-loadscope-reorder
PYTEST := $(BIN)/python -m pytest -q $(IN_PARALLEL)

# Containers often set it: every process would then compile all modules that it imports, and all tests.
unexport PYTHONDONTWRITEBYTECODE

ifneq ($(wildcard ../shared/corpora),)
export STREAM_BAYES_CORPORA ?= $(abspath ../shared/corpora)
endif

.PHONY: help run test test-fast test-long coverage lint types kernels tests docs wheel release release-check bench chaos soak kafka clean

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

run: $(STAMP) ## set up, then run the demo
	@$(BIN)/stream-bayes demo

# mypy takes one core, so kernels are compiled beside it; the tests want all of a small machine.
test: ## set up, then everything CI checks except building the release: lint, types, tests
	@$(MAKE) --no-print-directory -j2 $(STAMP) $(PROGRAMS)
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory -j2 types kernels
	@$(MAKE) --no-print-directory tests

test-fast: $(STAMP) ## quick unit tests and the examples in docstrings: no broker, no browser
	@$(PYTEST) -m "not long and not slow and not broker and not browser" tests/unit stream_bayes README.md

test-long: $(STAMP) $(PROGRAMS) $(BROWSER) ## what make test leaves out: more settings, seeds and events; chaos; soak
	@$(PYTEST) -m long
	@$(MAKE) --no-print-directory chaos
	@$(MAKE) --no-print-directory soak

# Processes that are killed leave no data, so these figures are lower bounds. Kernels run as Python once, to be seen.
coverage: $(STAMP) $(PROGRAMS) $(BROWSER) ## branch coverage of the tests; fails under 95 % of lines outside demo/
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -q $(IN_PARALLEL) -m "not long" || true
	@# Coverage does not see compiled lines. Without numba some of these tests fail: its integers wrap around.
	@NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -q $(IN_PARALLEL) tests/unit/kernels tests/unit/mail/features || true
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

lint: $(STAMP) ## style, formatting and the direction of imports
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet || { echo "Run $(BIN)/ruff format"; exit 1; }
	@report=$$($(BIN)/lint-imports 2>&1) || { echo "$$report"; exit 1; }
	@echo "lint: clean"

types: $(STAMP) ## mypy, strict
	@$(BIN)/mypy

# Collecting the tests once caches their compiled modules: each of the processes that share them would compile them all.
kernels: $(STAMP) ## compile the kernels of all learners, which are cached, and the tests
	@$(BIN)/python -m tests.support.compile_kernels
	@$(BIN)/python -m pytest --collect-only -qq > /dev/null || true

# The processes that share the tests have one thread of BLAS each: more would wait for each other, three times as long.
tests test-fast test-long coverage: export OMP_NUM_THREADS := 1

tests: $(STAMP) $(PROGRAMS) $(BROWSER) ## all tests but the long ones
	@$(PYTEST) -m "not long" --durations=10

# Not --quiet: it would hide the warnings from --strict.
docs: $(STAMP) ## build the documentation into site/, warnings are errors
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict 2>&1 | sed -n "/WARNING\|ERROR\|built in/p"

wheel: $(STAMP) ## build the wheel and the source distribution into dist/
	@$(BIN)/hatchling build

release: $(STAMP) ## build both into dist/, check them, and run the demo from the wheel; uploads nothing
	@$(BIN)/python -m tests.release

release-check: $(STAMP) ## the same while the changelog has unreleased changes, as CI does
	@$(BIN)/python -m tests.release --unreleased

bench: $(STAMP) $(PROGRAMS) ## measure speed, and the mail filter against others
	@$(BIN)/python -m benchmarks

chaos: $(STAMP) ## kill workers, and a Kafka broker, 170 times: nothing lost, nothing counted twice (about 15 minutes)
	@$(BIN)/python -m tests.chaos
	@$(BIN)/python -m tests.chaos --log kafka

soak: $(STAMP) ## a million mangled records, then two million events: memory must stay flat (about 5 minutes)
	@$(BIN)/python -m tests.soak.fuzz_events
	@$(BIN)/python -m tests.soak

kafka: $(STAMP) ## a Kafka broker on 127.0.0.1:9092, or PORT=..., until Ctrl-C (needs Java and Maven)
	@$(BIN)/python -m tests.support.broker $(PORT)

clean: ## remove .venv and every cache in the tree
	@rm -rf $(VENV) build dist site .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Programs of other people that tests use, which only the system's installer has: mail filters to compare with, a reader
# of docker-compose.yml, a browser. Where one is missing its tests are skipped.
$(PROGRAMS):
	@mkdir -p $(VENV)
	@missing=; \
	need() { command -v "$$1" > /dev/null || missing="$$missing $$2"; }; \
	need bogofilter bogofilter; \
	need crm crm114; \
	docker compose version > /dev/null 2>&1 || need docker-compose docker-compose; \
	command -v google-chrome > /dev/null || need chromium chromium; \
	if [ -z "$$missing" ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    echo "Installing$$missing to test with ..."; \
	    apt-get update -qq > /dev/null 2>&1 || true; \
	    install() { DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "$$@" > /dev/null 2>&1; }; \
	    install $$missing || for name in $$missing; do \
	        install "$$name" || echo "$$name could not be installed: its tests are skipped"; done; \
	else echo "Tests that need them are skipped; install as root:$$missing"; fi
	@touch $@

# A browser for people who may not install programs.
$(BROWSER): $(STAMP) $(PROGRAMS)
	@if command -v chromium > /dev/null || command -v google-chrome > /dev/null; then :; \
	else echo "Getting a browser to try the page with ..."; \
	    timeout 300 $(BIN)/playwright install chromium > /dev/null 2>&1 || echo "It cannot be had: install chromium or the page goes untried"; fi
	@touch $@

# The pins are complete, so nothing is resolved (--no-deps); the check proves that they are. uv installs them in a
# quarter of the time that pip takes. It does not read pip's settings: where it cannot get a package pip does.
$(STAMP): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "stream_bayes needs Python 3.11 or newer as $(PYTHON); name another: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Setting up $(VENV) (the first time this may take a few minutes) ..."
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	    echo "$(PYTHON) cannot make a virtual environment; on Debian, as root: apt-get install python3-venv"; exit 1; }
	@$(PIP) install --no-compile --no-deps "$$(grep ^uv== requirements.txt)"
	@install() { $(UV) "$$@" || $(PIP) install --no-compile --no-deps "$$@"; }; \
	install --requirement requirements.txt; install --no-build-isolation --editable .
	@$(BIN)/uv pip check --quiet --python $(BIN)/python
	@touch $@
