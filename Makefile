# make demo    see it work: photographs and pages are indexed, questions asked, answers printed with their sources
# make test    every test (installs torch, for the production engines on tiny models)
# make test-fast  every test that needs no torch
# make test-vllm  the VLM reasoner and the adapters against a real vLLM on the CPU
# make test-real-models  the platform beside the same model alone, on a real llama.cpp (GGUF="a.gguf b.gguf" FILE=squad.json)
# make test-llama  a tiny model that sees photos, on a real llama.cpp
# make bench  overhead, overload, profile: writes docs/benchmarks (BENCH="--only overhead peers")
# make bench-gpu  each production engine at real size, on a GPU
# make load    simulated users against two platforms: reports in var/load (LOAD="--platform node")
# make attack  generated and hostile requests against a platform of its own, and a table (ATTACK="--only generated --seed 3")
# make containers-check  builds the images, runs them with podman, asks, kills, recovers, takes down
# make screenshots  pictures of the wearer's page, by a browser that asks aloud, and the figures it measured
# make serve   leave the platform running (loreglass ask PHOTO "QUESTION"); MODEL=URL: with that model server
# make eval-squad  questions about real prose through the platform (FILE=squad.json SQUAD="--limit 300 --seed 1")
# make train-tiny  every step of training, on the sample with tiny models: data, SFT, GRPO, serving, reports
# make audit   published advisories against the locked Python packages (pip-audit asks OSV)
# make reference  the pages of API, settings and command in docs/reference, from the code
# make docs    the documentation as a searchable site in var/site; links are checked
# make chart   the Helm chart, complete, in var/chart (wants kubectl; then: helm package var/chart)
# make check   format, lint, types, architecture, contracts

# The newest that runs and can make an environment.
_FITS := import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))
PYTHON ?= $(shell for each in python3.13 python3.12 python3.11 python3; do \
	$$each -c '$(_FITS)' 2>/dev/null && echo $$each && break; done)
VENV := .venv
BIN := $(VENV)/bin
# uv installs in seconds where it is there (UV= turns it off); it reads its own settings, not pip's.
UV ?= $(shell command -v uv 2>/dev/null)
# What is downloaded is what was locked, byte for byte: each file's hash is checked. Each target has a list of its own,
# for `make -j` makes several at once.
INSTALL = $(if $(UV),$(UV) pip install --python $(BIN)/python,$(BIN)/python -m pip install --disable-pip-version-check --no-compile)
define hashed
	$(BIN)/python requirements/hashed.py $(patsubst %,requirements/%.txt,$(1)) > $(VENV)/$(@F).txt
	$(INSTALL) --no-deps --require-hashes -r $(VENV)/$(@F).txt
endef
# A model server for make serve, and which of its models (its key: LOREGLASS_MODEL_KEY)
MODEL ?=
MODEL_NAME ?=
# A file of SQuAD 1.1 or 2.0, and for example: --all, or --articles "A,B" --photo street.jpg
FILE ?=
SQUAD ?=
# A process of tests for each core; a file of tests stays in one, so that what it starts is started once.
WORKERS ?= --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
# Model files for make test-real-models (none: SmolLM2 135M), and for example: --limit 100 --unanswerable 40 --pipelines loreglass
GGUF ?=
REAL ?=
# For example: --index-url https://download.pytorch.org/whl/cpu
TORCH_FROM ?=
# For example: --quick, or --only overhead peers
BENCH ?=
# For example: --platform node --seconds 60
LOAD ?=
# For example: --only generated --seconds 60 --seed 3
ATTACK ?=

# Services work side by side; BLAS threads of their own only get in each other's way.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# What a process compiles is kept for the next one, of which tests start hundreds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: attack audit demo serve test test-fast test-vllm test-llama test-real-models bench bench-gpu load containers-check containers-needs screenshots eval-squad train-tiny chart check docs format lock publish-contracts openapi reference

demo: $(VENV)/.photographs
	$(BIN)/loreglass demo

serve: $(VENV)/.pocket
	$(if $(MODEL),LOREGLASS_MODEL="$(MODEL)" LOREGLASS_MODEL_NAME="$(MODEL_NAME)") $(BIN)/python -m deploy.one_process

test: $(VENV)/.training
	$(BIN)/python -m pytest $(WORKERS)

test-fast: $(VENV)/.dev
	$(BIN)/python -m pytest $(WORKERS) --ignore tests/models --ignore tests/training

test-vllm: $(VENV)/.training
	$(BIN)/python -m tests.vllm

test-real-models: $(VENV)/.dev
	$(BIN)/python -m tests.real_models $(GGUF) $(if $(FILE),--file "$(FILE)") $(REAL)

test-llama: $(VENV)/.dev
	$(BIN)/python -m tests.real_models.tiny_that_sees

bench: $(VENV)/.dev
	$(BIN)/python -m bench $(BENCH)

bench-gpu: $(VENV)/.models
	$(BIN)/python -m bench.gpu

load: $(VENV)/.dev
	$(BIN)/python -m bench.load $(LOAD)

attack: $(VENV)/.dev
	$(BIN)/python -m tests.attacks $(ATTACK)

screenshots: $(VENV)/.dev
	$(BIN)/python -m tests.page.screenshots
	$(BIN)/python -m tests.page.moving_picture
	$(BIN)/python -m tests.page.operator_screenshot

# In an environment of its own, so that it changes no locked version.
AUDIT = $(VENV)/audit/bin/pip-audit --vulnerability-service osv --disable-pip
audit:
	test -x $(VENV)/audit/bin/pip-audit || { $(PYTHON) -m venv $(VENV)/audit && $(VENV)/audit/bin/pip install --quiet pip-audit; }
	$(AUDIT) --require-hashes --requirement requirements/hashes.txt

containers-check: containers-needs $(VENV)/.dev
	$(BIN)/python -m tests.containers

# First, so that nobody waits for an install only to hear what is missing.
containers-needs:
	$(PYTHON) -m tests.containers.needs

eval-squad: $(VENV)/.measure
	$(BIN)/python -m deploy.evaluate_squad "$(FILE)" $(SQUAD)

train-tiny: $(VENV)/.training
	$(BIN)/python -m tests.training.loop

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

chart:
	k8s/helm/package.sh var/chart

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
$(VENV)/.pocket: requirements/pocket.txt requirements/hashes.txt pyproject.toml
	$(if $(PYTHON),,$(error Python 3.11, 3.12 or 3.13 with its venv module is needed (PYTHON=path names another place)))
	test -x $(BIN)/python || $(if $(UV),$(UV) venv --quiet --seed --allow-existing --python $(PYTHON),$(PYTHON) -m venv) $(VENV)
	$(call hashed,pocket)
	$(INSTALL) --quiet --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/.photographs: $(VENV)/.pocket requirements/photographs.txt
	$(call hashed,photographs)
	touch $@

$(VENV)/.measure: $(VENV)/.pocket requirements/measure.txt
	$(call hashed,measure)
	touch $@

$(VENV)/.docs: $(VENV)/.pocket requirements/docs.txt
	$(call hashed,docs)
	touch $@

$(VENV)/.dev: $(VENV)/.photographs requirements/dev.txt
	$(call hashed,dev)
	touch $@

# torch with its own dependencies, by pip: which they are depends on the build (CUDA or CPU) that pip's index has.
# PyPI's files of torch itself must be the locked ones.
TORCH := $(shell cat requirements/torch.txt)
$(VENV)/.models: $(VENV)/.dev requirements/models.txt requirements/torch.txt
	$(BIN)/python -m pip install --disable-pip-version-check --no-compile -c constraints.txt --report $(VENV)/torch.json $(TORCH) $(TORCH_FROM)
	$(BIN)/python -S requirements/torch_files.py $(VENV)/torch.json
	$(call hashed,models)
	touch $@

$(VENV)/.training: $(VENV)/.models requirements/training.txt
	$(call hashed,training)
	touch $@

# Resolve again: the only place where versions move. One lock for every Python and machine; markers say what differs.
COMPILE = $(BIN)/uv pip compile pyproject.toml --universal --fork-strategy fewest --python-version 3.11 --no-header --no-annotate --no-emit-package loreglass
lock: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet uv
	$(COMPILE) --extra pocket -o requirements/pocket.txt requirements/build.in
	$(COMPILE) --extra measure -c requirements/pocket.txt -o requirements/measure.txt
	$(COMPILE) --extra measure --extra mcp --extra weights --extra qdrant-server --extra ray --group dev -c requirements/pocket.txt -o requirements/dev.txt
	$(COMPILE) --group docs -c requirements/dev.txt -o requirements/docs.txt
	$(COMPILE) --extra models --group test-models -c requirements/dev.txt | grep -vE '^(torch|triton|cuda-[a-z]+|nvidia-[a-z0-9-]+)==' > requirements/models.txt
	$(COMPILE) --extra training -c requirements/dev.txt -c requirements/models.txt | grep -vE '^(torch|triton|cuda-[a-z]+|nvidia-[a-z0-9-]+)==' > requirements/training.txt
	$(COMPILE) --extra ray-cluster -c requirements/dev.txt -o requirements/ray.txt
	$(COMPILE) --extra crag-mm -c requirements/dev.txt -c requirements/models.txt | grep -vE '^(torch|triton|cuda-[a-z]+|nvidia-[a-z0-9-]+)==' > requirements/crag-mm.txt
	cat requirements/pocket.txt requirements/photographs.txt requirements/measure.txt requirements/dev.txt requirements/docs.txt requirements/models.txt requirements/training.txt requirements/ray.txt requirements/crag-mm.txt | grep -v '^#' | LC_ALL=C sort -u > constraints.txt
	cat constraints.txt requirements/torch.txt | $(BIN)/uv pip compile - --no-deps --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet | sed -e ':next' -e '/\\$$/ { N; s/ *\\\n */ /; b next' -e '}' > requirements/hashes.txt
	PATH=$(BIN):$$PATH requirements/lock_images.sh

openapi: $(VENV)/.dev
	$(BIN)/python -m deploy.openapi

reference: $(VENV)/.dev
	$(BIN)/python -m deploy.reference

publish-contracts: $(VENV)/.dev
	cd proto && ../$(BIN)/buf build --exclude-source-info -o '-#format=json' | ../$(BIN)/python -m json.tool --indent 1 - published.json
