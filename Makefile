# Everything from a machine that has only Python and make: each target sets up what it needs first, at locked versions.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(PYTHON) requirements/install.py
NEEDED := pyproject.toml requirements/install.py requirements/installer.txt
# One more than two cores: some tests wait for a server or for a disk.
TESTS := -m pytest -n 3 --dist loadfile

.PHONY: browser test check demo docs bench study newest oldest wheels lock format clean
test: $(VENV)/.ready
	$(BIN)/python $(TESTS)

check: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The service's pages in Chromium: Debian's, where it is not there and may be installed.
browser: $(VENV)/.ready
	command -v chromium >/dev/null || (apt-get update -qq && apt-get install -qq -y chromium) || true
	$(BIN)/python -m pytest tests/service/test_browser.py

demo: $(VENV)/.demo
	$(BIN)/discreet demo

# The site in ./site; examples that changed are run first, and what they print and draw is kept in docs/outputs.
docs: $(VENV)/.ready
	$(BIN)/python docs/hooks/examples.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(VENV)/.ready
	$(BIN)/python -m bench; status=$$?; $(BIN)/python docs/hooks/measured.py; exit $$status

study: $(VENV)/.ready
	$(BIN)/python -m study

# Not from the lock: the newest and the oldest releases that pyproject.toml admits, each in an environment of its own.
newest oldest:
	rm -rf .venvs/$@
	$(INSTALL) .venvs/$@ $@
	.venvs/$@/bin/python $(TESTS)

# Whether all that a plain install needs exists as a wheel for a Python that has not been tested.
NEXT ?= 3.14
wheels: $(VENV)/.demo
	$(BIN)/python -m requirements.wheels $(NEXT)

lock: $(VENV)/.demo
	$(BIN)/python -m requirements.lock

format: $(VENV)/.ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(VENV)/.demo: $(NEEDED) requirements/demo.txt
	$(INSTALL) $(VENV) demo
	touch $@

$(VENV)/.ready: $(NEEDED) requirements/test.txt
	$(INSTALL) $(VENV) test
	touch $(VENV)/.demo $@

clean:
	rm -rf $(VENV) .venvs
