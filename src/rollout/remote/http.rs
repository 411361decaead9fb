//! Requests to one server, within bounds: what comes back is JSON, or a fault with a hint.

use std::time::Duration;

use serde_json::Value;
use ureq::Agent;
use ureq::config::AutoHeaderValue;

/// Longest wait for a machine to take a call.
const CONNECT: Duration = Duration::from_secs(10);
/// Longest wait for what a server says of itself: one that hangs must not hold up those that do not.
const GLANCE: Duration = Duration::from_secs(60);
/// Bytes of the longest answer: a token takes about 150 with its log-probability.
const ANSWER_BYTES_MAX: u64 = 64 << 20;
/// Characters of a server's words that are repeated.
const WORDS_MAX: usize = 300;

/// What is wrong with an answer, or that there is none.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fault {
    pub found: String,
    pub hint: &'static str,
}

impl Fault {
    /// An answer that vLLM would not give.
    pub fn rubbish(found: impl Into<String>) -> Fault {
        Fault { found: found.into(), hint: "is that vLLM, 0.32 or newer?" }
    }
}

/// Speaks HTTP.
#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
    longest: Duration,
}

impl Client {
    /// Whose requests take at most so long. No proxy of the environment is asked: servers are machines nearby.
    pub fn new(longest: Duration) -> Client {
        let config = Agent::config_builder()
            .timeout_global(Some(longest))
            .timeout_connect(Some(CONNECT.min(longest)))
            .http_status_as_error(false)
            .proxy(None)
            .user_agent(AutoHeaderValue::from(concat!("grpo-2048/", env!("CARGO_PKG_VERSION"))))
            .build();
        Client { agent: config.new_agent(), longest }
    }

    /// The JSON at `url`, which takes nothing to know.
    pub fn get(&self, url: &str) -> Result<Value, Fault> {
        let request = self.agent.get(url).config().timeout_global(Some(GLANCE.min(self.longest))).build();
        json(&text(request.call())?)
    }

    /// The JSON that is answered to this JSON.
    pub fn ask(&self, url: &str, body: &Value) -> Result<Value, Fault> {
        json(&self.tell(url, body)?)
    }

    /// The text that is answered to this JSON.
    pub fn tell(&self, url: &str, body: &Value) -> Result<String, Fault> {
        text(self.agent.post(url).header("content-type", "application/json").send(body.to_string()))
    }
}

fn json(text: &str) -> Result<Value, Fault> {
    serde_json::from_str(text).map_err(|error| Fault::rubbish(format!("an answer that is no JSON ({error})")))
}

/// The body of a good answer.
fn text(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<String, Fault> {
    let mut answer = answer.map_err(|error| missing(&error))?;
    let body = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string();
    let body = body.map_err(|error| missing(&error))?;
    match answer.status().as_u16() {
        200 => Ok(body),
        status => Err(refused(status, &body)),
    }
}

fn missing(error: &ureq::Error) -> Fault {
    let hint = match error {
        ureq::Error::Timeout(_) => "raise rollout.server_seconds, or lower rollout.server_requests",
        ureq::Error::BodyExceedsLimit(_) | ureq::Error::Protocol(_) => Fault::rubbish("").hint,
        _ => "is it up, and is that its address?",
    };
    Fault { found: format!("no answer ({error})"), hint }
}

/// What a status other than 200 says, with the server's own words.
fn refused(status: u16, body: &str) -> Fault {
    let said: Option<Value> = serde_json::from_str(body).ok();
    let said = said.as_ref().and_then(|said| said.pointer("/error/message").or(said.get("detail")));
    let words = said.map_or(body.to_owned(), |said| said.as_str().map_or(said.to_string(), str::to_owned));
    let words: String = words.trim().chars().take(WORDS_MAX).collect();
    let hint = match status {
        401 => "servers with an API key are not supported",
        403 | 404 => {
            "serve with --enable-lora, --enable-scale-out (from vLLM 0.32 on) and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True, \
             where it sees rollout.adapter_dir"
        }
        500.. => {
            "its log says more; out of memory: lower --max-num-seqs or rollout.server_requests; an adapter: raise \
             --max-lora-rank"
        }
        _ => "its log says more",
    };
    Fault { found: format!("answered {status}: {words}"), hint }
}
