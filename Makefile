# make run: the main job. make test: all tests. make test-gpu: those that need a GPU, and the main job on it.
# make torture: faults, kills and hostile inputs for MINUTES=10. make lint: style and types.
# make docs: the documentation, in site/. make demo: the page, at http://127.0.0.1:8000.
# Each installs what it needs, once; where nothing can be installed, NO_INSTALL=1 makes run, demo, test, test-gpu and
# torture use the packages that PYTHON already has. HASHED=1 installs nothing but torch without checking its hash.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
DATA ?=
MINUTES ?= 10
SEED ?= 1
ifdef NO_INSTALL
RUN := PYTHONPATH=src $(PYTHON) -m
else
RUN := $(BIN)/python -m
# Tests of one file stay together, for they share what is expensive to make.
IN_PARALLEL := -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev
INSTALLED_SERVE := $(VENV)/.installed-serve
endif

.PHONY: run demo docs test test-gpu torture lint format clean

run: $(INSTALLED)
	$(RUN) veriscene quickstart $(if $(DATA),--data "$(DATA)")

demo: $(INSTALLED_SERVE)
	$(RUN) veriscene serve best best-pixels biatt-pointer

docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

test: $(INSTALLED_DEV)
	$(RUN) pytest $(IN_PARALLEL)

# Only files with such tests are imported: others may need packages that NO_INSTALL=1 does not find.
test-gpu: $(INSTALLED_DEV)
	$(RUN:-m=-c) 'import torch, sys; sys.exit(None if torch.cuda.is_available() else "no GPU: torch.cuda.is_available() is False")'
	$(RUN) pytest -m gpu $$(grep -rl 'mark\.gpu' tests --include='test_*.py')
	$(RUN) veriscene quickstart --out "$$(mktemp -d)/run"

torture: $(INSTALLED_DEV)
	$(RUN:-m=) benchmarks/torture --minutes $(MINUTES) --seed $(SEED)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix src tests benchmarks
	$(BIN)/ruff format src tests benchmarks

clean:
	rm -rf $(VENV) site .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("veriscene needs Python 3.11 or newer; name one with PYTHON=..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

# torch goes first and alone: a release that is already there satisfies everything that asks for torch later.
$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) torch
	$(PIP) --editable '.[train]'
	touch $@

# The page needs no torch.
$(VENV)/.installed-serve: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[serve]'
	touch $@

ifdef HASHED
$(VENV)/.installed-dev: requirements-ci.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps --requirement requirements-ci.txt
	$(PIP) torch
	$(PIP) --no-deps --editable .
	touch $@
else
$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) --editable '.[dev]'
	touch $@
endif
