# Everything starts from Python >= 3.11 and make; the first target run builds .venv (one or two minutes).
#
#   PYTHON=...   interpreter to build .venv with; newer ones on the path are tried when it is too old
#   PROFILE=...  smoke, fast or paper (for `reproduce` and `chapter`)
#   NAME=...     a chapter, as listed by `vnbook list`
#   STALE=...    keep or recompute: what becomes of stored runs of other code (for `chapter`)
#   PRINTS=1     figures also as PDF and SVG, for download (for `book` and `reproduce`)
#   LOCKED=1     install the packages of requirements.lock only, checked by their hashes (for `install`)
#   TESTS=...    what is tested (for `test` and `coverage`)

PYTHON  ?= python3
PROFILE ?= fast
NAME    ?=
STALE   ?= keep
PRINTS  ?=
LOCKED  ?=
TESTS   ?= tests chapters

BIN   := .venv/bin
STAMP := .venv/.installed

export PIP_DISABLE_PIP_VERSION_CHECK = 1
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install book reproduce chapter test coverage mutate lint accessible robust parameters linkcheck lock clean

# The scripts in an environment carry its path, so a checkout that was moved (or never set up) gets a new one;
# otherwise the environment is brought up to date in place.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
NEW := --clear
endif

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

install: $(STAMP) ## create or update .venv

$(STAMP): pyproject.toml constraints.txt
	@for python in "$(PYTHON)" python3.13 python3.12 python3.11; do \
	  if "$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	    echo "Creating .venv with $$("$$python" --version) ($$python)"; \
	    exec "$$python" -m venv $(NEW) .venv; \
	  fi; \
	done; \
	echo "Python 3.11 or newer with the venv module is needed, and '$(PYTHON)' is not that:" \
	  "$$("$(PYTHON)" --version 2>&1 | head -n 1)." \
	  "Install it (on Debian also python3-venv) or name one: make PYTHON=/path/to/python3.12" >&2; exit 1
# Python compiles what is imported, which is a part of what pip would.
ifdef LOCKED
	$(BIN)/python -m pip install --no-compile --only-binary :all: --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --no-compile --no-deps --no-build-isolation -e .
else
	$(BIN)/python -m pip install --no-compile -c constraints.txt -e '.[dev]'
endif
	@printf '%s\n' "$(CURDIR)" > $@

book: $(STAMP) ## build the book from the shipped results (computes what is missing)
	$(BIN)/vnbook build --profile paper $(if $(PRINTS),--prints)

reproduce: $(STAMP) ## compute everything afresh and build the book from that: make reproduce PROFILE=fast
	$(BIN)/vnbook build --profile $(PROFILE) --results-dir results/reproduced --fresh $(if $(PRINTS),--prints)

chapter: $(STAMP) ## run one chapter: make chapter NAME=fig2_spatial PROFILE=fast
	@if [ -z "$(NAME)" ]; then \
	  echo "Say which chapter: make chapter NAME=<one of these> PROFILE=$(PROFILE)" >&2; $(BIN)/vnbook list >&2; exit 2; \
	fi
	$(BIN)/vnbook run $(NAME) -p profile $(PROFILE) --stale $(STALE)

# Two workers on two cores, so one thread each. A module's tests stay together and share its fixtures; `conftest.py`
# orders the modules. Bytecode is kept: each of the many processes that tests start would compile the library anew.
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest --nbmake --nbmake-timeout=300 \
  -n 2 --dist loadscope --no-loadscope-reorder

test: $(STAMP) ## run the tests and every chapter in smoke
	$(PYTEST) $(TESTS)

coverage: $(STAMP) ## the same, with branch coverage, which takes half as long again
	@mkdir -p .cache
	$(PYTEST) --cov --cov-report=term-missing:skip-covered $(TESTS)

mutate: $(STAMP) ## put faults into a copy of the library, one at a time: the tests must notice each
	$(BIN)/python tests/tools/mutation.py

lint: $(STAMP) ## check style, docstrings, types, spelling and that notebooks hold no outputs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/numpydoc lint $$(git ls-files 'vnlib/*.py' 'book/*.py' 'data_gen/*.py' 'benchmarks/*.py')
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/codespell
	$(BIN)/nbstripout --keep-id --verify chapters/*/*.ipynb

accessible: $(STAMP) ## check the built book with axe-core (needs Chromium; run after book or reproduce)
	$(BIN)/python tests/tools/accessibility.py

robust: $(STAMP) ## kill runs, garble parameters and files, fill disks, cut the network, take numbers away: nothing may break (an hour and a half)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tests/tools/robustness.py
	$(BIN)/python tests/tools/missing_numbers.py

parameters: $(STAMP) ## run every chapter with each model alone and at the ends of each range (hours; goes on where it ended)
	$(BIN)/python tests/tools/every_parameter.py

linkcheck: $(STAMP) ## check the links of the built book (needs a network; run after book or reproduce)
	$(BIN)/jupyter-book build . --path-output book --builder linkcheck

lock: $(STAMP) ## renew requirements.lock from constraints.txt: hashes for Linux and macOS (needs a network)
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[lock]'
	$(BIN)/uv pip compile pyproject.toml --extra dev -c constraints.txt --universal --python-version 3.11 \
	  --only-binary :all: --generate-hashes --no-annotate --no-header -q -o requirements.lock

clean: ## remove the built book and caches; results/ and .venv stay
	rm -rf book/_build book/chapters book/generated book/extra .cache .pytest_cache .ruff_cache .hypothesis .coverage build dist *.egg-info
	find vnlib book data_gen benchmarks tests chapters -type d \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +
