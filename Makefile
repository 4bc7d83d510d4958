# make demo | test | lab | docs | real DATA=FOLDER | bench | sync | outputs | clean | help
# A fresh machine needs python3 (3.11 or newer) with venv and pip. pip fetches uv, and does the install itself where
# uv cannot. EMBED=1 adds the sentence-embedding model (torch, 1.2 GB).
PYTHON ?= python3
VENV   ?= .venv
EMBED  ?=
TORCH  ?= torch==2.13.0
DATA   ?=
OUT    ?= build

SHELL  := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := demo
.PHONY: help demo test lab docs real bench sync outputs clean

BIN    := $(abspath $(VENV))/bin
EXTRAS := dev$(if $(EMBED),$(shell echo ,)embeddings)
# Named by content: nbdev_export touches pyproject.toml each time, and git gives every file of a clone a new time.
SUM    := $(shell cat settings.ini setup.py pyproject.toml | cksum | cut -d' ' -f1)
CORE   := $(VENV)/.core-$(SUM)
STAMP  := $(VENV)/.installed-$(SUM)$(if $(EMBED),-embed)

PIP    := python -m pip install -q --disable-pip-version-check

# A venv that is active, IN_TEST and PYTHONPATH must not leak in; the model hub is never asked.
unexport VIRTUAL_ENV IN_TEST PYTHONPATH PYTHONHOME
export PATH := $(BIN):$(PATH)
export HF_HUB_OFFLINE := 1
export TRANSFORMERS_OFFLINE := 1
export MPLBACKEND ?= Agg

# Score the sample run: two invented models over a dozen invented agreements.
demo: $(CORE)
	dojo-score data/runs/extractions.jsonl --labels data/labels/expected.jsonl --docs data/contracts --out $(OUT)/demo
	@echo; echo "Open the reports:  $(abspath $(OUT)/demo)/careful/report.html"
	@echo "                   $(abspath $(OUT)/demo)/hasty/report.html"

# The same job on real runs: a folder that holds runs.jsonl.gz, rows_extraction.jsonl.gz and expected.jsonl.gz.
RUNS ?= 171 081
real: $(CORE)
	@[ -n "$(DATA)" ] || { echo "make real DATA=FOLDER: the folder that holds rows_extraction.jsonl.gz and expected.jsonl.gz"; exit 2; }
	@for run in $(RUNS); do \
	  dojo-score $(DATA)/rows_extraction.jsonl.gz --run $$run --labels $(DATA)/expected.jsonl.gz --out $(OUT)/real/$$run; \
	  echo "Open the report:  $(abspath $(OUT)/real)/$$run/report.html"; \
	done

test: $(STAMP)
	pytest -q -n 2 --dist loadfile $(if $(EMBED),--slow) $(PYTEST)

lab: $(STAMP)
	env -u MPLBACKEND jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) $(LAB) nbs

docs: $(STAMP)
	dojo_docs

bench: $(STAMP)
	python benchmarks/run.py $(BENCH)

# Before each commit: format first, or the export is of the unformatted cells.
sync: $(STAMP)
	ruff format -q .
	nbdev_clean
	nbdev_export
	dojo_readme
	ruff check .

# Run every page in place and keep what it prints.
outputs: $(STAMP)
	python tests/execute_notebooks.py $(if $(EMBED),--slow)

help:
	@echo "make demo              score the samples: two invented models over a dozen invented agreements"
	@echo "make real DATA=FOLDER  the same on real runs [RUNS='171 081' OUT=build]"
	@echo "make test              every page and every test [EMBED=1: with the embedding model]"
	@echo "make lab               JupyterLab on the pages"
	@echo "make docs              the site, into _docs"
	@echo "make bench             the benchmarks [BENCH='--help']"
	@echo "make sync              format, clean, export: before each commit"
	@echo "make outputs           run every page in place and keep what it prints"
	@echo "make clean             remove what these made"

clean:
	rm -rf $(VENV) _proc _docs build dist *.egg-info .pytest_cache .ruff_cache .hypothesis

# uv knows neither pip's settings nor PIP_NO_INDEX. Re-run after an edit of settings.ini, pip needs no network
# as long as the requirements are met.
define INSTALL
	$(PIP) "setuptools>=77"
	$(PIP) uv || echo "no uv: pip installs instead, which takes a minute or two longer"
	$(if $(1),$(if $(EMBED),python -c "import torch" 2>/dev/null || $(PIP) "$(TORCH)"))
	{ [ -z "$${PIP_NO_INDEX:-}" ] && uv pip install -q --python $(BIN)/python -e ".$(1)"; } \
	  || $(PIP) --no-build-isolation -e ".$(1)"
endef

$(CORE): $(BIN)/python
	$(call INSTALL,)
	find $(VENV) -maxdepth 1 -name '.core-*' -delete
	touch $@

$(STAMP): $(BIN)/python
	$(call INSTALL,[$(EXTRAS)])
	find $(VENV) -maxdepth 1 \( -name '.installed-*' -o -name '.core-*' \) ! -name '*-$(SUM)*' -delete
	touch $(CORE) $(VENV)/.installed-$(SUM) $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
