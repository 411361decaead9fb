use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::LazyLock;

use super::*;
use crate::corpus::{self, Style, vocabulary};
use crate::environment::game2048::prompts::briefing;
use crate::fixture::CHATML;
use crate::policy::{DecoderConfig, Tokenizer};
use crate::prompt::PromptKind;
use crate::prompt::PromptSet;
use candle_core::Device;

fn options(dir: &Path, total_tokens: usize) -> SftOptions {
    let config = crate::config::Config::preset("builtin").unwrap().sft;
    SftOptions {
        config: SftConfig { total_tokens, batch_tokens: 512, warmup_steps: 2, ..config },
        seed: Seed::root(5),
        output_dir: dir.into(),
        device: Device::Cpu,
        at_once: usize::MAX,
    }
}

fn trained(
    options: &SftOptions,
    learner: Option<Learner>,
    observe: &mut dyn FnMut(&SftProgress) -> ControlFlow<()>,
) -> Result<SftSummary, SftError> {
    run(options, learner, &mut || (), observe).map(|(summary, _)| summary)
}

/// A small chat model, for what is true of any model: the built-in one reads its held-out programs before the first step and after
/// the last, which takes seconds each time.
static SMALL: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    chat_model(dir.path(), 2048);
    dir
});

/// The small model, all of whose weights are trained.
fn small() -> Learner {
    let mut model = crate::config::Config::preset("llm").unwrap().model;
    (model.model, model.lora_r) = (SMALL.path().display().to_string(), 0);
    learner(&model)
}

fn go_on(_: &SftProgress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn every_program_survives_the_built_in_vocabulary_and_fits_a_completion() {
    let tokenizer = builtin::tokenizer(Seed::root(0)).unwrap();
    let mut rng = Seed::root(1).child(Purpose::Corpus, 0).rng();
    let longest = crate::config::Config::preset("builtin").unwrap().rollout.max_completion_length;
    for style in Style::ALL {
        let mut lengths = Vec::new();
        for _ in 0..300 {
            let sample = corpus::program(&mut rng, &Mix { error_rate: 0.2, ..Mix::only(style) });
            let ids = tokenizer.encode(&sample.source[corpus::HEADER.len()..]);
            assert_eq!(tokenizer.decode(&ids), &sample.source[corpus::HEADER.len()..]);
            lengths.push(ids.len());
        }
        lengths.sort();
        println!("{style:?}: mean {} max {}", lengths.iter().sum::<usize>() / 300, lengths[299]);
        assert!(lengths[299] < longest, "{style:?}: {}", lengths[299]);
    }
}

#[test]
fn the_loss_falls() {
    let (dir, mut losses) = (tempfile::tempdir().unwrap(), Vec::new());
    trained(&options(dir.path(), 4 * 512), None, &mut |progress| {
        losses.push(progress.loss);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(losses.len() == 4 && losses[3] < losses[0], "{losses:?}");
}

#[test]
fn the_same_seed_gives_the_same_files() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let summaries =
        dirs.each_ref().map(|dir| trained(&options(dir.path(), 4 * 512), Some(small()), &mut go_on).unwrap());
    assert_eq!(summaries[0], summaries[1]);
    for name in ["model.safetensors", "tokenizer.json", "config.json", "generation_config.json"] {
        let read = |dir: &tempfile::TempDir| std::fs::read(dir.path().join(name)).unwrap();
        assert_eq!(read(&dirs[0]), read(&dirs[1]), "{name}");
    }
}

#[test]
fn a_run_that_was_stopped_goes_on_as_if_nothing_had_happened() {
    let (unbroken, broken) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    trained(&options(unbroken.path(), 5 * 512), Some(small()), &mut go_on).unwrap();
    let stopped = stopped(broken.path());
    assert!(stopped.interrupted && stopped.steps == 2);
    assert!(!broken.path().join("model.safetensors").exists());
    let other = trained(&options(broken.path(), 4 * 512), Some(small()), &mut go_on).unwrap_err();
    assert!(matches!(other, SftError::OtherRun { .. }), "{other}");
    let finished = trained(&options(broken.path(), 5 * 512), Some(small()), &mut go_on).unwrap();
    assert!(!finished.interrupted && finished.steps == 5);
    let read = |dir: &tempfile::TempDir| std::fs::read(dir.path().join("model.safetensors")).unwrap();
    assert_eq!(read(&unbroken), read(&broken));
}

#[test]
fn a_directory_takes_one_model_of_one_process() {
    let dir = tempfile::tempdir().unwrap();
    trained(&options(dir.path(), 512), Some(small()), &mut go_on).unwrap();
    let other = trained(&options(dir.path(), 2 * 512), Some(small()), &mut go_on).unwrap_err();
    assert!(matches!(other, SftError::OtherRun { .. }), "{other}");
    trained(&options(dir.path(), 512), Some(small()), &mut go_on).unwrap();
    let _held = run_dir::lock(dir.path()).unwrap();
    let beside = trained(&options(dir.path(), 512), Some(small()), &mut go_on).unwrap_err();
    assert!(beside.to_string().contains("another process is writing there"), "{beside}");
}

/// Writes files into a new directory.
fn dir_of(files: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "precious").unwrap();
    }
    dir
}

#[test]
fn a_directory_that_no_supervised_run_wrote_is_refused_and_stays_as_it_is() {
    for files in [
        &["checkpoint-best/model.safetensors"][..],
        &["model.safetensors", "config.json"],
        &["notes.txt"],
        &["state.json"],
        &["config.toml", "metrics.jsonl"],
        &["config.toml", "checkpoint-2/trainer_state.json", "checkpoint-latest"],
    ] {
        let dir = dir_of(files);
        let error = trained(&options(dir.path(), 512), None, &mut go_on).unwrap_err();
        assert!(matches!(error, SftError::Foreign { .. }), "{files:?}: {error}");
        assert!(error.to_string().contains("is not empty and holds no run of sft; choose an empty"), "{error}");
        for name in files {
            assert_eq!(std::fs::read_to_string(dir.path().join(name)).unwrap(), "precious");
        }
    }
    let dir = dir_of(&["file"]);
    let error = check_dir(&dir.path().join("file")).unwrap_err();
    assert!(matches!(&error, SftError::Dir(problem) if problem.is_user()), "{error}");
    check_dir(&dir.path().join("new")).unwrap();
    assert!(!dir.path().join("new").exists());
}

/// Stops a run of five steps after the second.
fn stopped(dir: &Path) -> SftSummary {
    let stopped = trained(&options(dir, 5 * 512), Some(small()), &mut |progress| match progress.step {
        2 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    stopped.unwrap()
}

#[test]
fn a_run_removes_no_checkpoint_that_it_did_not_write() {
    let dir = tempfile::tempdir().unwrap();
    stopped(dir.path());
    for name in ["checkpoint-best", "checkpoint-40", "checkpoint-8.partial"] {
        std::fs::create_dir(dir.path().join(name)).unwrap();
    }
    std::fs::write(dir.path().join("checkpoint-40/weights.safetensors"), "another's").unwrap();
    // Of processes that were killed: one that wrote the model, one that removed a checkpoint.
    for of_killed in ["model.partial", ".partial-checkpoint-5"] {
        std::fs::create_dir(dir.path().join(of_killed)).unwrap();
        std::fs::write(dir.path().join(of_killed).join(".tmpAbCdEf"), "half of the weights").unwrap();
    }
    let finished = trained(&options(dir.path(), 5 * 512), Some(small()), &mut go_on).unwrap();
    assert_eq!(finished.steps, 5);
    let left = |name: &str| dir.path().join(name).exists();
    assert!(left("checkpoint-best") && left("checkpoint-40"));
    assert!(!left("checkpoint-2") && !left("checkpoint-5") && !left("checkpoint-8.partial"));
    let of_killed = ["model.partial", ".partial-checkpoint-5", ".tmpAbCdEf"];
    assert_eq!(of_killed.map(left), [false; 3], "nothing of them is among the model's files");
    // As if killed while it removed its last checkpoint.
    std::fs::create_dir(dir.path().join("checkpoint-5")).unwrap();
    for name in ["weights.safetensors", "state.json"] {
        std::fs::write(dir.path().join("checkpoint-5").join(name), "").unwrap();
    }
    std::fs::create_dir(dir.path().join(".partial-checkpoint-5")).unwrap();
    let done = options(dir.path(), 5 * 512).check_dir(Some(&small())).unwrap();
    assert_eq!(done.map(|done| done.steps), Some(5));
    assert_eq!(["checkpoint-5", ".partial-checkpoint-5", "checkpoint-40"].map(left), [false, false, true]);
}

#[test]
fn a_checkpoint_that_is_not_as_it_was_written_is_refused_with_its_file_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    // Of a process that was killed while it wrote digests.
    std::fs::create_dir(dir.path().join("checkpoint-2.partial")).unwrap();
    std::fs::write(dir.path().join("checkpoint-2.partial/BLAKE3SUMS"), "half a li").unwrap();
    std::fs::write(dir.path().join("state.json"), r#"{"settings": {}, "step": 0, "tokens": 0}"#).unwrap();
    stopped(dir.path());
    let (options, checkpoint) = (options(dir.path(), 5 * 512), dir.path().join("checkpoint-2"));
    type Damage = fn(Vec<u8>) -> Vec<u8>;
    let damages: [(&str, Damage); 3] = [
        ("weights.safetensors", |mut bytes| {
            *bytes.last_mut().unwrap() ^= 1;
            bytes
        }),
        ("optimizer.safetensors", |bytes| bytes[..5].to_vec()),
        ("state.json", |_| Vec::new()),
    ];
    for (name, damage) in damages {
        let path = checkpoint.join(name);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, damage(bytes.clone())).unwrap();
        let refused =
            [options.check_dir(Some(&small())).unwrap_err(), trained(&options, Some(small()), &mut go_on).unwrap_err()];
        for words in refused.map(|error| error.to_string()) {
            assert!(words.contains(&format!("checkpoint-2: {name} is not what was written; ")), "{words}");
            assert!(words.ends_with("remove it, and the same command begins anew"), "{words}");
        }
        std::fs::write(&path, bytes).unwrap();
    }
    assert_eq!(options.check_dir(Some(&small())).unwrap(), None, "it is whole again");
    std::fs::remove_dir_all(checkpoint).unwrap();
    assert_eq!(trained(&options, Some(small()), &mut go_on).unwrap().steps, 5);
}

#[test]
fn a_run_that_was_killed_before_its_first_checkpoint_goes_on_in_its_directory() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), 512);
    // As after the first step: observers see it before there is a checkpoint.
    let killed = AssertUnwindSafe(|| trained(&options, Some(small()), &mut |_| panic!("killed")));
    let killed = std::panic::catch_unwind(killed);
    assert!(killed.is_err());
    std::fs::create_dir(dir.path().join("checkpoint-1.partial")).unwrap();
    let other = SftOptions { seed: Seed::root(6), ..options.clone() };
    assert_eq!(other.check_dir(Some(&small())).unwrap(), None, "there is nothing to lose");
    assert_eq!(trained(&options, Some(small()), &mut go_on).unwrap().steps, 1);
}

#[test]
fn settings_that_differ_are_named_and_a_run_of_an_earlier_version_is_known() {
    let dir = tempfile::tempdir().unwrap();
    stopped(dir.path());
    let same = options(dir.path(), 5 * 512);
    let other = SftOptions { seed: Seed::root(6), ..options(dir.path(), 4 * 512) };
    assert_eq!(same.check_dir(Some(&small())).unwrap(), None);
    let said = other.check_dir(Some(&small())).unwrap_err().to_string();
    assert!(said.contains("other settings: sft.total_tokens: 2560 -> 2048, train.seed: 5 -> 6; choose"), "{said}");
    let untried = SftOptions { config: SftConfig { eval_samples: 0, ..same.config.clone() }, ..same.clone() };
    assert_eq!(untried.check_dir(Some(&small())).unwrap(), None, "the same is trained");
    // The same as one text, as it was written before, when there were no digests.
    std::fs::remove_file(dir.path().join("checkpoint-2/BLAKE3SUMS")).unwrap();
    for path in [dir.path().join("state.json"), dir.path().join("checkpoint-2/state.json")] {
        let mut state: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        state["settings"] = same.settings(Some(&small())).unnamed.into();
        std::fs::write(&path, state.to_string()).unwrap();
    }
    assert_eq!(same.check_dir(Some(&small())).unwrap(), None);
    let said = other.check_dir(Some(&small())).unwrap_err().to_string();
    assert!(said.contains("other settings, of an earlier version; choose") && !said.contains('{'), "{said}");
    assert_eq!(trained(&same, Some(small()), &mut go_on).unwrap().steps, 5);
}

#[test]
fn a_run_that_is_done_is_known_by_its_model_and_told_with_its_summary() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), 512);
    let summary = trained(&options, Some(small()), &mut go_on).unwrap();
    assert_eq!(options.check_dir(Some(&small())).unwrap(), Some(summary.clone()));
    keep_tried(dir.path(), "programs that play: 0% -> 50%").unwrap();
    let tried = SftSummary { tried: Some("programs that play: 0% -> 50%".into()), ..summary.clone() };
    assert_eq!(options.check_dir(Some(&small())).unwrap(), Some(tried));
    // An earlier version wrote no losses.
    let state = dir.path().join("state.json");
    let mut earlier: serde_json::Value = serde_json::from_slice(&std::fs::read(&state).unwrap()).unwrap();
    earlier.as_object_mut().unwrap().remove("losses");
    std::fs::write(&state, earlier.to_string()).unwrap();
    let told = options.check_dir(Some(&small())).unwrap().unwrap();
    assert!(told.steps == summary.steps && told.held_out_loss.is_nan(), "{told:?}");
    std::fs::remove_file(dir.path().join("model.safetensors")).unwrap();
    assert_eq!(options.check_dir(Some(&small())).unwrap(), None);
}

#[test]
fn splitting_and_what_is_read_once_change_the_loss_by_rounding_only() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), 512);
    let (policy, prompts) = builtin::begin(&options).unwrap();
    let mix = Mix { error_rate: options.config.error_rate, ..Mix::default() };
    let examples = Writer::new(&policy, &prompts, &mix).batch(Seed::root(9), 3000).unwrap();
    let sum = |parts: &[Vec<Example>]| -> f64 {
        let loss =
            |rows: &Vec<Example>| batches::loss(&policy, rows, Adapters::On).unwrap().0.to_scalar::<f32>().unwrap();
        parts.iter().map(|rows| f64::from(loss(rows))).sum()
    };
    let alone: Vec<Vec<Example>> = examples.iter().map(|example| vec![example.clone()]).collect();
    let split = micro_batches(examples, policy.decoder().shares_beginnings());
    assert!(split.len() > 1 && split.len() < alone.len());
    let (split, alone) = (sum(&split), sum(&alone));
    assert!((split - alone).abs() / alone < 1e-5, "{split} {alone}");
}

#[test]
fn the_learning_rate_rises_then_falls_to_a_tenth() {
    let config = SftConfig { warmup_steps: 10, ..options(Path::new("x"), 1).config };
    let peak = config.learning_rate;
    assert!((learning_rate(&config, 0, 100) - peak / 10.0).abs() < 1e-12);
    assert!((learning_rate(&config, 10, 100) - peak).abs() < 1e-12);
    assert!((learning_rate(&config, 100, 100) - peak / 10.0).abs() < 1e-12);
}

/// Writes a small chat model with random weights and a vocabulary in which prompts and programs have few tokens.
fn chat_model(dir: &Path, positions: usize) {
    let plain = builtin::tokenizer(Seed::root(0)).unwrap();
    let words = PromptSet::load(PromptKind::Raw, &plain, &briefing().unwrap()).unwrap();
    let mut rng = Seed::root(1).child(Purpose::Corpus, 0).rng();
    let programs = (0..200).map(|_| corpus::program(&mut rng, &Mix::default()).source);
    let texts: Vec<String> = words.prompts().iter().map(|prompt| prompt.text.clone()).chain(programs).collect();
    let markers = ["<|im_start|>", "<|im_end|>"].map(String::from).to_vec();
    let options = vocabulary::VocabularyOptions { size: 1500, token_chars: 12, prompt_tokens: markers };
    let inner = vocabulary::train(texts.iter().map(String::as_str), &options).unwrap();
    let end = inner.token_to_id("<|im_end|>").unwrap();
    let vocab_size = inner.get_vocab_size(true);
    let tokenizer = Tokenizer::from_parts(inner, vec![end], Some(CHATML.into()));
    let small = DecoderConfig {
        vocab_size,
        hidden_size: 32,
        num_hidden_layers: 2,
        num_attention_heads: 2,
        num_key_value_heads: 1,
        head_dim: 16,
        intermediate_size: 48,
        max_position_embeddings: positions,
        ..builtin_shape()
    };
    Policy::initialise(small, tokenizer, Seed::root(3), &Device::Cpu).unwrap().save(dir).unwrap();
}

fn learner(model: &crate::config::ModelConfig) -> Learner {
    let policy = Policy::load(model, Seed::root(4), &Device::Cpu).unwrap();
    let prompts = PromptSet::load(PromptKind::Chat, policy.tokenizer(), &briefing().unwrap()).unwrap();
    Learner { policy, prompts, lessons: None, model: model.clone() }
}

fn chat_options(dir: &Path, steps: usize) -> SftOptions {
    let options = options(dir, steps * 2048);
    SftOptions { config: SftConfig { batch_tokens: 2048, learning_rate: 0.02, ..options.config }, ..options }
}

#[test]
fn a_chat_model_learns_the_corpus_in_its_own_format_by_adapter_and_in_full() {
    for lora_r in [4, 0] {
        let (empty, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut model = crate::config::Config::preset("llm").unwrap().model;
        (model.model, model.lora_r, model.lora_alpha) = (SMALL.path().display().to_string(), lora_r, 32.0);
        let mut losses = Vec::new();
        let summary = trained(&chat_options(out.path(), 8), Some(learner(&model)), &mut |progress| {
            losses.push(progress.loss);
            ControlFlow::Continue(())
        });
        assert!(losses[7] < losses[0] - 0.1, "{losses:?}");
        // The saved model or adapter can be loaded again and has the same held-out loss.
        let trained = match lora_r {
            0 => crate::config::ModelConfig { model: out.path().display().to_string(), ..model },
            _ => crate::config::ModelConfig { adapter: out.path().display().to_string(), ..model },
        };
        assert_eq!(out.path().join("adapter_config.json").exists(), lora_r > 0);
        let fresh = chat_options(empty.path(), 8);
        let again = Training::begin(&fresh, Some(learner(&trained))).unwrap();
        let (held_out, expected) = (again.held_out_loss().unwrap(), summary.unwrap().held_out_loss);
        assert!((held_out - expected).abs() < 1e-4, "{held_out}, expected {expected}");
    }
}

#[test]
fn an_example_of_a_chat_is_the_prompt_the_program_the_fence_and_the_end_of_the_turn() {
    let Learner { policy, prompts, .. } = small();
    let mix = Mix { error_rate: 0.0, ..Mix::default() };
    let examples = Writer::new(&policy, &prompts, &mix).batch(Seed::root(2), 8000).unwrap();
    let tokenizer = policy.tokenizer();
    for example in &examples {
        let (prompt, answer) = example.parts();
        let asked = prompts.prompts().iter().find(|known| known.ids == prompt).unwrap();
        assert_eq!(answer.last().copied(), tokenizer.token_id("<|im_end|>"));
        let answer = tokenizer.decode(answer);
        let program = asked.program_text(answer.strip_suffix("```").unwrap());
        assert!(program.starts_with("def strategy(board):\n") && program.ends_with('\n'), "{program}");
        assert!(ruff_python_parser::parse_module(&program).is_ok(), "{program}");
    }
}

#[test]
fn an_example_ends_with_the_token_that_ends_an_answer_to_its_prompt() {
    let Learner { policy, prompts, .. } = small();
    let prompt = crate::prompt::Prompt { end: Some(5), ..prompts.prompts()[0].clone() };
    let source = format!("{}\n    return 'W'\n", prompt.prefill);
    let example = Example::new(&prompt, &source, &policy).unwrap().unwrap();
    assert_eq!(example.parts().1.last(), Some(&5));
}

#[test]
fn a_model_that_is_too_short_for_the_prompt_says_so() {
    let (base, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    chat_model(base.path(), 64);
    let mut model = crate::config::Config::preset("llm").unwrap().model;
    model.model = base.path().display().to_string();
    let error = trained(&chat_options(out.path(), 1), Some(learner(&model)), &mut go_on).unwrap_err();
    assert!(matches!(error, SftError::NothingFits { longest: 64, .. }), "{error}");
}
