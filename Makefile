# Everything runs inside .venv, which `make setup` builds from the lock files; `make` alone lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Spark's workers would otherwise take python3 from PATH, and its driver the machine's outward address.
export PYSPARK_PYTHON := $(CURDIR)/$(BIN)/python
export PYSPARK_DRIVER_PYTHON := $(CURDIR)/$(BIN)/python
export SPARK_LOCAL_IP := 127.0.0.1

# The first Python that runs (a pyenv shim may not), is new enough and can make an environment; PYTHON=... overrides it.
CANDIDATES := python3.13 python3.12 python3.11 python3
PROBE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
FIND_PYTHON = for p in $(CANDIDATES); do if $$p -c '$(PROBE)' 2>/dev/null; then command -v $$p; break; fi; done

WITH_JAVA = JAVA_HOME=$$(tools/ensure_java.sh) && export JAVA_HOME &&
PYTEST := $(BIN)/python -m pytest
ON_ALL_CORES := --numprocesses auto --dist worksteal

.PHONY: help
help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(STAMP)  ## build .venv from the lock files (quick when up to date)
	@:

# The build tools come first, so that pyspark and Slidewise are built with locked tools and not with the newest ones.
# pip does the work where there is no uv for the machine, or uv cannot reach the registry.
$(STAMP): requirements.lock requirements-build.lock pyproject.toml
	@if ! $(BIN)/python -c '$(PROBE)' 2>/dev/null; then \
	    python=$${PYTHON:-$$($(FIND_PYTHON))}; \
	    if [ -z "$$python" ]; then echo "Slidewise needs Python 3.11 or newer, with venv" >&2; exit 1; fi; \
	    "$$python" -m venv --clear $(VENV); \
	fi
	@pip="$(BIN)/python -m pip --disable-pip-version-check --quiet"; \
	uv="$(BIN)/uv --quiet"; \
	if ! $$pip install --require-hashes --only-binary uv -r requirements-build.lock; then \
	    awk '/^[^ \#]/ { keep = !/^uv==/ } keep' requirements-build.lock > $(VENV)/without-uv.lock; \
	    $$pip install --require-hashes -r $(VENV)/without-uv.lock; \
	fi; \
	install() { \
	    if ! $$uv pip install --python $(BIN)/python --no-build-isolation "$$@"; then \
	        echo "uv could not install: trying pip" >&2; \
	        $$pip install --no-build-isolation "$$@"; \
	    fi; \
	}; \
	install --require-hashes -r requirements.lock; \
	install --no-deps --editable .
	@touch $@

.PHONY: demo
demo: setup  ## see it work
	@$(WITH_JAVA) $(BIN)/slidewise demo

.PHONY: test
test: setup  ## the tests, without the slow ones
	@tools/ensure_redis.sh
	@$(WITH_JAVA) $(PYTEST) -m "not slow" $(ON_ALL_CORES) --durations 15 --durations-min 3

.PHONY: test-slow
test-slow: setup  ## drills and long runs
	@tools/ensure_redis.sh
	@$(WITH_JAVA) $(PYTEST) -m slow

.PHONY: check
check: verify test  ## everything CI runs

.PHONY: verify
verify: lint format types imports doctest  ## everything CI runs but the tests

.PHONY: lint
lint: setup  ## ruff's rules
	@$(BIN)/ruff check

.PHONY: format
format: setup  ## is the code formatted? (make fix does it)
	@$(BIN)/ruff format --check

.PHONY: fix
fix: setup  ## format the code and repair what ruff can
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

.PHONY: types
types: setup  ## mypy, strict
	@$(BIN)/mypy

.PHONY: imports
imports: setup  ## who may import whom
	@$(BIN)/lint-imports

.PHONY: doctest
doctest: setup  ## the examples in docstrings, README.md and docs/
	@$(WITH_JAVA) $(PYTEST) --doctest-modules --doctest-glob='*.md' src README.md docs

.PHONY: bench
bench: setup  ## the benchmarks
	@tools/ensure_redis.sh
	@$(WITH_JAVA) $(BIN)/python -m bench

LOCK = $(BIN)/uv --quiet pip compile --universal --python-version 3.11 --fork-strategy fewest \
    --generate-hashes --no-emit-index-url --custom-compile-command "make lock"

.PHONY: lock
lock: setup  ## pin the dependencies anew; UPGRADE=1 takes the newest versions
	@$(LOCK) $(if $(UPGRADE),--upgrade) --group build --output-file requirements-build.lock
	@$(LOCK) $(if $(UPGRADE),--upgrade) --all-extras --group dev --constraints requirements-build.lock \
	    pyproject.toml --output-file requirements.lock

.PHONY: clean
clean:  ## remove .venv, caches and build output
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache \
	    spark-warehouse metastore_db derby.log
	find src tests bench tools -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
