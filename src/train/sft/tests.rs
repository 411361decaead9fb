use std::path::Path;

use super::*;
use crate::corpus::Style;

fn options(dir: &Path, total_tokens: usize) -> SftOptions {
    let config = crate::config::Config::preset("builtin").unwrap().sft;
    SftOptions {
        config: SftConfig { total_tokens, batch_tokens: 512, warmup_steps: 2, ..config },
        seed: Seed::root(5),
        output_dir: dir.into(),
        device: Device::Cpu,
    }
}

fn go_on(_: &SftProgress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn every_program_survives_the_built_in_vocabulary_and_fits_a_completion() {
    let tokenizer = builtin_tokenizer(Seed::root(0)).unwrap();
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
fn the_loss_falls_and_the_same_seed_gives_the_same_files() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let summaries = dirs.each_ref().map(|dir| {
        let (mut first, mut last) = (f64::NAN, f64::NAN);
        let summary = run(&options(dir.path(), 6 * 512), &mut |progress| {
            if progress.step == 1 {
                first = progress.loss;
            }
            last = progress.loss;
            ControlFlow::Continue(())
        });
        assert!(last < first, "{first} to {last}");
        summary.unwrap()
    });
    assert_eq!(summaries[0], summaries[1]);
    for name in ["model.safetensors", "tokenizer.json", "config.json", "generation_config.json"] {
        let read = |dir: &tempfile::TempDir| std::fs::read(dir.path().join(name)).unwrap();
        assert_eq!(read(&dirs[0]), read(&dirs[1]), "{name}");
    }
}

#[test]
fn a_run_that_was_stopped_goes_on_as_if_nothing_had_happened() {
    let (unbroken, broken) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    run(&options(unbroken.path(), 5 * 512), &mut go_on).unwrap();
    let stopped = run(&options(broken.path(), 5 * 512), &mut |progress| match progress.step {
        2 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    let stopped = stopped.unwrap();
    assert!(stopped.interrupted && stopped.steps == 2);
    assert!(!broken.path().join("model.safetensors").exists());
    let other = run(&options(broken.path(), 4 * 512), &mut go_on).unwrap_err();
    assert!(matches!(other, SftError::OtherRun { .. }), "{other}");
    let finished = run(&options(broken.path(), 5 * 512), &mut go_on).unwrap();
    assert!(!finished.interrupted && finished.steps == 5);
    let read = |dir: &tempfile::TempDir| std::fs::read(dir.path().join("model.safetensors")).unwrap();
    assert_eq!(read(&unbroken), read(&broken));
}

#[test]
fn padding_and_splitting_change_the_loss_by_rounding_only() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), 512);
    let training = Training::begin(&options).unwrap();
    let examples = Writer::new(&training.policy, &training.prompts, &training.mix).batch(Seed::root(9), 3000);
    let sum = |parts: &[Vec<Example>]| -> f64 {
        let loss = |rows: &Vec<Example>| batches::loss(&training.policy, rows).unwrap().to_scalar::<f32>().unwrap();
        parts.iter().map(|rows| f64::from(loss(rows))).sum()
    };
    let (split, alone) =
        (micro_batches(examples.clone()), examples.iter().map(|e| vec![e.clone()]).collect::<Vec<_>>());
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
