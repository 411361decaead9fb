//! Teaches a language model to write programs, by running them.
//!
//! A GRPO loop samples completions from a language model, takes the requested Python program out of each, runs the
//! program in a WebAssembly sandbox, and turns its results into rewards. The environment says which programs are
//! requested: players of 2048, players of a game whose rules are a file of Python, or solutions of tasks with tests.
//!
//! # Data flow
//!
//! Each arrow is a function from one type to the next; the module on the left owns the function.
//!
//! ```text
//! environment::Briefing
//!    | prompt       PromptSet::draw            -> Prompt
//!    | rollout      generate                   -> Completion      passed on as soon as it ends
//!    |    +- remote       Servers::sample: vLLM samples instead
//!    |    +- policy       the decoder, its adapters and tokenizer; grpo-tensor has their operations and gradients
//!    | program      Program::from_text         -> Program | Rejection
//!    | arena        Scoring::submit, finish    -> Evaluation      workers play while the rest is still sampled
//!    |    +- environment  what a program must do: cases, rules, expected answers; all of it stays on the host
//!    |    +- grpo-sandbox a fresh instance for every game, compiled or interpreted, within fuel and memory
//!    | reward       Rule::score                -> Reward
//!    |    +- feedback     what the author of a program is told, before the policy writes again
//!    |    +- judge        rewards completions of other trainers: lines, HTTP, Python
//!    |    +- preflight    scores players of known strength before a run, to check the reward
//!    | grpo         advantages, Batch, update  -> UpdateStats
//!    | train        the loop, checkpoints
//!    |    +- sft          the supervised start, on programs of the corpus
//!    |    +- parallel     processes that compute one run together, by MPI: gathers and ordered sums
//!    | evaluation   Sample -> Summary          held-out boards, estimates with intervals
//!    | metrics      StepRecord                 -> terminal, metrics.jsonl, a trace
//!    |    +- hardware     what the GPUs did meanwhile
//! ```
//!
//! # One step of training
//!
//! To read a step from its start to its end, open these functions in this order.
//!
//! 1. `Run::go` (`train/mod.rs`) calls `Run::step` (`train/step.rs`) until the last step; `Run::step` calls all below.
//! 2. `Run::step_inputs` (`train/beginning.rs`) derives the step's seed, draws its prompts, goes on in the pass over all tasks
//!    where there are tasks, and fixes the boards that all its programs play.
//! 3. `Stage::begin` (`train/scoring.rs`) samples the completions with `rollout::sample`. `Stage::submit` takes each
//!    one when it ends: `Arena::program` finds the program in the text, and `arena::Scoring::submit` hands the program to
//!    a worker, which plays it in the sandbox.
//! 4. `Stage::step_episodes` (`train/resample.rs`) waits for the games with `InPlay::finish` (`train/in_play.rs`), where
//!    `reward::Rule::score` turns each evaluation into a reward, and samples tied groups again. In between, `Stage::finish`
//!    (`train/turns.rs`) samples and plays the later turns of conversations, if there are any.
//! 5. `grpo::advantages` (`grpo/advantage.rs`) compares each reward with those of its group.
//! 6. `Run::batch` (`train/step.rs`) makes the `grpo::Batch`, and `grpo::update` (`grpo/update.rs`) learns from it. For
//!    each part of the batch, `part_pass` computes log-probabilities with the decoder, `grpo::loss` (`grpo/loss.rs`) and
//!    the gradients; `Optimizer::apply` (`grpo/optimizer.rs`) then moves the weights.
//! 7. `record::of_episodes`, `record::of_update` and `record::of_elites` (`train/record.rs`) are the parts of the step's
//!    `metrics::StepRecord`.
//!
//! `Run::go` then evaluates on held-out boards and saves a checkpoint, as often as the configuration says.
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | prompt | text given to the policy, with its token ids |
//! | policy | the model that is trained |
//! | reference | the model as it was before training |
//! | rollout | sampling completions from the policy; one batch of them |
//! | completion | sampled token ids, their log-probabilities, decoded text, finish reason |
//! | group | the completions of one prompt in one step |
//! | program | Python source taken from a completion and accepted |
//! | environment | the problem that programs are written for: 2048, a game in Python, tasks with tests |
//! | case | one trial of a program, in a fresh instance: the seed of a game, or a task |
//! | game | rules with seeded chance; one play of them |
//! | outcome | the result of one case: score, ending, fuel, and a trace of what happened |
//! | evaluation | what came of one completion: how its program started, and its outcomes |
//! | verdict | an evaluation in one word, `succeeded` or how it failed: always the program's doing, never the machine's |
//! | plays | said of a program whose games all go on to their end, or until their budget is used up |
//! | reward | one number with its breakdown |
//! | turn | one completion of a conversation, whose program is judged before the next |
//! | told | said of what the policy reads between two turns: it is in no loss and no statistics |
//! | episode | the turns that answer one prompt, each with its evaluation, and their reward |
//! | advantage | an episode's reward relative to its group |
//! | tied | said of a group whose rewards all count the same, or which the update leaves out, so that there is nothing to learn from it |
//! | elite | one of the best distinct programs of a style, imitated in later steps |
//! | ahead | said of a step that is sampled while the games of the step before are played, before its update |
//! | policy lag | steps between the policy that sampled a completion and the policy that is updated with it: 0, or 1 ahead |
//! | step | one turn of the loop |
//! | update | one application of the optimiser within a step |
//!
//! # Where to add things
//!
//! `docs/extending.md` has the steps for the most frequent ones.
//!
//! | a new | goes to |
//! |---|---|
//! | reward shape | `reward`, its setting in `config` |
//! | loss variant | `grpo::loss`, an arm of `config::LossType` |
//! | scale of advantages | `grpo::advantages`, an arm of `config::ScaleRewards` |
//! | model family | `policy::ModelType`, a tiny model in `tests/goldens` |
//! | operation of a decoder, kernel | a folder of `tensor/src`, with all its forms side by side |
//! | prompt style | a file in `prompts/`, its family in `corpus` |
//! | metric | `metrics::StepRecord`, filled in `train::record` |
//! | setting | `config`: the struct and `default.toml` |
//! | command | a file or a folder in `cli/commands`, an arm of `Commands` |
//! | key of TRL's configurations | a line of the table in `config::trl` |
//! | task, game | no Rust: a line of a file, a file of Python (docs/tasks.md, docs/games.md) |
//! | kind of environment | an arm of `environment::Environment`, its loop in `arena`, its check in `preflight` |
//! | native baseline, reference player of 2048 | `environment::game2048` |
//! | number of a report | `evaluation::Summary` |
//! | check of the reward | `preflight` |
//! | span of a trace | `metrics::Event`, emitted in `train` |
//! | measurement of what something costs | the package in `bench/` |
//!
//! The modules lie in crates, and keep their names here: `environment` and `program` are `crates/environment`; `arena`, `reward`,
//! `feedback`, `judge` and `evaluation` are in `crates/verify`, which knows no model and no training; `preflight` is in
//! `crates/check`; `policy` is `crates/decoder`; `rollout`, `prompt` and `groups` are `crates/rollout`, `parallel` is
//! `crates/parallel`; `grpo`, `train`, `sft` and `evolve` are in `crates/learn`; `metrics` is `crates/record`, and `report`
//! `crates/report`. `crates/README.md` lists them all. A table in `tests/rules/architecture.rs` says which module may use which.

#![forbid(unsafe_code)]
// These macros panic where standard error cannot be written, as behind `2>&1 | head`.
#![deny(clippy::print_stderr)]

pub mod cli;
pub mod hardware;

pub use grpo_check::preflight;
pub use grpo_learn::{
    arena, causes, config, corpus, environment, evaluation, evolve, feedback, files, groups, grpo, http, json_line,
    judge, metrics, parallel, plural, policy, program, prompt, reward, rollout, seed, sft, shell, stats, train,
};
pub use grpo_report as report;
