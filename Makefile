# The two commands that matter: `make demo` and `make test`. Both set everything up themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test frameworks lint unit docs schemas image-check lock bench clean

demo: $(VENV)/run.stamp $(VENV)/agents.stamp
	@$(BIN)/python -m examples.demo

test: $(VENV)/dev.stamp $(VENV)/frameworks.stamp
	@$(MAKE) --no-print-directory lint
	@$(BIN)/python -m pytest -n auto --dist worksteal

unit: $(VENV)/dev.stamp
	@$(BIN)/python -m pytest tests/unit -n auto --dist worksteal

lint: $(VENV)/dev.stamp
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m tools.workflow_lint

docs schemas: $(VENV)/dev.stamp
	@$(BIN)/python -m tools.reference --write

bench: $(VENV)/dev.stamp
	@$(BIN)/python -m benchmarks

image-check: $(VENV)/dev.stamp
	@$(BIN)/python -m tools.image.check

lock: $(VENV)/dev.stamp
	@sh tools/lock.sh $(BIN)/uv

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Gateval needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: requirements/run.lock requirements/build.lock pyproject.toml | $(VENV)/bin/python
	@echo "Setting up $(VENV) from requirements/run.lock ..."
	@$(PIP) --require-hashes -r requirements/run.lock
	@$(PIP) --require-hashes -r requirements/build.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q $(VENV)/lib src || true
	@touch $@

# What the agents of the examples need, apart from the gate: its own lock stays free of their SDKs.
$(VENV)/agents.stamp: requirements/agents.lock | $(VENV)/bin/python
	@echo "Setting up $(VENV)/agents from requirements/agents.lock ..."
	@$(PYTHON) -m venv $(VENV)/agents
	@$(VENV)/agents/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/agents.lock
	@$(VENV)/agents/bin/python -m compileall -q $(VENV)/agents/lib || true
	@touch $@

$(VENV)/dev.stamp: requirements/dev.lock pyproject.toml | $(VENV)/bin/python
	@echo "Setting up $(VENV) from requirements/dev.lock ..."
	@$(PIP) --require-hashes -r requirements/dev.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@ $(VENV)/run.stamp

# What the agents in examples/frameworks need, apart from what Gateval needs. It is large: uv keeps
# one copy for all clones on a machine.
frameworks: $(VENV)/frameworks.stamp

$(VENV)/frameworks.stamp: requirements/frameworks.lock $(VENV)/dev.stamp
	@echo "Setting up $(VENV)/frameworks from requirements/frameworks.lock ..."
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/frameworks
	@$(BIN)/uv pip install --quiet --python $(VENV)/frameworks/bin/python \
	  --require-hashes -r requirements/frameworks.lock
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
