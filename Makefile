# Two commands on a fresh machine: `make demo` and `make test`. Each sets up .venv by itself.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2

.PHONY: demo test quick durations check format bench clean help

help:
	@echo "make demo    train a small model on every device, beside one device"
	@echo "make test    run the tests"
	@echo "make quick   run the quick ones, from every room: under two minutes on two cores"
	@echo "make check   formatting, lint, types, import contracts"
	@echo "make bench   measure what can be measured on this machine"

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --group dev --editable ".[demo]"
	touch $@

demo: $(READY)
	$(BIN)/manyhands demo

test: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

quick: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow"

durations: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --write-durations

check: $(READY)
	$(BIN)/ruff format --check src tests bench examples
	$(BIN)/ruff check src tests bench examples
	$(BIN)/pyright
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format src tests bench examples
	$(BIN)/ruff check --fix src tests bench examples

bench: $(READY)
	$(BIN)/python -m bench

clean:
	rm -rf $(VENV) .venv-* .cache
