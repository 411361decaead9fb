//! The tiny models of `tests/goldens`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use candle_core::Device;
use grpo_2048::config::{Config, ModelConfig, PrecisionChoice};
use grpo_2048::policy::{Policy, open_device};
use grpo_2048::seed::Seed;

/// Their device: the processor, or the device in `GRPO_2048_TEST_DEVICE`.
pub fn device() -> &'static Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    DEVICE.get_or_init(|| {
        let name = std::env::var("GRPO_2048_TEST_DEVICE").unwrap_or_else(|_| "cpu".into());
        open_device(&name).unwrap_or_else(|error| panic!("GRPO_2048_TEST_DEVICE={name}: {error}")).0
    })
}

/// The directory of the models.
pub fn goldens() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens")
}

/// A tiny model in f32, with the adapter that PEFT wrote or with all weights trained, and with an unused tokenizer.
pub fn tiny(family: &str, adapted: bool) -> Policy {
    tiny_in(family, adapted, PrecisionChoice::F32)
}

/// The same in another precision.
pub fn tiny_in(family: &str, adapted: bool, precision: PrecisionChoice) -> Policy {
    let dir = tempfile::tempdir().unwrap();
    for file in ["config.json", "model.safetensors"] {
        std::fs::copy(goldens().join(family).join(file), dir.path().join(file)).unwrap();
    }
    let tokenizer = serde_json::json!({
        "version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": null, "post_processor": null,
        "decoder": null, "truncation": null, "padding": null,
        "model": { "type": "BPE", "vocab": { "a": 0 }, "merges": [] },
    });
    std::fs::write(dir.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let adapter = if adapted { goldens().join(family).join("adapter").display().to_string() } else { String::new() };
    let model = dir.path().display().to_string();
    let settings = ModelConfig { model, adapter, precision, ..Config::preset("builtin").unwrap().model };
    Policy::load(&settings, Seed::root(0), device()).unwrap()
}
