# make book [PROFILE=quick|laptop|paper] [CHAPTERS="spring_block ..."]    make test | test-all [TESTS="tests/book ..."]
# All make .venv first if it is missing or older than the lock file. PYTHON names the interpreter it is made with.
PYTHON   ?= python3
PROFILE  ?= quick
CHAPTERS ?=
TESTS    ?= tests lib
VENV     := .venv
READY    := $(VENV)/.ready

.PHONY: book test test-all browser setup clean
setup: $(READY)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --requirement requirements.lock
	$(VENV)/bin/python -m pip install --quiet --no-deps --editable .
	@touch $@

book: $(READY)
	$(VENV)/bin/deepmech book --profile $(PROFILE) $(if $(CHAPTERS),--chapters $(CHAPTERS))

# Two workers with one thread each, a file of tests to a worker; ruff, mypy and import-linter run as tests (tests/test_house.py).
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(VENV)/bin/python -m pytest --doctest-modules \
  --ignore-glob='*/conftest.py' --numprocesses 2 --dist loadfile --no-loadscope-reorder

# Without what is marked slow: browsers, clusters, wheels, whole pages. That belongs to a landing. A worker has one core.
test: $(READY)
	DEEPMECH_CORES=1 $(PYTEST) -m "not slow" $(TESTS)

# Pages are looked at as they are today, in a browser that has to be there (CI=true).
test-all: browser book
	CI=true $(PYTEST) $(TESTS)

browser:
	@command -v chromium || command -v chromium-browser || command -v google-chrome || \
	  { echo "make test-all needs a Chromium (Debian: apt-get install chromium)" >&2; exit 1; }

clean:
	rm -rf book/_build book/generated
