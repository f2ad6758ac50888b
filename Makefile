# Two commands for a fresh machine with Python and make: `make run` and `make test`.

VENV := .venv
BIN := $(VENV)/bin
# The first Python on the path that is new enough; `make PYTHON=/path/to/python` chooses another.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
TORCH := torch==2.13.0
# CPU builds of PyTorch: without this, pip brings gigabytes of CUDA on Linux.
TORCH_INDEX := https://download.pytorch.org/whl/cpu
PIP := $(BIN)/python -m pip --disable-pip-version-check
CODE := bot handlers memory tests benchmarks
WORKERS ?= auto
# A file of LoCoMo's shape (benchmarks/chats.py) and where the benchmarks leave what they measure.
LOCOMO ?=
ENCODERS ?= bundled minilm
RESULTS := build/bench
PEERS := .venv-peers

LOCK := --universal --no-sources --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	--no-annotate --override $(VENV)/without-torch

.PHONY: run test lint format lock bench bench-peers clean
.DEFAULT_GOAL := run

## Start the bot: in Telegram where a token is configured, else in the console.
run: $(VENV)/run.stamp
	@$(BIN)/mnemogram run

## Run all tests.
test: $(VENV)/dev.stamp
	@echo "==> Testing"
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(PYTEST)

## Check format, style, types, the Dockerfile and compose.yaml.
lint: $(VENV)/dev.stamp
	@echo "==> Checking format, style and types"
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy $(CODE)
	@echo "==> Checking Dockerfile and compose.yaml"
	@$(BIN)/hadolint Dockerfile
	@$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec compose.yaml

format: $(VENV)/dev.stamp
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

## Pin every dependency anew. PyTorch is left out: each platform installs its own CPU build of it first.
lock: $(VENV)/dev.stamp
	@$(PIP) install --quiet uv
	@printf 'torch ; python_version < "3"\n' > $(VENV)/without-torch
	@printf 'filelock\nfsspec\njinja2\nnetworkx\nsetuptools>=80\nsympy\ntyping-extensions\n' > $(VENV)/torch-needs.in
	@$(BIN)/uv pip compile --quiet $(LOCK) pyproject.toml $(VENV)/torch-needs.in -o requirements.lock
	@$(BIN)/uv pip compile --quiet $(LOCK) -c requirements.lock --group dev \
		pyproject.toml $(VENV)/torch-needs.in -o requirements-dev.lock

## Measure recall, latency and ingest; `make bench LOCOMO=path` measures on that file, too.
bench: $(VENV)/dev.stamp
	@echo "==> The project's own set (1 of 4)"
	@$(BIN)/python -m benchmarks.own --out $(RESULTS)
	@echo "==> Latency (2 of 4)"
	@$(BIN)/python -m benchmarks.latency --quick --out $(RESULTS)
	@echo "==> Ingest (3 of 4)"
	@$(BIN)/python -m benchmarks.ingest --out $(RESULTS)
	@echo "==> LoCoMo (4 of 4)$(if $(LOCOMO),,: left out without LOCOMO=path)"
	@$(foreach encoder,$(if $(LOCOMO),$(ENCODERS)),$(BIN)/python -m benchmarks.locomo --data $(LOCOMO) \
		--encoder $(encoder) --out $(RESULTS) &&) true
	@$(BIN)/python -m benchmarks.report --out $(RESULTS) $(if $(LOCOMO),--data $(LOCOMO))

## Put other memory layers beside it: `make bench-peers LOCOMO=path`.
bench-peers: $(if $(LOCOMO),$(VENV)/dev.stamp $(PEERS)/stamp)
	@test -n "$(LOCOMO)" || { echo "Name the file of chats: make bench-peers LOCOMO=path" >&2; exit 1; }
	@$(BIN)/python -m benchmarks.peers --data $(LOCOMO) --together --python $(PEERS)/bin/python --out $(RESULTS)/peers
	@$(BIN)/python -m benchmarks.report --out $(RESULTS) --data $(LOCOMO)

clean:
	@rm -rf $(VENV) $(PEERS) build .mypy_cache .ruff_cache .pytest_cache

$(VENV)/python.stamp:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; install it, or run make PYTHON=/path/to/python." >&2; exit 1; }
	@echo "==> Making a virtual environment in $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV) || { echo "Python's venv module is missing; install it (on Debian: apt install python3-venv)." >&2; exit 1; }
	@echo "==> Installing PyTorch, the build for CPUs (1 of 3, about 200 MB)"
	@$(PIP) install --retries 1 --no-deps --extra-index-url $(TORCH_INDEX) $(TORCH)
	@touch $@

$(VENV)/run.stamp: requirements.lock pyproject.toml $(VENV)/python.stamp
	@echo "==> Installing the libraries at their locked versions (2 of 3, about 400 MB)"
	@$(PIP) install --require-hashes -r requirements.lock
	@echo "==> Installing Mnemogram (3 of 3)"
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev.stamp: requirements-dev.lock $(VENV)/run.stamp
	@echo "==> Installing what the tests and checks need"
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@touch $@

$(PEERS)/stamp: benchmarks/peers/requirements.txt $(VENV)/python.stamp
	@echo "==> Installing the peers in $(PEERS) (about 1 GB)"
	@$(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip --disable-pip-version-check install -r benchmarks/peers/requirements.txt
	@touch $@
