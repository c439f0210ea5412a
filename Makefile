# One command per question. Everything happens in .venv; nothing else on the machine is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_STAMP := $(VENV)/.installed-run
DEV_STAMP := $(VENV)/.installed-dev
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock

.PHONY: run test test-all check ui bench schemas format clean help

help:  ## What there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -e 's/:.*##/\t/' | expand -t 12

run: $(RUN_STAMP)  ## Make the demos, take them through the whole graph, say what was found
	@$(BIN)/hpcopt demo
	@test -f data/placement/model.onnx || $(BIN)/hpcopt placement run --demo
	@$(BIN)/hpcopt run demo

test: $(DEV_STAMP)  ## The fast tests
	$(BIN)/python -m pytest --numprocesses auto -m "not slow and not browser"

test-all: $(DEV_STAMP)  ## All tests, slow and browser ones too
	$(BIN)/python -m pytest --numprocesses auto

check: $(DEV_STAMP)  ## Format, lint, types, laws
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q hpcopt_assets_tests/laws

format: $(DEV_STAMP)  ## Put the source in order
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

ui: $(RUN_STAMP)  ## Dagster's UI on http://127.0.0.1:3000
	DAGSTER_HOME="$$($(BIN)/python -m hpcopt_assets.orchestration.instance)" $(BIN)/dagster dev --host 127.0.0.1 --port 3000 --workspace workspace.yaml

bench: $(DEV_STAMP)  ## Measure ingest, forecasts and engine; writes bench.json
	$(BIN)/python -m hpcopt_assets_tests.bench

schemas: $(RUN_STAMP)  ## Write schemas/ from the contracts
	@$(BIN)/hpcopt schemas --out schemas

clean:  ## Remove the environment and everything the graph made (not data/raw)
	rm -rf $(VENV) .dagster data/store data/dossiers data/profiles data/forecasts data/stress data/placement data/hpcopt.duckdb

$(BIN)/pip:
	$(PYTHON) -m venv $(VENV)

$(RUN_STAMP): $(BIN)/pip pyproject.toml requirements.lock
	@echo "Installing into $(VENV) (a minute or two, once) ..."
	@$(INSTALL) --editable .
	@touch $@

$(DEV_STAMP): $(RUN_STAMP)
	@echo "Installing what tests and checks need ..."
	@$(INSTALL) --editable '.[dev]'
	@touch $@
