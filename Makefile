# make demo    see it work: sample index, platform, questions, a table
# make test    every test
# make serve   leave the platform running (loreglass ask PHOTO "QUESTION")
# make eval    a split of the synthetic world through the platform (SPLIT=dev|test)
# make check   format, lint, types, architecture, contracts

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
SPLIT ?= dev

# Services work side by side; BLAS threads of their own only get in each other's way.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo serve test eval check format lock publish-contracts openapi

demo: $(VENV)/.pocket
	$(BIN)/python -m deploy.demo

serve: $(VENV)/.pocket
	$(BIN)/python -m deploy.one_process

test: $(VENV)/.dev
	$(BIN)/python -m pytest

eval: $(VENV)/.pocket
	$(BIN)/python -m deploy.evaluate --split $(SPLIT)

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	cd proto && ../$(BIN)/buf lint && ../$(BIN)/buf format -d --exit-code && ../$(BIN)/buf breaking --against published.json

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Locked, complete and without resolution: what is installed is what is written.
$(VENV)/.pocket: requirements/pocket.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --no-compile --no-deps -r requirements/pocket.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/.dev: $(VENV)/.pocket requirements/dev.txt
	$(BIN)/python -m pip install --disable-pip-version-check --no-compile --no-deps -r requirements/dev.txt
	touch $@

# Resolve again: the only place where versions move.
lock: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra pocket --python-version 3.11 --no-header --no-annotate --no-emit-package loreglass -o requirements/pocket.txt requirements/build.in
	$(BIN)/uv pip compile pyproject.toml --extra pocket --extra qdrant-server --group dev --python-version 3.11 --no-header --no-annotate -c requirements/pocket.txt -o requirements/dev.txt
	cat requirements/pocket.txt requirements/dev.txt | sort -u > constraints.txt

openapi: $(VENV)/.dev
	$(BIN)/python -m deploy.openapi

publish-contracts: $(VENV)/.dev
	cd proto && ../$(BIN)/buf build --exclude-source-info -o '-#format=json' | ../$(BIN)/python -m json.tool --indent 1 - published.json
