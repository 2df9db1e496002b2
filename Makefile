# Everything from a machine that has only Python and make: each target sets up what it needs first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: test check bench study demo format clean
test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mkdocs build --strict --quiet

demo: $(READY)
	$(BIN)/discreet demo

bench: $(READY)
	$(BIN)/python -m bench; status=$$?; $(BIN)/python docs/hooks/measured.py; exit $$status

study: $(READY)
	$(BIN)/python -m study

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) .venvs
