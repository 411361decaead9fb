//! Teach a language model to write programs, by running them.
//!
//! A GRPO loop samples completions from a language model, takes from each the Python that was asked for, tries it inside a
//! WebAssembly sandbox, and feeds what it achieves back as rewards. What is asked for is an environment: players of 2048,
//! players of a game whose rules are a file of Python, or solutions of tasks with tests.
//!
//! # As data flows
//!
//! Each arrow is a function from one type to the next; the module on the left owns it.
//!
//! ```text
//! environment::Briefing
//!    | prompt       PromptSet::draw            -> Prompt
//!    | rollout      generate                   -> Completion      leaves as soon as it ends
//!    |    +- remote       Servers::generate, the same by vLLM
//!    |    +- policy         the decoder, its adapters and tokenizer; grpo-tensor has its operations and gradients
//!    | program      Program::from_text         -> Program | Rejection
//!    | arena        Scoring::submit, finish    -> Evaluation      workers play while the rest still decodes
//!    |    +- environment    what a program must do: cases, rules, expected answers, all on the host
//!    |    +- grpo-sandbox   a fresh instance for every game, compiled or interpreted, within fuel and memory
//!    | reward       score                      -> Reward
//!    |    +- judge        the same for completions of other trainers: lines, HTTP, Python
//!    |    +- preflight      players of known strength, scored before a run: is the reward in order?
//!    | grpo         advantages, Batch, update  -> UpdateStats
//!    | train        the loop, checkpoints
//!    |    +- sft        the start: supervised, on programs of the corpus
//!    |    +- parallel   processes that compute one run together, by MPI: gathers and ordered sums
//!    | evaluation   Sample -> Summary             held-out boards, estimates with intervals
//!    | metrics      StepRecord                 -> terminal, metrics.jsonl, a trace
//!    |    +- hardware       what the GPUs did meanwhile
//! ```
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | prompt | text given to the policy, with its token ids |
//! | policy, reference | the model being trained, the frozen start |
//! | rollout | sampling completions from the policy; one batch of them |
//! | completion | sampled token ids, their log-probabilities, decoded text, finish reason |
//! | group | the completions of one prompt in one step |
//! | program | Python source taken from a completion and accepted |
//! | environment | what programs are written for: 2048, a game in Python, tasks with tests |
//! | case | what a program is tried on once, in a fresh instance: the seed of a game, or a task |
//! | game | rules with seeded chance; one play of it |
//! | outcome | what one case returned: score, ending, fuel, and a trace of what happened |
//! | evaluation | verdict and outcomes of one completion |
//! | verdict | played (it chose a move), rejected, faulted: the program's doing, never the machine's |
//! | plays | of a program: each of its games goes on to its end, or until its budget is used up |
//! | reward | one number with its breakdown |
//! | episode | completion, evaluation and reward |
//! | advantage | an episode's reward relative to its group |
//! | tied | of a group: all rewards count the same, so there is nothing to learn from it |
//! | elite | one of the best distinct programs of a style, imitated in later steps |
//! | ahead | of a step: written by the policy while the games of the step before are played, before its update |
//! | policy lag | steps between the policy that wrote a completion and the one that is updated with it: 0, or 1 ahead |
//! | step, update | one turn of the loop, one application of the optimiser inside it |
//!
//! # Where to add things
//!
//! | a new | goes to |
//! |---|---|
//! | reward shape | `reward`, its knob in `config/default.toml` |
//! | loss variant, advantage scale | `grpo`, an enum in `config` |
//! | model family | `policy::DecoderConfig`, a golden in `tests/goldens` |
//! | operation of a decoder, kernel | a folder of `tensor/src`, plain, fused and GPU forms side by side |
//! | prompt style | a file in `prompts/`, its family in `environment::game2048::corpus` |
//! | metric | `metrics::StepRecord`, filled in `train::record` |
//! | knob | `config`: the struct and `default.toml` |
//! | key of TRL's configurations | a line of the table in `config::trl` |
//! | task, game | no Rust: a line of a file, a file of Python (docs/tasks.md, docs/games.md) |
//! | kind of environment | an arm of `environment::Environment`, its loop in `arena`, its check in `preflight` |
//! | native baseline, reference player of 2048 | `environment::game2048` |
//! | number of a report | `evaluation::Summary` |
//! | check of the reward | `preflight` |
//! | span of a trace | `metrics::Event`, told in `train` |
//! | measurement of what something costs | the package in `bench/` |
//!
//! Which module may use which is a table in `tests/architecture.rs`.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod arena;
pub mod cli;
pub mod config;
pub mod environment;
pub mod evaluation;
pub mod files;
pub mod groups;
pub mod grpo;
pub mod hardware;
pub mod judge;
pub mod metrics;
pub mod parallel;
pub mod policy;
pub mod preflight;
pub mod program;
pub mod prompt;
pub mod report;
pub mod reward;
pub mod rollout;
pub mod seed;
pub mod sft;
pub mod stats;
pub mod train;
