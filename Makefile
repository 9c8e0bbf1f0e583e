# People type `make bench` and `make profile`; each target sets up what it needs.
PYTHON ?= python3
RUN     = .venv/bin/python
ARGS   ?=
# Images of containers often set it. A run starts many processes, and each would compile them anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: bench profile compare report test test-gpu check benchmark-emulator benchmark-architectures benchmark-pages benchmark-timing benchmark-repeatability benchmark-cupti benchmark-hosts benchmark-cards benchmark-nvbench benchmark-verdicts benchmark-compare benchmark-gate benchmark-gate-ladder benchmark-causes benchmark-gate-edits benchmark-cluster benchmark-memory benchmark-judge benchmark-pythons cluster-table readme pictures kernels-page schemas claims-page timing-tables causes evidence-table reliability-page fuzz setup constraints help

bench: setup            ## compile, verify, time (or emulate) everything in bench.yaml; write the report
	@$(RUN) -m harness run $(ARGS)

profile: setup          ## bench, then why: every case under Nsight Compute once, or emulated where that may not read
	@$(RUN) -m harness profile $(ARGS)

compare: setup          ## what became slower or worse: BASE=git:main, or BASE=reports/before NEW=reports/latest
	@$(RUN) -m harness $(if $(filter git:%,$(BASE)),beside,compare) $(BASE) $(NEW) --gate $(ARGS)

report: setup           ## redraw the newest run's tables, figures and page from its journal
	@$(RUN) -m harness report $(ARGS)

test: setup             ## the tests that need no GPU
	@$(RUN) -m pytest -n auto --dist worksteal $(ARGS)

test-gpu: setup         ## the tests that need one
	@$(RUN) -m pytest -m gpu $(ARGS)

check: setup            ## style and types
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy

benchmark-emulator: setup  ## how fast the emulator is on this machine, and what memory it takes
	@$(RUN) scripts/benchmark_emulator.py

benchmark-architectures: setup  ## emulate the whole matrix for seven architectures; write reports/emulated/
	@$(RUN) scripts/benchmark_architectures.py $(ARGS)

benchmark-pages: setup  ## how long the pages of 28 problems take to draw, and how large they are
	@$(RUN) tests/report/benchmark_pages.py

benchmark-timing: setup  ## our times over those of a bare launch; which level carries the variance (GPU)
	@$(RUN) scripts/timing/placement.py $(ARGS)

benchmark-repeatability: setup  ## six fresh runs: do their intervals hold each other's results? (GPU)
	@$(RUN) scripts/timing/repeatability.py $(ARGS)

benchmark-cupti: setup  ## our times beside CUPTI's durations; needs cupti-python (GPU)
	@$(RUN) scripts/timing/beside_cupti.py $(ARGS)

benchmark-hosts: setup  ## do speed-ups from one host hold on another? ARGS='FOLDER FOLDER'
	@$(RUN) scripts/timing/hosts.py $(ARGS)

benchmark-cards: setup  ## how far do cards of one kind differ? ARGS='FOLDER …'
	@$(RUN) scripts/timing/cards.py $(ARGS)

benchmark-nvbench: setup  ## our times over NVBench's; needs cuda-bench (GPU)
	@$(RUN) scripts/timing/nvbench.py $(ARGS)

benchmark-verdicts: setup  ## how often a verdict is false, and how small a difference is found: simulated
	@$(RUN) scripts/timing/verdicts.py --out reports/h200/timing/power.csv $(ARGS)

benchmark-compare: setup  ## does a gate blame equal kernels, or let 2 % pass? simulated
	@$(RUN) scripts/timing/comparisons.py $(ARGS)

benchmark-gate: setup   ## does the gate open for equal kernels, and close for 1 % slower ones? (GPU)
	@$(RUN) scripts/timing/gate.py --out reports/h200/reliability $(ARGS)

benchmark-gate-ladder: setup  ## does it blame a ladder of 20 variants compared with itself? (GPU)
	@$(RUN) scripts/timing/gate_ladder.py --out reports/h200/reliability $(ARGS)

benchmark-causes: setup  ## does the emulator name the causes that were read on an H200? writes reports/h200/
	@$(RUN) scripts/timing/emulated_causes.py $(ARGS)

benchmark-gate-edits: setup  ## does it close for planted regressions, and open for harmless edits? emulated
	@$(RUN) scripts/gate/edits.py --out reports/emulated $(ARGS)

benchmark-cluster: setup  ## do two GPUs of this host end twice as soon as one, and say the same? (GPUs)
	@$(RUN) scripts/timing/cluster.py $(ARGS)

benchmark-memory: setup ## is a quick run right, and how much longer, where others hold a card's memory? (GPU)
	@$(RUN) scripts/timing/small_memory.py $(ARGS)

benchmark-judge: setup  ## verdicts per second and core for every kernel here; writes reports/benchmarks/judge.csv
	@$(RUN) scripts/benchmark_judge.py $(ARGS)

benchmark-pythons: setup ## is the wheel whole? in an empty environment, for Python 3.10 to 3.14; writes reports/setup/
	@$(RUN) scripts/pythons.py --out reports/setup $(ARGS)

cluster-table: setup    ## write docs/cluster.md's table: how a sweep scales with workers that emulate
	@$(RUN) scripts/pages/cluster_scaling.py $(ARGS)

readme: setup           ## write docs/results.md's table from reports/h200/
	@$(RUN) scripts/pages/results_table.py

pictures: setup         ## draw README's pictures of a terminal and a page, from reports/h200/ (chromium)
	@$(RUN) scripts/pages/pictures.py

kernels-page: setup     ## write docs/generated/kernels.md from kernels/ and reports/h200/
	@$(RUN) scripts/pages/kernels_page.py

schemas: setup          ## write harness/schemas/, by which editors complete and check a bench.yaml
	@$(RUN) scripts/pages/schemas.py

claims-page: setup      ## write docs/generated/claims.md from harness/analysis/claims.yaml and reports/h200/
	@$(RUN) scripts/pages/claims_page.py

timing-tables: setup    ## write docs/measurement.md's tables from reports/h200/timing/
	@$(RUN) scripts/pages/timing_tables.py

causes: setup           ## write reports/h200/causes.csv: what each step gained, and by what; say how many are explained
	@$(RUN) scripts/pages/causes.py $(ARGS)

evidence-table: setup   ## write docs/measurement.md's table of which code made which committed run
	@$(RUN) scripts/pages/evidence_table.py

reliability-page: setup ## write docs/generated/reliability.md from the tests' own words
	@$(RUN) scripts/pages/reliability_page.py

fuzz: setup             ## 100,000 broken inputs for each thing that reads files from elsewhere
	@$(RUN) scripts/fuzz.py $(ARGS)

setup:                  ## .venv with what this machine needs; every target above begins with it
	@$(PYTHON) scripts/setup.py

constraints:            ## choose the pinned versions anew (needs uv)
	uv pip compile pyproject.toml --universal --python-version 3.10 --all-extras --upgrade \
	  --no-emit-index-url --no-annotate --no-header --quiet -o constraints.txt

help:                   ## this list
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/make \1\t\2/p' Makefile | expand -t 28
