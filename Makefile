# make setup   prepare .venv, and a Chromium where the machine has none
# make demo    the main job, shown on a fake web on this machine
# make test    lint, types, every quick test and the notebooks, with no way off the machine
# make proofs  the slower ones: the lab itself, property tests, hostile pages
# make faults  what a caller gets when things break: a table, and build/faults.json
# make notebooks   run the notebooks anew and save them; NOTEBOOKS names some of them
# make lab     open JupyterLab on them
# make bench   castlenb beside its peers: a table, and build/bench.json
#
# CASTLENB_CHROMIUM names the Chrome or Chromium to use; PYTEST_ARGS goes to pytest, FAULTS_ARGS and
# BENCH_ARGS to the others.

SHELL = /bin/bash
BIN = .venv/bin
OFFLINE = $(BIN)/python tests/offline.py
NBVAL = -q --nbval --nbval-current-env --nbval-cell-timeout 120 --nbval-sanitize-with notebooks/sanitize.cfg
STAMP = .venv/.ready-test
BENCH_STAMP = .venv/.ready-bench

.PHONY: setup chromium demo test proofs faults lint notebooks lab bench clean
.DEFAULT_GOAL := setup

setup: $(STAMP) chromium

$(STAMP): pyproject.toml $(BIN)/python
	@echo "setup: installing castlenb and what its tests need into .venv (a minute or two, the first time)"
	@$(BIN)/python -m pip install -qq --editable '.[test]' || { echo "setup: pip could not install castlenb" >&2; exit 1; }
	@touch $@

$(BENCH_STAMP): $(STAMP)
	@echo "setup: installing what the bench needs into .venv"
	@$(BIN)/python -m pip install -qq --editable '.[bench]' || { echo "setup: pip could not install the bench's peers" >&2; exit 1; }
	@touch $@

# A python is asked, not only looked for: version managers leave names on PATH that run nothing. One that can make a
# venv is taken first; Debian keeps that part in a package of its own.
$(BIN)/python:
	@new=; whole=; for python in python3.13 python3.12 python3.11 python3; do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    new=$${new:-$$python}; \
	    if $$python -c 'import ensurepip, venv' 2>/dev/null; then whole=$$python; break; fi; \
	  fi; \
	done; \
	if [ -z "$$new" ]; then echo "setup: castlenb needs Python 3.11 or newer, and none was found on PATH" >&2; exit 1; fi; \
	if [ -z "$$whole" ]; then \
	  package=$$($$new -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'); \
	  $(call apt_install,$$package) || { echo "setup: $$new has no venv module; on Debian and Ubuntu, install $$package and try again" >&2; exit 1; }; \
	  whole=$$new; \
	fi; \
	$$whole -m venv --clear .venv || { echo "setup: $$whole could not make .venv" >&2; exit 1; }

# 3: there is none. Anything else that goes wrong in here is a fault of ours, and no reason to install a browser.
chromium: $(STAMP)
	@$(FIND_CHROMIUM) 2>/dev/null; case $$? in 0) exit 0;; 3) ;; *) $(FIND_CHROMIUM); exit 1;; esac; \
	if [ -z "$$CASTLENB_CHROMIUM" ]; then $(call apt_install,chromium fonts-liberation) || true; fi; \
	$(FIND_CHROMIUM) || exit 1

demo: setup
	@$(OFFLINE) $(BIN)/castlenb demo || { echo "demo: castlenb demo failed" >&2; exit 1; }

test: setup lint
	@$(OFFLINE) $(BIN)/python -m pytest -n 2 --dist loadgroup -m "not proof" $(PYTEST_ARGS)
	@$(OFFLINE) $(BIN)/python -m pytest $(NBVAL) notebooks

proofs: setup
	@$(OFFLINE) $(BIN)/python -m pytest -n 2 --dist loadgroup -m proof $(PYTEST_ARGS)

faults: setup
	@$(OFFLINE) $(BIN)/python -m tests.faults.run $(FAULTS_ARGS)

notebooks: setup
	@$(OFFLINE) $(BIN)/python notebooks/execute.py $(NOTEBOOKS)

lab: setup
	@$(BIN)/jupyter lab notebooks

lint: $(STAMP)
	@$(BIN)/ruff check . || { echo "lint: ruff has objections" >&2; exit 1; }
	@$(BIN)/mypy || { echo "lint: mypy has objections" >&2; exit 1; }

bench: setup $(BENCH_STAMP)
	@$(OFFLINE) $(BIN)/python -m tests.bench.run $(BENCH_ARGS)

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

define FIND_CHROMIUM
$(BIN)/python -c $$'import sys\nfrom castlenb.errors import LabError\nfrom castlenb.lab.chromium import find_chromium\ntry: find_chromium()\nexcept LabError as error: print("setup:", error, file=sys.stderr); sys.exit(3)'
endef

# Debian and Ubuntu packages, where nobody has to be asked for a password. Fails, quietly, anywhere else.
define apt_install
{ command -v apt-get >/dev/null && \
  { as_root=; [ "$$(id -u)" = 0 ] || { sudo -n true 2>/dev/null && as_root="sudo -n"; }; } && \
  echo "setup: installing $(1) with apt-get" && \
  $$as_root apt-get update -qq && \
  $$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $(1) >/dev/null; }
endef
