//! Requests for completions, and checks of a server's answers.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::RolloutConfig;
use crate::policy::Policy;
use crate::prompt::Prompt;
use crate::seed::Seed;

use super::super::Completion;
use super::super::decoding::Row;
use super::http::AnswerFault;

/// How far rounding in f32 may raise the logarithm of a probability of 1 above 0.
const ROUNDING: f32 = 1e-4;
/// The value of vLLM for the logarithm of 0, which no sampled token has.
const IMPOSSIBLE: f32 = -9999.0;

#[derive(Deserialize)]
struct Answer {
    model: Option<String>,
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    token_ids: Vec<u32>,
    logprobs: Logprobs,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Logprobs {
    content: Vec<Token>,
}

#[derive(Deserialize)]
struct Token {
    token_id: u32,
    logprob: f32,
}

/// The request for one completion by `model`, a server's name of weights. Each completion is a request, so that each
/// has its own seed. The same token ids end a completion as with the program's own decoder.
pub(super) fn question(model: &str, prompt: &Prompt, config: &RolloutConfig, stop_ids: &[u32], seed: Seed) -> Value {
    // vLLM refuses a top_p of 0, which leaves the likeliest token alone.
    let (top_p, top_k) = if config.top_p > 0.0 { (config.top_p, config.top_k) } else { (1.0, 1) };
    let mut sampling = json!({
        "n": 1,
        "max_tokens": prompt.room(config.max_completion_length),
        "temperature": config.temperature,
        "top_p": top_p,
        "top_k": top_k,
        "min_p": config.min_p,
        // vLLM's seeds are signed.
        "seed": seed.get() >> 1,
        "logprobs": 0,
        "stop_token_ids": stop_ids,
        "ignore_eos": true,
        "detokenize": prompt.stop.is_some(),
    });
    if let Some(stop) = prompt.stop {
        sampling["stop"] = json!([stop]);
    }
    json!({ "model": model, "token_ids": prompt.ids, "sampling_params": sampling })
}

/// The completion of the answer to [`question`], for the empty `row`. Its tokens decide where it ends, not the server.
pub(super) fn completion(answer: Value, model: &str, mut row: Row, policy: &Policy) -> Result<Completion, AnswerFault> {
    let Answer { model: by, choices } = serde_json::from_value(answer)
        .map_err(|error| AnswerFault::rubbish(format!("an answer out of shape: {error}")))?;
    if let Some(other) = by.filter(|by| by != model) {
        return Err(AnswerFault::rubbish(format!("an answer by {other}, expected one by {model}")));
    }
    let [Choice { token_ids, logprobs: Logprobs { content }, finish_reason }] = &choices[..] else {
        return Err(AnswerFault::rubbish(format!("{} completions, expected 1", choices.len())));
    };
    if token_ids.len() != content.len() || token_ids.iter().zip(content).any(|(id, token)| *id != token.token_id) {
        let (tokens, logprobs) = (token_ids.len(), content.len());
        return Err(AnswerFault::rubbish(format!(
            "{tokens} tokens and log-probabilities of {logprobs} that are not theirs"
        )));
    }
    let vocabulary = policy.decoder().config().vocab_size;
    for (place, token) in content.iter().enumerate() {
        let (id, logprob) = (token.token_id, token.logprob);
        if id as usize >= vocabulary {
            let found = format!("token {place} has the id {id}, the model {vocabulary} of them");
            return Err(AnswerFault::new(found, "serve the model that is trained"));
        }
        if !(logprob > IMPOSSIBLE && logprob <= ROUNDING) {
            return Err(AnswerFault::rubbish(format!("token {place} has the log-probability {logprob}")));
        }
        if !row.ended {
            row.push(id, logprob.min(0.0), policy.tokenizer());
        }
    }
    let (longest, tokens, s) = (row.longest, token_ids.len(), if token_ids.len() == 1 { "" } else { "s" });
    if tokens > longest {
        return Err(AnswerFault::rubbish(format!("{tokens} token{s}, asked for {longest}")));
    }
    if !row.ended {
        let reason = finish_reason.as_deref().unwrap_or("none");
        let found = format!("{tokens} token{s} that no stop ends (finish_reason {reason}), asked for {longest}");
        return Err(AnswerFault::new(found, broken_off(reason)));
    }
    Ok(row.completion(policy.tokenizer()))
}

/// The hint for a completion without an end that a server has finished for this reason.
fn broken_off(reason: &str) -> &'static str {
    match reason {
        "length" => "raise --max-model-len there",
        _ => "the server broke it off; its log says more",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn more_room_is_advised_where_a_server_has_run_out_of_it_and_not_where_it_broke_off() {
        assert!(broken_off("length").contains("--max-model-len"));
        for reason in ["error", "abort", "stop", "none"] {
            assert_eq!(broken_off(reason), "the server broke it off; its log says more", "{reason}");
        }
    }

    #[test]
    fn the_likeliest_token_alone_is_asked_for_in_words_that_vllm_takes() {
        let asked = |top_p: f64, top_k: usize| {
            let config = RolloutConfig { top_p, top_k, ..Config::preset("llm").unwrap().rollout };
            let question = question("m", &Prompt::default(), &config, &[], Seed::root(1));
            (question["sampling_params"]["top_p"].as_f64(), question["sampling_params"]["top_k"].as_u64())
        };
        assert_eq!(asked(0.0, 5), (Some(1.0), Some(1)));
        assert_eq!(asked(0.9, 5), (Some(0.9), Some(5)));
    }
}
