# Everything a person types. Needs Python >= 3.11 and make; the rest comes from the package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Python compiles a module when it first imports it, and never imports most of them, such as numpy's tests.
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --require-hashes --no-compile
ARGS ?=
# Without cached bytecode, every process of the service and of the tests would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup serve demo test long mutants crash hostile soak check bench dist release-check publish prepare-release plugin image sdk site pictures lock

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST)

setup: $(VENV)/.dev ## Make .venv with everything needed to run, test and check

serve: $(VENV)/.run ## Run Headwater on the data in headwater-data (ARGS="--port 8080")
	$(BIN)/headwater serve $(ARGS)

demo: $(VENV)/.run ## Run Headwater with a sample Space of realistic journeys
	$(BIN)/headwater demo $(ARGS)

test: $(VENV)/.dev ## Run the tests (ARGS="-k name"; quickly: ARGS='-m "not crash and not browser and not packaging and not sdks"')
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder $(STUCK) $(ARGS)

# A test that hangs fails after ten minutes, with what every thread was doing, and the others go on.
STUCK := -o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true --max-worker-restart 0

mutants: $(VENV)/.dev ## Draw 60 faults and count how many the tests notice (ARGS="--seed 2")
	$(BIN)/python -m scripts.mutants $(ARGS)

long: $(VENV)/.dev ## Run the long form of campaigns (ARGS=path_histories, a word of their names)
	@test -n "$(ARGS)" || { echo "Say which: make long ARGS=path_histories"; exit 2; }
	HEADWATER_LONG=1 $(BIN)/python -m pytest -s $(if $(filter tests/% -%,$(ARGS)),$(ARGS),-k "$(ARGS)")

crash: $(VENV)/.dev ## Kill everything under load for half an hour, and count what is lost
	HEADWATER_LONG=1 HEADWATER_CRASH_ROUNDS=$(or $(ROUNDS),24) HEADWATER_CRASH_FAULTS=$(or $(FAULTS),150) \
	HEADWATER_CRASH_EVENTS=$(or $(EVENTS),0) HEADWATER_KILLS=$(or $(KILLS),20) \
	$(BIN)/python -m pytest $(or $(filter tests/%,$(ARGS)),$(CRASH)) $(filter-out tests/%,$(ARGS))

CRASH := tests/crash tests/backups/test_killed.py tests/database/test_killed_migrations.py \
	tests/upgrades/test_killed_upgrade.py

hostile: $(VENV)/.dev ## Send 5,000 hostile single events, and see whether any stops something
	HEADWATER_HOSTILE_EVENTS=$(or $(EVENTS),5000) \
	$(BIN)/python -m pytest tests/hostile/test_single_events.py -s $(ARGS)

soak: $(VENV)/.dev ## Use everything at once for half an hour, and see whether anything grows
	HEADWATER_LONG=1 HEADWATER_SOAK_SECONDS=$(or $(SECONDS),1800) HEADWATER_SOAK_RATE=$(or $(RATE),1000) \
	$(BIN)/python -m pytest tests/crash/test_soak.py $(ARGS)

check: $(VENV)/.dev ## Lint, check formatting, types, layers, sizes and prose
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python tests/support/sizes.py
	$(BIN)/python -m tests.support.prose

bench: $(VENV)/.dev ## Print the benchmark table
	$(BIN)/python -m bench $(ARGS)

dist: $(VENV)/.dev ## Build the wheel and the source archive into dist, with their hashes
	rm -rf dist
	$(BIN)/uv build --quiet --no-build-isolation --out-dir dist
	cd dist && sha256sum headwater-* > SHA256SUMS && cat SHA256SUMS

release-check: $(VENV)/.release ## Do everything that a release does before it publishes (ARGS="--skip image")
	$(BIN)/python -m scripts.release_check dist $(ARGS)

publish: $(VENV)/.release ## Publish what release-check built, from the release workflow (WHAT=python ARGS=--dry-run)
	$(BIN)/python -m scripts.publish $(WHAT) dist $(ARGS)

prepare-release: $(VENV)/.dev ## Write the version, its date and the hashes of migrations (VERSION=1.2.0)
	@test -n "$(VERSION)" || { echo "Say which: make prepare-release VERSION=1.2.0"; exit 2; }
	$(BIN)/python -m scripts.prepare_release $(VERSION)
	$(BIN)/python scripts/write_sbom.py

plugin: ## Build the WooCommerce plugin's zip into dist
	$(PYTHON) scripts/build_plugin.py dist

image: $(VENV)/.dev ## Build the container image into dist (on Debian 12)
	$(BIN)/python -m scripts.build_image dist

sdk: $(VENV)/.dev ## Write the generated parts of the clients in sdks
	$(BIN)/python -m scripts.generate_sdk

site: $(VENV)/.dev ## Build the documentation site into dist/site
	$(BIN)/python -m scripts.build_site dist/site

pictures: $(VENV)/.dev ## Take the documentation's pictures of the sample Space, with Chromium
	$(BIN)/python -m scripts.take_pictures

lock: $(VENV)/.dev ## Compile requirements/*.txt anew from pyproject.toml
	$(BIN)/uv pip compile $(LOCK) pyproject.toml --output-file requirements/base.txt
	$(BIN)/uv pip compile $(LOCK) pyproject.toml --extra otel --group dev --constraint requirements/base.txt \
	    --output-file requirements/dev.txt
	$(BIN)/uv pip compile $(LOCK) requirements/build.in --constraint requirements/dev.txt \
	    --output-file requirements/build.txt
	$(BIN)/uv pip compile $(LOCK) requirements/release.in --constraint requirements/dev.txt \
	    --output-file requirements/release.txt
	$(BIN)/python scripts/write_sbom.py

LOCK := --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
    --no-emit-find-links --no-annotate --no-header

# Stamps: a changed list of requirements sets up again, an unchanged one costs nothing.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Headwater needs Python 3.11 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.made requirements/build.txt requirements/base.txt pyproject.toml
	$(PIP) -r requirements/base.txt
	$(PIP) -r requirements/build.txt
	$(BIN)/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.txt
	$(PIP) -r requirements/dev.txt
	@touch $@

$(VENV)/.release: $(VENV)/.dev requirements/release.txt
	$(PIP) -r requirements/release.txt
	@touch $@
