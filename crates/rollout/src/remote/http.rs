//! HTTP requests to one server, with limits on time and size. The result is JSON, or a fault with a hint.

use std::io::Read;
use std::time::Duration;

use serde_json::Value;
use ureq::config::AutoHeaderValue;
use ureq::{Agent, Timeout};

const CONNECT: Duration = Duration::from_secs(10);
/// Time limit for requests that need no computation, so that a server that hangs does not delay the others.
const GLANCE: Duration = Duration::from_secs(60);
/// Maximum number of bytes of an answer. A token with its log-probability takes about 150.
const ANSWER_BYTES_MAX: u64 = 64 << 20;
/// Maximum number of characters of a server's message that are shown.
const WORDS_MAX: usize = 300;
/// The hint where nothing answers at an address.
const UNREACHED: &str = "is it up, and is that its address?";
/// The hint where the certificate of a server is none that is accepted.
const CERTIFICATE: &str = "a certificate of a public authority is taken, and none of one's own; in a network of your own say http://, or \
                           forward the server's port by `ssh -L`";

/// The hints where a server tells of another address, which is asked for the same path, or for another.
const ELSEWHERE: &str = "name the server at that address";
const MOVED: &str = "the server, or a proxy before it, moves this path";

/// The hint where a server does not know an adapter that it has loaded.
const LOST: &str = "it has lost the adapter and was told to load it once more; was it started again, without --enable-scale-out, or \
                    with several API servers, of which one alone knows it (--api-server-count 1)? Its log says more";

/// What is wrong with an answer, or that there is none, with a hint.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AnswerFault {
    pub found: String,
    pub hint: &'static str,
    /// The pause that the server asks for, or 0, if the fault may pass by itself.
    pub passing: Option<Duration>,
    /// Whether the server does not know the model or the path that was asked for.
    pub is_unknown: bool,
}

impl AnswerFault {
    pub fn new(found: impl Into<String>, hint: &'static str) -> AnswerFault {
        AnswerFault { found: found.into(), hint, passing: None, is_unknown: false }
    }

    /// An answer that vLLM would not return.
    pub fn rubbish(found: impl Into<String>) -> AnswerFault {
        AnswerFault::new(found, "is that vLLM, 0.32 or newer?")
    }

    /// The fault of a request that was repeated after the adapter was loaded again.
    pub fn lost(self) -> AnswerFault {
        if self.is_unknown { AnswerFault { hint: LOST, ..self } } else { self }
    }

    /// The fault of loading an adapter again that the server has lost.
    pub fn after_loss(self, adapter: &str) -> AnswerFault {
        let found = format!("has lost {adapter}, was it started again? Loading it again: {}", self.found);
        AnswerFault { found, ..self }
    }
}

#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
    /// Time limit of a request.
    longest: Duration,
}

impl Client {
    /// A client with a time limit for requests. It ignores proxies of the environment, because servers are in the same
    /// network.
    pub fn new(longest: Duration) -> Client {
        let config = Agent::config_builder()
            .timeout_global(Some(longest))
            .timeout_connect(Some(CONNECT.min(longest)))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .user_agent(AutoHeaderValue::from(concat!("grpo-2048/", env!("CARGO_PKG_VERSION"))))
            .build();
        Client { agent: config.new_agent(), longest }
    }

    /// Gets the JSON at `url`, with a short time limit.
    pub fn get(&self, url: &str) -> Result<Value, AnswerFault> {
        let request = self.agent.get(url).config().timeout_global(Some(GLANCE.min(self.longest))).build();
        json(&text(url, request.call())?)
    }

    /// Posts JSON and returns the answer as JSON.
    pub fn ask(&self, url: &str, body: &Value) -> Result<Value, AnswerFault> {
        json(&self.tell(url, body)?)
    }

    /// Posts JSON and returns the answer as text.
    pub fn tell(&self, url: &str, body: &Value) -> Result<String, AnswerFault> {
        text(url, self.agent.post(url).header("content-type", "application/json").send(body.to_string()))
    }
}

fn json(text: &str) -> Result<Value, AnswerFault> {
    serde_json::from_str(text).map_err(|error| AnswerFault::rubbish(format!("an answer that is no JSON ({error})")))
}

/// The body of an answer from `url` with status 200.
fn text(url: &str, answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<String, AnswerFault> {
    let mut answer = answer.map_err(|error| missing(&error))?;
    let body = unpacked(answer.body_mut())?;
    let header = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok());
    match (answer.status().as_u16(), header("location")) {
        (200, _) => Ok(body),
        (status @ 300..400, Some(place)) => Err(redirected(status, place, url)),
        (status, _) => Err(AnswerFault { passing: passing(status, header("retry-after")), ..refused(status, &body) }),
    }
}

/// A body of at most [`ANSWER_BYTES_MAX`], as text. The limit of the client counts bytes as they are sent, of which few may be
/// packed from many.
fn unpacked(body: &mut ureq::Body) -> Result<String, AnswerFault> {
    let sent = body.with_config().limit(ANSWER_BYTES_MAX).reader();
    let mut bytes = Vec::new();
    let read = sent.take(ANSWER_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| missing(&error.into()))?;
    if bytes.len() as u64 > ANSWER_BYTES_MAX {
        return Err(AnswerFault::rubbish(format!("an answer of more than {} MiB", ANSWER_BYTES_MAX >> 20)));
    }
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// The fault of an answer from `url` that names another address, which is not asked: what is posted would not be sent on.
fn redirected(status: u16, place: &str, url: &str) -> AnswerFault {
    // A server is named without the path that it is asked for.
    let path = ["/inference/v1/", "/v1/"].iter().find_map(|api| url.rfind(api)).map_or("", |start| &url[start..]);
    let root = place.strip_suffix(path).filter(|root| !path.is_empty() && root.contains("://"));
    let (place, hint) = root.map_or((place, MOVED), |root| (root, ELSEWHERE));
    let place: String = place.chars().take(WORDS_MAX).collect();
    AnswerFault::new(format!("answered {status}: it redirects to {place}"), hint)
}

fn missing(error: &ureq::Error) -> AnswerFault {
    let hint = match error {
        ureq::Error::Timeout(at) => late(*at),
        ureq::Error::BodyExceedsLimit(_) | ureq::Error::Protocol(_) => AnswerFault::rubbish("").hint,
        other => unreached(&other.to_string()),
    };
    // What is started again, or whose proxy is, answers soon.
    let passing = (hint == UNREACHED).then_some(Duration::ZERO);
    AnswerFault { passing, ..AnswerFault::new(format!("no answer ({error})"), hint) }
}

fn unreached(words: &str) -> &'static str {
    // What checks a certificate reports it as an error of the connection.
    if words.contains("certificate") { CERTIFICATE } else { UNREACHED }
}

fn late(at: Timeout) -> &'static str {
    match at {
        // Time to connect has a limit of its own.
        Timeout::Connect | Timeout::Resolve => UNREACHED,
        _ => "raise rollout.server_seconds, or lower rollout.server_requests",
    }
}

/// The pause before a request that had this status, with this `Retry-After`, is worth repeating, if it ever is.
fn passing(status: u16, pause: Option<&str>) -> Option<Duration> {
    // Where a date is told instead of seconds, pauses are those without one.
    let seconds = pause.and_then(|pause| pause.trim().parse().ok()).unwrap_or(0);
    matches!(status, 429 | 502..=504).then_some(Duration::from_secs(seconds))
}

/// The fault of an answer with another status, with the server's message.
fn refused(status: u16, body: &str) -> AnswerFault {
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
        429 => "it is busy; lower rollout.server_requests",
        502..=504 => "it is busy, starting, or behind a proxy that does not reach it; its log says more",
        500.. => {
            "its log says more; out of memory: lower --max-num-seqs or rollout.server_requests; an adapter: raise \
             --max-lora-rank"
        }
        _ => "its log says more",
    };
    AnswerFault { is_unknown: status == 404, ..AnswerFault::new(format!("answered {status}: {words}"), hint) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn more_time_is_advised_where_a_server_is_slow_and_not_where_it_is_unreachable() {
        for at in [Timeout::Resolve, Timeout::Connect] {
            assert_eq!(late(at), UNREACHED, "{at:?}");
        }
        for at in [Timeout::Global, Timeout::RecvResponse, Timeout::RecvBody] {
            assert!(late(at).contains("raise rollout.server_seconds"), "{at:?}");
        }
    }

    #[test]
    fn a_certificate_that_is_not_taken_is_told_from_a_server_that_is_not_there() {
        assert_eq!(unreached("io: invalid peer certificate: UnknownIssuer"), CERTIFICATE);
        assert_eq!(unreached("io: Connection refused"), UNREACHED);
    }

    /// What a client is told of this answer with this head.
    fn told(head: &'static str, body: Vec<u8>) -> Result<String, AnswerFault> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1/models", listener.local_addr().unwrap());
        let answering = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut asked, mut chunk) = (Vec::new(), [0; 4096]);
            while !asked.ends_with(b"{}") {
                let count = stream.read(&mut chunk).unwrap();
                asked.extend_from_slice(&chunk[..count]);
            }
            let head = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            // The client may have had enough.
            let _ = stream.write_all(&[head.as_bytes(), &body].concat());
        });
        let answer = Client::new(Duration::from_secs(60)).tell(&url, &serde_json::json!({}));
        answering.join().unwrap();
        answer
    }

    /// A mebibyte of blanks in the format of gzip.
    fn packed_blanks() -> Vec<u8> {
        let begin = b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xed\xc1\x31\x01\0\0\0\xc2\xa0\x2a\xeb\x9f\xd2\x10\xbe\x40\x01";
        let end = b"\x7c\x06\xa7\x02\x03\xf1\0\0\x10\0";
        [&begin[..], &[0; 1015], end].concat()
    }

    #[test]
    fn an_answer_is_limited_as_it_is_unpacked() {
        let head = "200 OK\r\ncontent-encoding: gzip";
        assert_eq!(told(head, packed_blanks()).map(|body| body.len()), Ok(1 << 20));
        let fault = told(head, packed_blanks().repeat(65)).unwrap_err();
        assert_eq!(fault.found, "an answer of more than 64 MiB");
    }

    #[test]
    fn where_a_server_redirects_to_is_told_and_it_is_not_waited_for() {
        for status in ["301", "307", "308"] {
            let head = format!("{status} Moved\r\nlocation: http://elsewhere:8000/v1/models");
            let fault = told(head.leak(), Vec::new()).unwrap_err();
            assert_eq!(fault.found, format!("answered {status}: it redirects to http://elsewhere:8000"));
            assert_eq!((fault.hint, fault.passing), (ELSEWHERE, None));
        }
        for (asked, place, named) in [
            ("http://a/inference/v1/generate", "https://a/inference/v1/generate", Some("https://a")),
            ("http://a/v1/v1/models", "http://b/v1/v1/models", Some("http://b/v1")),
            ("http://a/v1/models", "http://a/v1/models/", None),
            ("http://a/v1/models", "http://a/login?next=/v1/model", None),
            ("http://a/v1/models", "/v1/models", None),
        ] {
            let fault = redirected(307, place, asked);
            let hint = if named.is_some() { ELSEWHERE } else { MOVED };
            let found = format!("answered 307: it redirects to {}", named.unwrap_or(place));
            assert_eq!((fault.found, fault.hint), (found, hint), "{asked}");
        }
        assert!(told("304 Not Modified", Vec::new()).unwrap_err().found.starts_with("answered 304: "));
    }

    #[test]
    fn what_passes_by_itself_is_told_from_what_does_not() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for status in [429, 502, 503, 504] {
            assert_eq!((passing(status, Some(" 7 ")), passing(status, None)), (seconds(7), seconds(0)), "{status}");
            assert!(refused(status, "later").hint.starts_with("it is busy"), "{status}");
        }
        assert_eq!(passing(503, Some("Wed, 21 Oct 2026 07:28:00 GMT")), seconds(0));
        for status in [400, 401, 404, 500, 501] {
            assert_eq!(passing(status, Some("7")), None, "{status}");
        }
        assert!(refused(500, "").hint.contains("out of memory"));
    }
}
