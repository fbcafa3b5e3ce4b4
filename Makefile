# goloader: `make help` lists the targets.
SHELL := /bin/sh
PYTHON := .venv/bin/python
# Go from PyPI, if scripts/setup.sh had to install it, is in the virtual environment.
export PATH := $(CURDIR)/.venv/bin:$(PATH)

GO_SOURCES := $(shell find core capi -name '*.go' -o -name '*.c' -o -name '*.h') go.mod go.sum
LIBRARY := python/goloader/lib/libgoloader.so
FUZZ_TIME ?= 15s
ROUNDS ?= 3
# Processes that share the Python tests, and what else pytest is told.
TEST_JOBS ?= 2
PYTEST ?=
# Run Go packages whose tests failed once more.
AGAIN ?=
go_test = go test -race $(1) $(if $(AGAIN),|| go test -race $(1))
# Where tests are that run with no others beside them.
ALONE := $(shell grep -rl 'mark\.alone' tests_py --include='test_*.py')
# Where Go's slow tests are.
GO_SLOW := $(addprefix ./,$(sort $(dir $(shell grep -rl 'testing\.Short' tests_go))))

.PHONY: help
help: ## List the targets.
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-13s %s\n", $$1, $$2}'

# A stamp for each set of extras, so that a second `make test` starts at once.
.venv/%.stamp: pyproject.toml scripts/setup.sh scripts/overrides.txt
	scripts/setup.sh $(subst -, ,$*)
	@touch $@

$(LIBRARY): $(GO_SOURCES) setup.py | .venv/test-lint.stamp
	$(PYTHON) -m pip install -q --no-deps -e .
	@touch $@

.PHONY: build
build: $(LIBRARY) ## Build the core into python/goloader/lib.

.PHONY: test
test: ## Run lint, type checks, Go tests with -race, vet and pytest, without the slow tests.
	$(MAKE) -j2 --output-sync=target lint test-go
	$(MAKE) test-py

.PHONY: test-all
test-all: test test-slow ## Run every test.

# What C programs are linked with in tests_go/boundary.
export GOLOADER_LIBRARY := $(CURDIR)/$(dir $(LIBRARY))

.PHONY: test-go
test-go: build ## Run the Go tests with -race, without the slow ones, and go vet.
	$(call go_test,-short -vet=all ./...)

# Processes that tests start find goloader compiled, also where Python is told to write no bytecode: 0.4 s each.
.PHONY: bytecode
bytecode: build
	$(PYTHON) -m compileall -q python/goloader tests_py bench

.PHONY: test-py
test-py: bytecode ## Run the Python tests without the slow ones (PYTEST='-k crop', TEST_JOBS=2).
	$(PYTHON) -m pytest -n $(TEST_JOBS) --dist worksteal -m "not slow and not alone" $(PYTEST)
	$(PYTHON) -m pytest -m "not slow and alone" $(PYTEST) $(ALONE) || [ $$? = 5 ] # none of these is selected

.PHONY: long-tests
long-tests: bytecode ## List the tests that take too long for `make test` in tests_py/long_tests.txt.
	: > tests_py/long_tests.txt
	$(PYTHON) -m pytest -n $(TEST_JOBS) -m "not slow and not alone" --durations=0 --durations-min=1 | \
	    sed -nE 's|^[0-9.]+s call +tests_py/([^[ ]+).*|\1|p' | LC_ALL=C sort -u > .venv/long_tests.txt
	mv .venv/long_tests.txt tests_py/long_tests.txt

.PHONY: test-slow
test-slow: bytecode ## Run the slow tests.
	$(call go_test,$(GO_SLOW))
	$(PYTHON) -m pytest -n $(TEST_JOBS) --dist worksteal -m "slow and not alone" $(PYTEST)
	$(PYTHON) -m pytest -m "slow and alone" $(PYTEST) $(ALONE) || [ $$? = 5 ] # none of these is selected

.PHONY: test-arm64
test-arm64: build ## Compare NEON kernels with plain C under qemu (needs gcc-aarch64-linux-gnu, qemu-user).
	$(PYTHON) -m pytest -rs -k arm64 tests_py/kernels_jpeg_own/test_own_sets.py

.PHONY: test-matrix
test-matrix: .venv/matrix.stamp wheel ## Run tests_py/matrix with many sets of library versions, each in its own environment (ROWS="oldest middle newest").
	$(PYTHON) -m scripts.matrix $(ROWS)

.PHONY: lint
lint: .venv/test-lint.stamp ## Check formatting, style and types.
	@test -z "$$(gofmt -l core capi tests_go)" || { gofmt -d core capi tests_go; exit 1; }
	git ls-files '*.c' '*.h' | xargs .venv/bin/clang-format --dry-run -Werror
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy

.PHONY: conformance
conformance: build .venv/test-conformance.stamp ## Run PyTorch's and torchdata's own loader tests on goloader (TESTS='test_len or ...', SUITE=stateful, JOBS=2).
	$(PYTHON) -m tests_py.torch_suite --tests "$(TESTS)" $(if $(JOBS),--jobs $(JOBS)) $(if $(SUITE),--suite $(SUITE))

.PHONY: fuzz
fuzz: .venv/test-lint.stamp ## Run every Go and C fuzzer for FUZZ_TIME (15s).
	scripts/fuzz.sh $(FUZZ_TIME)

.PHONY: demo
demo: build .venv/demo.stamp ## Train a small network with torch and with goloader; compare losses and times.
	$(PYTHON) -m demo.train

.PHONY: bench
bench: build .venv/bench.stamp ## Time goloader and other loaders (ROUNDS=3), and update the tables of the pages.
	$(PYTHON) -m bench.setup_peers
	$(PYTHON) -m bench.image_folder --rounds $(ROUNDS)
	$(PYTHON) -m bench.chart
	$(PYTHON) -m bench.against_torch --rounds $(ROUNDS)
	$(PYTHON) -m bench.training_loop --rounds $(ROUNDS)
	$(PYTHON) -m bench.measuring --rounds $(ROUNDS)
	$(PYTHON) -m bench.samplers --rounds $(ROUNDS)
	$(PYTHON) -m bench.many_files
	$(MAKE) bench-tables

.PHONY: bench-tables
bench-tables: build ## Write the kept results into README.md and bench/README.md.
	GOLOADER_UPDATE=1 $(PYTHON) -m pytest tests_py/readme -k kept_result

.PHONY: programs
programs: build .venv/bench.stamp ## Run public programs with both loaders and write docs/programs.md (ROUNDS=3, ONLY=mnist,detr).
	$(PYTHON) -m bench.programs --rounds $(ROUNDS) $(if $(ONLY),--only $(ONLY))
	GOLOADER_UPDATE=1 $(PYTHON) -m pytest tests_py/readme -k programs

.PHONY: bench-storage
bench-storage: build .venv/bench.stamp ## Time an image folder on storage with 50 ms a read, rows of an array with 10 ms, and torch on the same (needs FUSE and root).
	$(PYTHON) -m bench.storage --rounds $(ROUNDS)
	$(PYTHON) -m bench.storage --arrays --delay 10ms --count 4096 --output bench/results/storage_arrays.json --rounds $(ROUNDS)

.PHONY: bench-remote
bench-remote: build .venv/bench.stamp ## Time images in a bucket with 20 ms an answer, by the libraries that people fetch them with, and update docs/remote.md.
	$(PYTHON) -m bench.remote --rounds $(ROUNDS)
	$(PYTHON) -m bench.cache
	GOLOADER_UPDATE=1 $(PYTHON) -m pytest tests_py/readme -k 'from_a_bucket or of_a_cache'

.PHONY: bench-ranks
bench-ranks: build .venv/bench.stamp ## Time 1, 2, 4 and 8 ranks on this machine, with goloader and with torch, and their memory.
	$(PYTHON) -m bench.ranks --rounds $(ROUNDS)
	GOLOADER_UPDATE=1 $(PYTHON) -m pytest tests_py/readme -k of_ranks

.PHONY: bench-ray
bench-ray: build .venv/bench.stamp ## Time Ray Data with and without goloader.ray.Transform.
	$(PYTHON) -m bench.ray_data --rounds $(ROUNDS)
	GOLOADER_UPDATE=1 $(PYTHON) -m pytest tests_py/readme -k in_ray

.PHONY: bench-jpeg
bench-jpeg: build .venv/bench.stamp ## Time each stage of the JPEG decoder, and libjpeg-turbo and simplejpeg.
	$(PYTHON) -m bench.jpeg

.PHONY: wheel
wheel: .venv/wheel.stamp ## Build the sdist, and wheels for x86-64 and aarch64 from it, in dist/.
	scripts/wheels.sh

.PHONY: check-wheel
check-wheel: ## Install and test each wheel in dist/ (aarch64 under qemu).
	for wheel in dist/*.whl; do scripts/check-wheel.sh "$$wheel" || exit 1; done

.PHONY: clean
clean: ## Remove built files.
	rm -rf build dist python/goloader/lib python/*.egg-info demo/out
