//! The model: whether it loads, whether prompts suit it, and whether another implementation computes the same of it.

use std::time::Instant;

use super::machine;
use crate::cli::opened::machine::MachineMemory;
use crate::cli::opened::{arena, model};
use crate::cli::said::{CliError, Finding};
use crate::config::Config;
use crate::plural::prefixed;
use crate::policy::{self, Agreement, Device, Policy, PolicyError, Precision};

/// What the logits of both implementations follow.
const PROBE: &str = "def strategy(board):\n    return \"W\"\n";

pub fn device_and_model(config: &Config) -> Vec<Finding> {
    let name = &config.model.device;
    let (device, fallback) = match policy::open_device(name) {
        Ok(opened) => opened,
        Err(error) => return vec![Finding::problem("device", error, "--device cpu always works")],
    };
    let chosen = if name == "auto" { " (auto)" } else { "" };
    let why = if fallback.is_some() { ": no GPU can be used" } else { "" };
    let mut findings = vec![
        Finding::ok("device", format!("{}{chosen}{why}", policy::device_name(&device))),
        machine::precision(config.model.precision, &device),
    ];
    findings.extend(model(config, &device));
    findings
}

fn model(config: &Config, device: &Device) -> Vec<Finding> {
    let started = Instant::now();
    match model::policy_of("--model", config, device) {
        Ok(policy) => vec![loaded(config, &policy, started.elapsed().as_secs_f64()), logits(&policy)],
        Err(error) => {
            let advice = match &error {
                CliError::User { hint: Some(hint), .. } => hint,
                _ => "name `builtin`, a directory in Hugging Face layout, a .gguf file, or owner/name",
            };
            vec![Finding::problem("model", &error, advice)]
        }
    }
}

fn loaded(config: &Config, policy: &Policy, seconds: f64) -> Finding {
    let parameters = prefixed(policy.decoder().config().parameters());
    let place = model::place(config);
    let line = format!("{}: {parameters} weights, {place}, loaded in {seconds:.1} s", config.model.model);
    let prompts = arena::environment(config).and_then(|environment| model::prompts(config, policy, &environment));
    match prompts {
        Ok(_) if policy.tokenizer().stop_ids().is_empty() => Finding::warning(
            "model",
            format!("{line}; no token ends a text, so a completion goes on to its end of program or longest length"),
            "name eos_token_id in its generation_config.json",
        ),
        Ok(_) => Finding::ok("model", line),
        Err(CliError::User { message, hint }) => {
            Finding::problem("model", format!("{line}; {message}"), hint.unwrap_or_default())
        }
        Err(error) => Finding::problem("model", error, "its prompts cannot be made"),
    }
}

/// Our logits beside those of candle-transformers.
fn logits(policy: &Policy) -> Finding {
    let needed = policy.decoder().config().parameters() as u64 * 4;
    if MachineMemory::of_this_process().is_some_and(|memory| memory.free < needed + needed / 4) {
        let gigabytes = needed as f64 / 1e9;
        return Finding::ok("logits", format!("not compared with candle-transformers: a copy takes {gigabytes:.1} GB"));
    }
    logits_finding(policy.compared(&policy.tokenizer().encode(PROBE)), policy.decoder().precision())
}

fn logits_finding(found: Result<Option<Agreement>, PolicyError>, precision: Precision) -> Finding {
    let agreement = match found {
        Ok(Some(agreement)) => agreement,
        Ok(None) => {
            return Finding::ok("logits", "not compared: candle-transformers lacks something that this model has");
        }
        Err(error) => {
            return Finding::warning("logits", format!("not compared with candle-transformers: {error}"), ADVICE);
        }
    };
    // Formats of 16 bits round every layer's result to eight bits, or to eleven.
    let allowed = if precision == Precision::F32 { 1e-3 } else { 0.1 };
    let Agreement { difference, magnitude } = agreement;
    let line = format!("agree within {difference:.0e} with candle-transformers (they reach {magnitude:.1})");
    if difference.is_nan() {
        let line = "they are NaN or infinite after a short program, so nothing can be sampled";
        return Finding::problem("logits", line, "try --set model.precision=f32, or fetch the model again");
    }
    if difference <= allowed * magnitude {
        return Finding::ok("logits", line);
    }
    let line = format!("differ by {difference:.2} from those of candle-transformers (which reach {magnitude:.1})");
    Finding::warning("logits", line, ADVICE)
}

const ADVICE: &str =
    "one of the two reads this model wrongly: compare `eval` with what its authors report, and tell us";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{DecoderConfig, Tokenizer};
    use crate::preflight::Level;
    use crate::seed::Seed;

    #[test]
    fn a_model_without_a_token_that_ends_a_text_is_warned_of() {
        let mut config = Config::preset("llm").unwrap();
        config.model.raw_prompt = true;
        let shape = DecoderConfig {
            vocab_size: 128,
            hidden_size: 2,
            num_hidden_layers: 1,
            num_attention_heads: 1,
            num_key_value_heads: 1,
            head_dim: 2,
            intermediate_size: 2,
            max_position_embeddings: 1 << 16,
            ..DecoderConfig::LLAMA
        };
        let letters: serde_json::Map<_, _> = (0..128_u8).map(|id| (char::from(id).to_string(), id.into())).collect();
        let tokenizer = serde_json::json!({"model": {"type": "BPE", "vocab": letters, "merges": []}}).to_string();
        let of = |ends: Option<&str>| {
            let tokenizer = Tokenizer::from_json(&tokenizer, None, ends).unwrap();
            let policy = Policy::initialise(shape.clone(), tokenizer, Seed::root(1), &Device::Cpu).unwrap();
            loaded(&config, &policy, 0.1)
        };
        let endless = of(None);
        assert_eq!(endless.level, Level::Warning, "{}", endless.finding);
        assert!(endless.finding.contains("no token ends a text"), "{}", endless.finding);
        assert_eq!(of(Some(r#"{"eos_token_id": 3}"#)).level, Level::Ok);
    }

    #[test]
    fn logits_that_differ_are_warned_of_and_those_that_are_no_numbers_are_a_problem() {
        let of = |difference, precision| {
            logits_finding(Ok(Some(Agreement { difference, magnitude: 10.0 })), precision).level
        };
        assert_eq!([of(0.009, Precision::F32), of(0.011, Precision::F32)], [Level::Ok, Level::Warning]);
        assert_eq!([of(0.9, Precision::Bf16), of(1.1, Precision::Bf16)], [Level::Ok, Level::Warning]);
        assert_eq!(of(f32::NAN, Precision::F32), Level::Problem);
        assert_eq!(logits_finding(Ok(None), Precision::F32).level, Level::Ok);
    }
}
