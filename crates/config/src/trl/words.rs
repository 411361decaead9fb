//! Keys whose values have another notation here, or that depend on other keys.

use super::{Given, Meaning, coerce};

/// `dtype`, `bf16` and `fp16`: the setting of mixed precision takes precedence over the format of loaded weights.
pub(super) fn precision(given: &Given<'_>, key: &str) -> Result<Meaning, String> {
    let ours = |format: &str| Ok(Meaning::set("model.precision", format));
    let (bf16, fp16) = (given.truth("bf16")?, given.truth("fp16")?);
    match (bf16, fp16) {
        (Some(true), Some(true)) => return Err("bf16 and fp16 exclude each other".into()),
        (Some(true), _) => return ours("bf16"),
        (_, Some(true)) => return ours("f16"),
        _ => {}
    }
    let dtype = given.word("dtype").or(given.word("torch_dtype"));
    match dtype.as_deref() {
        // TRL trains in bf16 where fp16 is false and nothing else is given; so does `auto` on a device that can.
        None if key == "fp16" && bf16.is_none() => Ok(Meaning::nothing("false decides nothing without bf16 and dtype")),
        None if key == "bf16" || key == "fp16" => ours("f32"),
        Some("auto") => ours("auto"),
        None | Some("float32" | "torch.float32") => ours("f32"),
        Some("bfloat16" | "torch.bfloat16") => ours("bf16"),
        Some("float16" | "torch.float16") => ours("f16"),
        Some(_) => Err("expected auto, float32, bfloat16 or float16".into()),
    }
}

/// The processor, if it is requested.
pub(super) fn device(given: &Given<'_>, key: &str) -> Result<Meaning, String> {
    Ok(match given.truth(key)? {
        Some(true) => Meaning::set("model.device", "cpu"),
        _ => Meaning::nothing("model.device = auto finds a GPU where there is one"),
    })
}

/// TRL's `lora_alpha`.
const TRL_ALPHA: f64 = 32.0;

/// `use_peft` and `lora_r`: without adapters every weight is trained. Adapters are scaled by alpha over rank, so that a rank of
/// TRL has TRL's alpha where the file has none.
pub(super) fn lora(given: &Given<'_>, key: &str) -> Result<Meaning, String> {
    let rank = given.number("lora_r")?.map(coerce::whole).transpose()?;
    let of_rank = |rank: i64| match given.get("lora_alpha") {
        Some(_) => Meaning::set("model.lora_r", rank),
        None => Meaning::set("model.lora_r", rank).and("model.lora_alpha", TRL_ALPHA).because("lora_alpha is TRL's"),
    };
    Ok(match (given.truth("use_peft")?, rank) {
        (Some(false), _) if key == "lora_r" => Meaning::nothing("use_peft is false"),
        (Some(false), _) => Meaning::set("model.lora_r", 0).because("every weight is trained"),
        (Some(true), None) => of_rank(16).because("TRL's, unless the file says otherwise"),
        (Some(true), Some(rank)) => of_rank(rank),
        (None, rank) => of_rank(rank.unwrap_or(0)).because("as if use_peft were true"),
    })
}

/// `lora_dropout` and `disable_dropout`. TRL turns off every dropout of a model, that of its adapters among them.
pub(super) fn dropout(given: &Given<'_>, key: &str) -> Result<Meaning, String> {
    let is_off = given.truth("disable_dropout")? == Some(true);
    Ok(match key {
        "disable_dropout" if is_off => Meaning::set("model.lora_dropout", 0.0),
        "disable_dropout" => Meaning::nothing("model.lora_dropout is all the dropout that there is"),
        _ if is_off => Meaning::nothing("disable_dropout is true"),
        _ => return given.is(key, "model.lora_dropout"),
    })
}

/// As transformers has it, 0 clips nothing.
pub(super) fn max_grad_norm(given: &Given<'_>, key: &str) -> Result<Meaning, String> {
    match given.number(key)? {
        Some(0.0) => Ok(Meaning::set("grpo.max_grad_norm", 1e30).because("0 scales no gradient down")),
        _ => given.is(key, "grpo.max_grad_norm"),
    }
}

/// Older versions of TRL have -1 for no limit.
pub(super) fn top_k(given: &Given<'_>, key: &str) -> Result<Meaning, String> {
    let count = coerce::whole(given.number(key)?.unwrap_or(0.0))?;
    Ok(Meaning::set("rollout.top_k", count.max(0)))
}

/// `epsilon` and `epsilon_high`; in TRL the second is equal to the first by default.
pub(super) fn clips(given: &Given<'_>, key: &str) -> Result<Meaning, String> {
    let meaning = given.is(key, if key == "epsilon" { "grpo.epsilon" } else { "grpo.epsilon_high" })?;
    let Some(epsilon) = given.number("epsilon")? else { return Ok(meaning) };
    match given.get("epsilon_high") {
        Some(_) => Ok(meaning),
        None => Ok(meaning.and("grpo.epsilon_high", epsilon).because("TRL's upper clip is epsilon unless it is said")),
    }
}

/// Whether the KL penalty is weighted by the ratio.
pub(super) fn kl(given: &Given<'_>, key: &str) -> Result<Meaning, String> {
    match (given.truth(key)?, given.number("beta")?) {
        (Some(true), Some(beta)) if beta > 0.0 => {
            Err("the KL penalty is k3 alone, without the ratio before it; say false, or leave it away".into())
        }
        (Some(true), _) => Ok(Meaning::nothing("beta is 0")),
        _ => Ok(Meaning::nothing("that is what is done here")),
    }
}

/// The correction for servers. The program's own decoder needs none.
pub(super) fn correction(given: &Given<'_>, key: &str) -> Result<Meaning, String> {
    const WITH_SERVERS: &str = "counts with --rollouts";
    let off = given.truth("vllm_importance_sampling_correction")? == Some(false);
    let meaning = match key.trim_start_matches("vllm_importance_sampling_") {
        "correction" if off => Meaning::set("rollout.correction", "none"),
        "correction" => Meaning::nothing("rollout.correction says how, with --rollouts (docs/vllm.md)"),
        _ if off => return Ok(Meaning::nothing("vllm_importance_sampling_correction is false")),
        "mode" => {
            let mode = given.word(key).unwrap_or_default();
            let (level, way) = mode.split_once('_').unwrap_or_default();
            if !["token", "sequence"].contains(&level) || !["truncate", "mask"].contains(&way) {
                return Err("expected token_truncate, token_mask, sequence_truncate or sequence_mask".into());
            }
            Meaning::set("rollout.correction", way).and("rollout.correction_level", level)
        }
        "clip_min" => given.is(key, "rollout.correction_floor")?,
        _ => given.is(key, "rollout.correction_cap")?,
    };
    Ok(if meaning.settings.is_empty() { meaning } else { meaning.because(WITH_SERVERS) })
}

/// The divisor of advantages. Older versions of TRL have true or false.
pub(super) fn scale_rewards(given: &Given<'_>, key: &str) -> Result<Meaning, String> {
    match given.truth(key) {
        Ok(Some(true)) => Ok(Meaning::set("grpo.scale_rewards", "group")),
        Ok(Some(false)) => Ok(Meaning::set("grpo.scale_rewards", "none")),
        _ => given.is(key, "grpo.scale_rewards"),
    }
}

/// `entropy_coef`, which is constant. TRL's adaptive rule differs from this program's and is refused.
pub(super) fn entropy(given: &Given<'_>, key: &str) -> Result<Meaning, String> {
    if given.truth("use_adaptive_entropy")? == Some(true) {
        return Err("TRL holds entropy to nats; grpo.entropy_target holds it to a share of the first step's: say \
                    use_adaptive_entropy: false, and --set grpo.entropy_target=0.7"
            .into());
    }
    Ok(match key {
        "entropy_coef" => {
            given.is(key, "grpo.entropy_coef")?.and("grpo.entropy_target", 0.0).because("it stays as it is")
        }
        _ => Meaning::set("grpo.entropy_target", 0.0),
    })
}

/// The schedule of the learning rate. TRL's `constant` has no warm-up, whatever the file says of one.
pub(super) fn scheduler(given: &Given<'_>, key: &str) -> Result<Meaning, String> {
    match given.word(key).as_deref() {
        Some("constant_with_warmup") => Ok(Meaning::set("grpo.lr_scheduler_type", "constant")),
        Some("constant") => Ok(Meaning::set("grpo.lr_scheduler_type", "constant")
            .and("grpo.warmup_steps", 0)
            .because("TRL's has no warm-up; constant_with_warmup has")),
        Some(same @ ("linear" | "cosine")) => Ok(Meaning::set("grpo.lr_scheduler_type", same)),
        _ => Err("expected constant, constant_with_warmup, linear or cosine".into()),
    }
}

/// When checkpoints are written.
pub(super) fn save_strategy(given: &Given<'_>, key: &str) -> Result<Meaning, String> {
    match given.word(key).as_deref() {
        Some("steps") => Ok(Meaning::nothing("save_steps says how often")),
        _ => Err("expected steps: a checkpoint is written every save_steps, and at the end; leave it away".into()),
    }
}

/// When held-out evaluations are made, in addition to the first and the last.
pub(super) fn eval_strategy(given: &Given<'_>, key: &str) -> Result<Meaning, String> {
    match given.word(key).as_deref() {
        Some("steps") if given.get("eval_steps").is_none() => Ok(Meaning::nothing(
            "the file has no eval_steps, for which TRL takes logging_steps; train.eval_steps says how often",
        )),
        Some("steps") => Ok(Meaning::nothing("eval_steps says how often")),
        // YAML 1.1 reads a bare `no` as false.
        Some("no" | "false") => Ok(Meaning::set("train.eval_steps", 0)),
        _ => Err("expected no or steps, with eval_steps; the first and the last step are always evaluated".into()),
    }
}

/// The trackers that get the metrics.
pub(super) fn report_to(given: &Given<'_>, key: &str) -> Result<Meaning, String> {
    let words: Vec<String> = match given.get(key) {
        Some(serde_json::Value::Array(items)) => items.iter().map(coerce::text).collect(),
        one => one.map(coerce::text).into_iter().collect(),
    };
    let others: Vec<&str> =
        words.iter().map(String::as_str).filter(|word| !["none", "all", "tensorboard"].contains(word)).collect();
    let note = match others.as_slice() {
        [] => String::new(),
        others => format!("not to {}; metrics.jsonl has every number", others.join(", ")),
    };
    Ok(match words.iter().all(|word| word == "none") {
        true => Meaning::set("train.tensorboard", false).because("metrics.jsonl is always written"),
        false if words.iter().any(|word| word == "tensorboard" || word == "all") => {
            Meaning::set("train.tensorboard", true).because(note)
        }
        false => Meaning::nothing(note),
    })
}
