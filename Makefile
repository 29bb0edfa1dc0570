# The two commands that matter: `make demo` and `make test`. Both set everything up themselves.
# `make` alone lists all of them: each line of a target says after ## what it does.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
TESTS ?= tests
SITE ?= build/site
# Most of the suite waits for processes and pauses, so there are two workers for each core.
WORKERS ?= $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))

# Compiled modules and tests are kept, whatever the shell says: compiling them takes most of the
# seconds before the first test.
export PYTHONDONTWRITEBYTECODE :=

# What failed beside others runs once more, alone, and is named: a test that a busy machine alone
# breaks is to be mended, but is no verdict on the change. The first that fails again ends it.
AGAIN := || { [ $$? = 1 ] && echo "Once more, alone:" && $(BIN)/python -m pytest --last-failed --last-failed-no-failures none --exitfirst --verbose; }

.PHONY: help demo test suite test-all test-frameworks unit lowest coverage mutations lint format docs schemas site pictures bench image-check lock frameworks clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/run.stamp $(VENV)/agents.stamp ## Run the gate on a sample pull request, without keys or network
	@$(BIN)/python -m examples.demo

# Fork bombs and full disks have the machine to themselves: they come last.
test: $(VENV)/dev.stamp ## Run what CI runs: lint and all tests
	@$(MAKE) --no-print-directory --jobs 3 lint suite
	@$(BIN)/python -m pytest -n 2 tests/hostile $(AGAIN)

suite: $(VENV)/dev.stamp $(VENV)/frameworks.stamp $(VENV)/site.stamp $(VENV)/collected.stamp ## Run all tests but the hostile ones
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --ignore tests/hostile $(AGAIN)

test-all: $(VENV)/dev.stamp $(VENV)/frameworks.stamp $(VENV)/site.stamp ## Run all tests, the whole of the large tables and properties too
	@$(BIN)/python -m pytest --hypothesis-profile whole -m "not frameworks" -n $(WORKERS) --dist worksteal --ignore tests/hostile
	@$(BIN)/python -m pytest -m "not frameworks" -n 2 tests/hostile

test-frameworks: $(VENV)/dev.stamp $(VENV)/frameworks.stamp ## Run the sample repositories in all frameworks; takes registries and minutes
	@$(BIN)/python -m pytest tests/frameworks -m "frameworks or not frameworks" --durations 0

unit: $(VENV)/dev.stamp ## Run the unit tests, the quick part of the suite
	@$(BIN)/python -m pytest tests/unit -n logical --dist worksteal

lowest: $(VENV)/lowest.stamp ## Run the unit tests on the lowest versions that pyproject.toml allows
	@$(VENV)/lowest/bin/python -m pytest tests/unit -n logical --dist worksteal

coverage: $(VENV)/dev.stamp $(VENV)/frameworks.stamp ## Count what the tests reach, child processes too; TESTS=tests/unit for a part
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest $(TESTS) -n $(WORKERS) --dist worksteal
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage html --quiet
	@$(BIN)/coverage report

mutations: $(VENV)/dev.stamp ## Hold the share of mutants that unit tests kill against the baseline
	@$(BIN)/python -m tools.mutations

lint: $(VENV)/dev.stamp ## Check format, style, types, import layers and workflows
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m tools.workflow_lint

format: $(VENV)/dev.stamp ## Format the code and mend what ruff can mend
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

schemas: docs
docs: $(VENV)/dev.stamp ## Write the generated pages and schemas anew
	@$(BIN)/python -m tools.reference --write

site: $(VENV)/site.stamp ## Build the documentation as a site with search, in build/site/html
	@$(BIN)/python -m tools.site $(VENV)/site/bin/zensical $(SITE)

pictures: $(VENV)/dev.stamp $(VENV)/agents.stamp ## Make the pictures of the docs anew, from the demo and the tutorial, and those of comments
	@GATEVAL_PICTURES=1 $(BIN)/python -m pytest -q -n 0 tests/e2e/test_demo.py tests/e2e/test_getting_started.py tests/integration/render/test_github_markdown.py

bench: $(VENV)/dev.stamp ## Measure what benchmarks/ promises
	@$(BIN)/python -m benchmarks

image-check: $(VENV)/dev.stamp ## Build the action's image and run the demo in it
	@$(BIN)/python -m tools.image.check

lock: $(VENV)/dev.stamp ## Write the lock files in requirements/ anew; LOCK=--upgrade for newer versions
	@$(BIN)/python -m tools.direct
	@sh tools/lock.sh "$(CURDIR)/$(BIN)/uv" $(LOCK)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Gateval needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: requirements/run.txt requirements/build.txt pyproject.toml | $(VENV)/bin/python
	@echo "Setting up $(VENV) from requirements/run.txt ..."
	@$(PIP) --require-hashes -r requirements/run.txt
	@$(PIP) --require-hashes -r requirements/build.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q $(VENV)/lib src || true
	@touch $@

# What the agents of the examples need, apart from the gate: its own lock stays free of their SDKs.
$(VENV)/agents.stamp: requirements/agents.txt | $(VENV)/bin/python
	@echo "Setting up $(VENV)/agents from requirements/agents.txt ..."
	@$(PYTHON) -m venv $(VENV)/agents
	@$(VENV)/agents/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/agents.txt
	@$(VENV)/agents/bin/python -m compileall -q $(VENV)/agents/lib || true
	@touch $@

# The generator of the site: nothing of it belongs to Gateval itself.
$(VENV)/site.stamp: requirements/site.txt | $(VENV)/bin/python
	@$(PYTHON) -m venv $(VENV)/site
	@$(VENV)/site/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/site.txt
	@touch $@

# uv is ten times faster than pip, which stays for mirrors that only its own settings name.
$(VENV)/dev.stamp: requirements/image.txt requirements/dev.txt pyproject.toml | $(VENV)/bin/python
	@echo "Setting up $(VENV) from requirements/dev.txt ..."
	@$(PIP) --require-hashes -r requirements/image.txt
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/dev.txt \
	  || $(PIP) --require-hashes -r requirements/dev.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@ $(VENV)/run.stamp

# Direct dependencies as old as pyproject.toml allows.
$(VENV)/lowest.stamp: requirements/lowest.lock requirements/build.txt pyproject.toml | $(VENV)/bin/python
	@echo "Setting up $(VENV)/lowest from requirements/lowest.lock ..."
	@$(BIN)/python -m venv --clear $(VENV)/lowest
	@$(VENV)/lowest/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/lowest.lock
	@$(VENV)/lowest/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.txt
	@$(VENV)/lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# What the agents in examples/frameworks need, apart from what Gateval needs. It is large: uv keeps
# one copy for all clones on a machine.
frameworks: $(VENV)/frameworks.stamp ## Set up what examples/frameworks need

VERCEL := examples/frameworks/vercel-ai
$(VENV)/frameworks.stamp: requirements/frameworks.txt $(VERCEL)/package-lock.json $(VENV)/dev.stamp
	@echo "Setting up $(VENV)/frameworks from requirements/frameworks.txt ..."
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/frameworks
	@$(BIN)/uv pip install --quiet --python $(VENV)/frameworks/bin/python \
	  --require-hashes -r requirements/frameworks.txt
	@mkdir $(VENV)/frameworks/vercel-ai
	@cp $(VERCEL)/package.json $(VERCEL)/package-lock.json $(VENV)/frameworks/vercel-ai
	@cd $(VENV)/frameworks/vercel-ai && PATH="$(CURDIR)/$(VENV)/frameworks/bin:$$PATH" \
	  npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@

# pytest compiles each test file anew, assertions and all; here once, where every worker would.
$(VENV)/collected.stamp: | $(VENV)/dev.stamp
	@$(BIN)/python -m pytest --collect-only -qq --ignore tests/hostile > /dev/null || true
	@touch $@

clean: ## Remove the virtual environments and all caches
	rm -rf $(VENV) .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
