# make help lists what can be made. Everything runs inside .venv, which the first target sets up.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/pip --disable-pip-version-check --quiet --no-input

ifneq ($(wildcard ../shared/corpora),)
export STREAM_BAYES_CORPORA ?= $(abspath ../shared/corpora)
endif

.PHONY: help run test lint types tests bench kafka clean

help: ## list the targets
	@sed -nE 's/^([a-z]+):.*## (.*)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

run: $(STAMP) ## set up, then run the demo
	@$(BIN)/stream-bayes demo

# One after the other also under make -j: mypy and the tests each want all of a small machine.
test: $(STAMP) ## set up, then everything CI checks: lint, types, tests
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory types
	@$(MAKE) --no-print-directory tests

lint: $(STAMP) ## style, formatting and the direction of imports
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet || { echo "Run $(BIN)/ruff format"; exit 1; }
	@report=$$($(BIN)/lint-imports 2>&1) || { echo "$$report"; exit 1; }
	@echo "lint: clean"

types: $(STAMP) ## mypy, strict
	@$(BIN)/mypy

tests: $(STAMP) ## the whole test suite
	@$(BIN)/python -m pytest -q --durations=10

bench: $(STAMP) ## measure speed
	@$(BIN)/python -m benchmarks

kafka: $(STAMP) ## a Kafka broker on 127.0.0.1:9092 until Ctrl-C (needs Java and Maven)
	@$(BIN)/python -m tests.broker

clean: ## remove .venv and every cache in the tree
	@rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The pins are complete, so pip need not resolve (--no-deps); the check proves that they are.
$(STAMP): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "stream_bayes needs Python 3.11 or newer as $(PYTHON); name another: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Setting up $(VENV) (the first time this may take a few minutes) ..."
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	    echo "$(PYTHON) cannot make a virtual environment; on Debian, as root: apt-get install python3-venv"; exit 1; }
	@$(PIP) install --no-deps --requirement requirements.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@$(PIP) check
	@touch $@
