# `make demo` and `make test` need python3 (3.11 or newer, with venv) and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A third of the tests wait rather than work: two cores are busy with three.
PYTEST_ARGS ?= -n 3 --dist worksteal
MINUTES ?= 60
SEED ?= 8
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test soak lint format bench docs clean

help:
	@echo 'make demo    make a scene and its mosaic in ./scenemosaic-demo'
	@echo 'make test    run the tests'
	@echo 'make soak    an hour of random kills beside work (MINUTES=10 SEED=8)'
	@echo 'make lint    ruff and mypy'
	@echo 'make bench   measure beside GDAL (BENCH_ARGS="--help" tells the options)'
	@echo 'make docs    build the pages of docs/ into build/docs'
	@echo 'make clean   remove what these made'

demo: $(VENV)/.product
	@$(BIN)/scenemosaic demo $(DEMO_ARGS)

test: $(VENV)/.test
	$(BIN)/python -m pytest $(PYTEST_ARGS)

soak: $(VENV)/.test
	$(BIN)/python -m tests.soak --minutes $(MINUTES) --seed $(SEED)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.test
	$(BIN)/python -m bench $(BENCH_ARGS)

docs: $(VENV)/.test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) build scenemosaic-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is newer than what it was made from, so an interrupted install starts again.
$(VENV)/.product: $(VENV)/.python pyproject.toml constraints.txt
	@echo 'Installing scenemosaic into $(VENV) (a minute or two, once) ...'
	@$(INSTALL) -e .
	@touch $@

$(VENV)/.test: $(VENV)/.python pyproject.toml constraints.txt
	@echo 'Installing scenemosaic and its test tools into $(VENV) (two or three minutes, once) ...'
	@$(INSTALL) -e '.[test]'
	@touch $(VENV)/.product $@

$(VENV)/.python:
	@command -v '$(PYTHON)' >/dev/null || { \
	  echo "'$(PYTHON)' is not on the PATH: install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; exit 1; }
	@'$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "scenemosaic needs Python 3.11 or newer, and $(PYTHON) is $$('$(PYTHON)' -V 2>&1): name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@'$(PYTHON)' -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments: install its venv module (Debian and Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
	@'$(PYTHON)' -m venv $(VENV)
	@touch $@
