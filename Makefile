# What can be done here. `make help` lists it.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

OUT := target/retort
COMPONENT := $(OUT)/retort.component.wasm
CORE := $(OUT)/retort.core.wasm
# The release binary carries the component inside.
export RETORT_COMPONENT := $(CURDIR)/$(COMPONENT)
export RETORT_CORE := $(CURDIR)/$(CORE)
# One selection of crates and features and one profile for everything native, so that wasmtime is compiled once.
NATIVE := --release --workspace
FEATURES := retort-host/embed,retort-host/wasi-http
RETORT := target/release/retort

.PHONY: help component build demo test test-native test-drill lint bench baseline sizes drill drill-mongreldb target published

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 14

target: ## Add Rust's wasm32-wasip2 target where it is missing
	@compgen -G "$$(rustc --print target-libdir --target wasm32-wasip2)/libstd-*.rlib" >/dev/null || rustup target add wasm32-wasip2

component: target ## Build the component and the core module inside it, into target/retort/
	cargo build -p retort-component --target wasm32-wasip2 --profile component
	@mkdir -p $(OUT)
	@# Only a changed file makes the binaries that carry it old.
	@cmp -s target/wasm32-wasip2/component/retort_component.wasm $(COMPONENT) || cp target/wasm32-wasip2/component/retort_component.wasm $(COMPONENT)
	@cargo run --quiet --release -p retort-tests --bin core-module -- $(COMPONENT) $(CORE)
	@stat -c '%n %s bytes' $(COMPONENT) $(CORE)

build: component ## Build the command, with the component inside: target/release/retort
	cargo build $(NATIVE) --features $(FEATURES)

# Where `cargo test` has built it already, with its own choice of features, nothing is compiled again.
$(RETORT):
	$(MAKE) build

demo: build ## Provoke a dozen real database errors and show who gets to see what
	@$(RETORT) demo

lint: ## Formatting, clippy and documentation, warnings fatal
	cargo fmt --all --check
	cargo clippy $(NATIVE) --features retort-host/wasi-http --all-targets -- -D warnings
	cargo clippy -p retort-component --target wasm32-wasip2 --profile component -- -D warnings
	@# Apart: the sidecar's dependencies have the standard library, which the component must not.
	cargo clippy -p retort-sidecar --target wasm32-wasip2 --profile component -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc $(NATIVE) --features retort-host/wasi-http --no-deps

test: lint test-native test-drill test-python test-node test-workers test-go test-java test-provoked packages reproduce ## Everything: formatting, lints, documentation, component, all tests in every language
	@echo 'make test: everything passed'

# Two published MCP servers, pinned, for the conformance kit to score.
PUBLISHED := host-demo/tests/published

target/published/ready: $(PUBLISHED)/requirements.txt
	python3 -m venv target/published
	target/published/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

published: $(PUBLISHED)/node_modules/.package-lock.json target/published/ready

test-native: component sidecar published ## Test the logic, the component and the Rust host
	cargo test $(NATIVE) --features $(FEATURES)

test-drill: $(RETORT) ## The whole drill: 1,000 writes through faults on each database
	$(RETORT) drill --chart $(OUT)/drill.svg

drill: build ## Break SQLite, PostgreSQL and MariaDB under the MCP server; WRITES=10000 for the long run
	$(RETORT) drill --writes $(or $(WRITES),1000) --chart $(OUT)/drill.svg

# Its own lock file names a withdrawn version, so it is built without. Not optimised: that takes minutes instead of an hour.
target/tools/bin/mongreldb-server:
	@command -v protoc >/dev/null || { echo 'protoc is missing: apt-get install protobuf-compiler' >&2; exit 1; }
	CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off cargo install --quiet mongreldb-server --version 0.65.1 --root target/tools

drill-mongreldb: build target/tools/bin/mongreldb-server ## Ask MongrelDB's daemon, which takes a while to build the first time
	$(RETORT) drill --database mongreldb

bench: component ## Measure verdicts, native and through the component: a table, $(OUT)/bench.json and bench.svg
	cargo bench $(NATIVE:--release=) --features $(FEATURES) --bench verdicts

baseline: component ## Write the fuel that verdicts cost anew, into tests/corpus/fuel.tsv
	RETORT_BASELINE=1 cargo test $(NATIVE) --features $(FEATURES) --test component cost

sizes: target ## Print what the component is made of, by crate, module and function
	cargo build -p retort-component --target wasm32-wasip2 --profile component --config profile.component.strip=false --target-dir target/named
	cargo run --quiet --release -p retort-tests --bin sizes -- target/named/wasm32-wasip2/component/retort_component.wasm

# Fuzzing and the supply chain. The tools are built once into target/tools.
TOOLS := target/tools
FUZZ := tests/fuzz
FUZZ_TARGETS := evaluate causes redact fingerprint render
# Seconds per target: a minute in all unless told otherwise.
SECONDS_EACH ?= 10
SEED ?= 1

.PHONY: deny fuzz fuzz-keep soak sbom reproduce

$(TOOLS)/bin/cargo-fuzz:
	cargo install --quiet --locked cargo-fuzz --version 0.13.2 --root $(TOOLS)

$(TOOLS)/bin/cargo-deny:
	cargo install --quiet --locked cargo-deny --version 0.20.2 --root $(TOOLS)

$(TOOLS)/bin/cargo-cyclonedx:
	cargo install --quiet --locked cargo-cyclonedx --version 0.5.9 --root $(TOOLS)

fuzz: component $(TOOLS)/bin/cargo-fuzz ## Fuzz every target from the kept corpora; SECONDS_EACH=3600 for the long run
	cargo run --quiet --release -p retort-tests --bin fuzz-corpus -- unpack target/fuzz/corpus
	@# Coverage flags are stable, address sanitising is not: the logic forbids unsafe code.
	@for target in $(FUZZ_TARGETS); do \
	  echo "fuzz $$target"; \
	  PATH=$(CURDIR)/$(TOOLS)/bin:$$PATH cargo fuzz run --fuzz-dir $(FUZZ) --sanitizer none --target-dir target/fuzz \
	    $$target target/fuzz/corpus/$$target -- \
	    -seed=$(SEED) -max_total_time=$(SECONDS_EACH) -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
	  || exit 1; \
	done
	@# What was found goes through the component too.
	RETORT_FUZZED=$(CURDIR)/target/fuzz/corpus cargo test $(NATIVE) --features $(FEATURES) --test component fuzzed

soak: component ## Judge a million reports in one instance, whose memory must stay flat
	RETORT_SOAK=1000000 cargo test $(NATIVE) --features $(FEATURES) --test component soak -- --nocapture

fuzz-keep: ## Keep what fuzzing found: the shortest inputs of each target
	cargo run --quiet --release -p retort-tests --bin fuzz-corpus -- keep target/fuzz/corpus

sbom: component $(TOOLS)/bin/cargo-cyclonedx ## Write the component's bill of materials (CycloneDX) beside it
	$(TOOLS)/bin/cargo-cyclonedx cyclonedx --quiet --manifest-path guest/component/Cargo.toml --target wasm32-wasip2 --format json --override-filename retort.component.cdx
	mv guest/component/retort.component.cdx.json $(OUT)/
	@# The tool writes one for every crate of the workspace.
	@rm -f guest/retort.component.cdx.json host-demo/retort.component.cdx.json tests/retort.component.cdx.json

# The advisories come from a repository of their own, which has to be in reach.
CHECKS ?= advisories bans licenses sources

deny: $(TOOLS)/bin/cargo-deny ## Check what is built in: advisories, licences, sources; CHECKS="licenses sources" for some
	$(TOOLS)/bin/cargo-deny check $(CHECKS)

reproduce: component ## Build the component in another folder, and compare the bytes
	bash tests/reproduce.sh $(COMPONENT)

# Hosts in other languages. Each carries the core module and replays the golden verdicts.
PYTHON := host-demo/python
PYTHON_VENV := target/python-venv
PYTHON_VENV_1 := target/python-venv-mcp1

.PHONY: test-python package-python

$(PYTHON_VENV)/ready: $(PYTHON)/requirements-test.txt $(PYTHON)/pyproject.toml
	python3 -m venv $(PYTHON_VENV)
	$(PYTHON_VENV)/bin/pip install --quiet --disable-pip-version-check -r $< -e $(PYTHON)
	@touch $@

$(PYTHON_VENV_1)/ready: $(PYTHON)/requirements-test.txt $(PYTHON)/pyproject.toml
	python3 -m venv $(PYTHON_VENV_1)
	sed 's/^mcp==.*/mcp==1.30.0/' $< > target/requirements-mcp1.txt
	$(PYTHON_VENV_1)/bin/pip install --quiet --disable-pip-version-check -r target/requirements-mcp1.txt -e $(PYTHON)
	@touch $@

test-python: component $(PYTHON_VENV)/ready $(PYTHON_VENV_1)/ready ## Test the Python package: types, real servers, both generations of the MCP SDK, golden verdicts
	cd $(PYTHON) && $(CURDIR)/$(PYTHON_VENV)/bin/ruff check . && $(CURDIR)/$(PYTHON_VENV)/bin/ruff format --check . \
	&& $(CURDIR)/$(PYTHON_VENV)/bin/mypy && $(CURDIR)/$(PYTHON_VENV)/bin/pytest
	cd $(PYTHON) && $(CURDIR)/$(PYTHON_VENV_1)/bin/pytest tests/test_mcp.py

PROVOKED := tests/provoked
PROVOKED_VENV := target/provoked-venv

.PHONY: test-provoked

$(PROVOKED_VENV)/ready: $(PROVOKED)/requirements.txt $(PYTHON)/pyproject.toml
	python3 -m venv $(PROVOKED_VENV)
	$(PROVOKED_VENV)/bin/pip install --quiet --disable-pip-version-check -r $< -e $(PYTHON)
	@touch $@

test-provoked: node $(PROVOKED)/node_modules/.package-lock.json $(PROVOKED_VENV)/ready ## Provoke errors on five real databases, and compare each verdict with what happened
	cd $(PROVOKED) && $(CURDIR)/$(PROVOKED_VENV)/bin/ruff check . && $(CURDIR)/$(PROVOKED_VENV)/bin/ruff format --check . \
	&& $(CURDIR)/$(PROVOKED_VENV)/bin/python run.py

package-python: component $(PYTHON_VENV)/ready ## Build the wheel
	@mkdir -p $(OUT)/packages
	rm -rf target/python-wheel && cp -R $(PYTHON) target/python-wheel
	cp $(COMPONENT) target/python-wheel/src/retort_contract/
	$(PYTHON_VENV)/bin/python -m build --wheel --no-isolation --outdir $(OUT)/packages target/python-wheel

NODE := host-demo/node
WORKERS := host-demo/workers
GO := host-demo/go
JAVA := host-demo/java
PACKAGES := $(OUT)/packages

.PHONY: node sidecar test-node package-node workers test-workers go test-go package-go test-java package-java test-packages packages

%/node_modules/.package-lock.json: %/package-lock.json
	cd $* && npm ci --no-audit --no-fund

node: component $(NODE)/node_modules/.package-lock.json ## Build the Node package
	cd $(NODE) && npm run --silent build

sidecar: target ## Build the HTTP service as a component for any host of wasi:http
	cargo build -p retort-sidecar --target wasm32-wasip2 --profile component --lib --example astray
	@mkdir -p $(OUT)
	@cp target/wasm32-wasip2/component/retort_sidecar.wasm $(OUT)/retort.sidecar.wasm

test-node: $(RETORT) node sidecar $(PYTHON_VENV)/ready $(PYTHON_VENV_1)/ready ## Test the Node package: real servers, official MCP clients, golden verdicts
	cd $(NODE) && npm run --silent check && npm test --silent

package-node: node ## Pack the npm tarball
	@mkdir -p $(PACKAGES)
	cd $(NODE) && npm pack --silent --pack-destination $(CURDIR)/$(PACKAGES)

workers: node $(WORKERS)/node_modules/.package-lock.json ## Bundle the worker
	cd $(WORKERS) && npm run --silent build

test-workers: workers ## Test the worker in the real workerd
	cd $(WORKERS) && npm test --silent

go: component ## Put the core module where Go embeds it
	@cp $(CORE) $(GO)/

test-go: go ## Test the Go module: golden verdicts, and real drivers on real servers
	cd $(GO) && gofmt -l . | diff /dev/null - && go vet ./... && go test ./...
	cd $(GO)/pgxcontract && go vet ./...
	cd $(GO)/drivers && go vet ./... && go test ./...

package-go: go ## Write the Go modules as a module proxy serves them
	@mkdir -p $(PACKAGES)
	cd $(GO)/pack && for module in .. ../pgxcontract; do go run . $$module $(CURDIR)/$(PACKAGES)/go v0.1.0; done

test-java: component ## Test the Java package: golden verdicts, and real drivers on real servers
	cd $(JAVA) && mvn -q -B test

package-java: component ## Build the jar
	@mkdir -p $(PACKAGES)
	cd $(JAVA) && mvn -q -B -DskipTests package
	cp $(JAVA)/target/retort-contract-0.1.0.jar $(JAVA)/pom.xml $(PACKAGES)/

test-packages: package-python package-node package-go package-java sidecar $(RETORT) ## Install each package into an empty folder and run the READMEs' snippets
	bash host-demo/packages.sh $(PACKAGES)

packages: test-packages ## Build and try every package; SHA-256 sums beside them
	cd $(PACKAGES) && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum >SHA256SUMS

.PHONY: bench-hosts

bench-hosts: build workers package-python package-node package-go package-java ## Measure every host in one run, and print the README's table
	cd $(JAVA) && mvn -q -B test-compile
	python3 host-demo/bench/hosts.py
