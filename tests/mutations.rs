//! Tests that files with changed bytes or numbers are accepted or refused with a message, without a panic, a request
//! for more memory than the machine has, or an endless loop.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use candle_core::{Device, Tensor};
use grpo_2048::config::{Config, ModelConfig};
use grpo_2048::environment::tasks::Tasks;
use grpo_2048::grpo::Optimizer;
use grpo_2048::policy::{Adapters, Policy};
use grpo_2048::prompt::{ChatTemplate, Message};
use grpo_2048::report::{Refresh, RunReader, html};
use grpo_2048::seed::Seed;
use grpo_2048::train::checkpoint;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// The maximum size of an allocation, as on a machine with little memory. A larger one ends the process and the test.
const BYTES_AT_ONCE: usize = 1 << 30;

/// Time limit for reading a file, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

struct Small;

#[allow(unsafe_code, reason = "an allocator that counts is no safe trait")]
// SAFETY: all calls that are not refused are passed on to the system's allocator.
unsafe impl GlobalAlloc for Small {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > BYTES_AT_ONCE {
            return std::ptr::null_mut();
        }
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Small = Small;

/// The name of the file that is being read.
static READING: Mutex<String> = Mutex::new(String::new());

/// Numbers that are put into headers.
const CLAIMS: &[u64] = &[0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 1 << 33, 1 << 62, 1 << 63, u64::MAX];

/// Words that replace a number or a word of a text.
const WORDS: &[&str] =
    &["-1", "0", "1e308", "4294967299", "9223372036854775808", "null", "[]", "{}", "\"\"", "\"x\"", "true", "nan"];

fn golden(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens").join(path)
}

/// Changes a few bytes.
fn mutated(original: &[u8], rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = original.to_vec();
    if bytes.is_empty() {
        return vec![rng.random()];
    }
    // Most errors are possible in headers.
    let end = if rng.random_bool(0.8) { bytes.len().min(4096) } else { bytes.len() };
    let at = rng.random_range(0..end);
    match rng.random_range(0..6) {
        0 => bytes[at] ^= 1 << rng.random_range(0..8),
        1 => bytes[at] = rng.random(),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..bytes.len().min(at + rng.random_range(1..64)))),
        4 => {
            let claim = CLAIMS[rng.random_range(0..CLAIMS.len())].to_le_bytes();
            let width = if rng.random() { 4 } else { 8 };
            bytes.iter_mut().skip(at).zip(&claim[..width]).for_each(|(byte, claimed)| *byte = *claimed);
        }
        _ => replace_word(&mut bytes, at, WORDS[rng.random_range(0..WORDS.len())]),
    }
    bytes
}

/// Replaces the next number or word of a text by `word`.
fn replace_word(bytes: &mut Vec<u8>, at: usize, word: &str) {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let from = at + bytes[at..].iter().position(is_part).unwrap_or(0);
    let to = from + bytes[from..].iter().take_while(|byte| is_part(byte)).count();
    bytes.splice(from..to, word.bytes());
}

/// Reads `times` variants of the files, each with one of them changed. Returns those that caused a panic.
fn study(files: &[PathBuf], times: usize, seed: u64, read: &dyn Fn()) -> Vec<String> {
    let mut rng = Seed::root(seed).rng();
    let originals: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    let mut panics = Vec::new();
    read();
    for variant in 0..times {
        let which = rng.random_range(0..files.len());
        let named = format!("{}, variant {variant} of seed {seed}", files[which].display());
        named.clone_into(&mut READING.lock().unwrap());
        fs::write(&files[which], mutated(&originals[which], &mut rng)).unwrap();
        if catch_unwind(AssertUnwindSafe(read)).is_err() {
            panics.push(named);
        }
        fs::write(&files[which], &originals[which]).unwrap();
    }
    panics
}

/// Loads a model and computes logits, if it is accepted.
fn ask(model: &Path, adapter: &str) {
    let model = model.display().to_string();
    let settings = ModelConfig { model, adapter: adapter.into(), ..Config::preset("builtin").unwrap().model };
    let Ok(policy) = Policy::load(&settings, Seed::root(0), &Device::Cpu) else { return };
    let ids = policy.tokenizer().encode("def strategy(board):\n    return 'W'\n");
    policy.tokenizer().decode(&[0, 1, u32::MAX]);
    let vocabulary = policy.decoder().config().vocab_size as u32;
    let ids: Vec<u32> = ids.into_iter().chain([0, 1]).map(|id| id % vocabulary).take(8).collect();
    let hidden = Tensor::new(vec![ids], &Device::Cpu).map(|ids| policy.decoder().hidden(&ids, Adapters::On));
    drop(hidden.map(|hidden| hidden.and_then(|hidden| policy.decoder().logits(&hidden))));
}

/// Ends the process if reading takes longer than the limit.
fn watch() {
    let begun = Instant::now();
    std::thread::spawn(move || {
        std::thread::sleep(PATIENCE.saturating_sub(begun.elapsed()));
        eprintln!("still reading {}", READING.lock().unwrap());
        #[expect(clippy::disallowed_methods, reason = "a child that must not go on, seen by its exit code")]
        std::process::exit(101);
    });
}

fn copied(from: &Path, files: &[&str], to: &Path) -> Vec<PathBuf> {
    let copy = |file: &&str| {
        let target = to.join(file);
        fs::copy(from.join(file), &target).unwrap();
        target
    };
    files.iter().map(copy).collect()
}

#[test]
fn no_changed_file_ends_the_program() {
    watch();
    let dir = tempfile::tempdir().unwrap();
    let mut panics = Vec::new();

    for (index, name) in ["qwen2.gguf", "qwen3.gguf", "smollm-linear.gguf"].into_iter().enumerate() {
        let file = copied(&golden("gguf"), &[name], dir.path());
        panics.extend(study(&file, 60, index as u64, &|| ask(&file[0], "")));
    }

    let model = dir.path().join("model");
    fs::create_dir(&model).unwrap();
    let builtin = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/builtin");
    let mut files = copied(&golden("llama"), &["config.json", "model.safetensors"], &model);
    let synthetic = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/synthetic");
    files.extend(copied(&synthetic, &["tokenizer.json"], &model));
    files.extend(copied(&builtin, &["generation_config.json", "tokenizer_config.json"], &model));
    panics.extend(study(&files, 120, 10, &|| ask(&model, "")));

    let adapter = dir.path().join("adapter");
    fs::create_dir(&adapter).unwrap();
    let files = copied(&golden("llama/adapter"), &["adapter_config.json", "adapter_model.safetensors"], &adapter);
    panics.extend(study(&files, 60, 11, &|| ask(&model, &adapter.display().to_string())));

    let template = copied(&golden("chat"), &["chatml-tools.jinja"], dir.path());
    panics.extend(study(&template, 60, 12, &|| {
        let Ok(source) = fs::read_to_string(&template[0]) else { return };
        let messages = [Message { role: "user", content: "a player, please".into() }];
        drop(ChatTemplate::new(&source, Some("<s>"), None).map(|template| template.render(&messages)));
    }));

    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/tasks");
    let tasks = copied(&examples, &["micro.jsonl"], dir.path());
    panics.extend(study(&tasks, 80, 13, &|| drop(Tasks::open(&tasks[0]))));

    assert!(panics.is_empty(), "{panics:#?}");
}

#[test]
fn no_changed_file_of_a_run_ends_the_program() {
    watch();
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let small = "rollout.groups=2 rollout.num_generations=2 rollout.max_completion_length=160 arena.games=1 train.max_steps=1 \
                 train.seed=11 train.eval_samples=4 train.eval_games=1 sandbox.game_seconds=0.05 train.game_seconds=0.05 \
                 train.preflight=false";
    let mut train = std::process::Command::new(env!("CARGO_BIN_EXE_grpo-2048"));
    train.arg("train").arg("--output-dir").arg(&run);
    let output = train.args(small.split_whitespace().flat_map(|setting| ["--set", setting])).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let at = run.join("checkpoint-1");
    // The files are read without digests, because with digests all changed files would be refused before.
    let names = ["model.safetensors", "optimizer.safetensors", "trainer_state.json", "rng_state.json"];
    let files = names.map(|name| at.join(name));
    let config = Config::preset("builtin").unwrap();
    let resume = || {
        let mut policy = Policy::load(&config.model, Seed::root(0), &Device::Cpu).unwrap();
        let mut optimizer = Optimizer::new(policy.trainable(), &config.grpo).unwrap();
        drop(checkpoint::load(&at, &mut policy, &mut optimizer, 11));
    };
    let mut panics = study(&files, 60, 20, &resume);

    let names = ["config.toml", "metrics.jsonl", "completions/step_00001.jsonl", "hall_of_fame.json"];
    let files = names.map(|name| run.join(name));
    panics.extend(study(&files, 100, 21, &|| {
        let read = RunReader::open(&run).and_then(|mut reader| reader.read());
        drop(read.map(|view| html(&[view], Refresh::Never)));
    }));

    assert!(panics.is_empty(), "{panics:#?}");
}
