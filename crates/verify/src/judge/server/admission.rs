//! What a head says: who asks, for what, and whether its body will be received.

use super::bounds::Bounds;
use super::response::Response;
use crate::http::{Head, host_of, is_loopback};

/// Who may ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Callers {
    /// Programs on this machine that call it by a loopback name or address, or by this name. No page of a browser is
    /// among them, unless its own host is loopback.
    ThisMachine {
        /// The host that the user gave for the server's address.
        name: String,
    },
    /// Whoever reaches the server.
    Everybody,
}

/// What a request with a body asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    Judge,
    RunCode,
    RunJupyter,
}

/// What follows from a head.
#[derive(Debug)]
pub(super) enum Admission {
    /// This answer, whatever else the client sends.
    Answer(Response),
    /// A body of so many bytes is received first.
    Body { route: Route, bytes: usize },
}

/// Says whether a request of `callers` is let in, so that a refused one is answered before its body.
pub(super) fn admit(head: &Head, callers: &Callers, bounds: Bounds, health: impl FnOnce() -> Response) -> Admission {
    let admitted = || {
        callers.let_in(head).map_err(|words| Response::error(403, &words))?;
        let length = content_length(head)?;
        let route = match (head.method.as_str(), head.path.as_str()) {
            ("GET" | "HEAD", "/health") => return Ok(Admission::Answer(health())),
            ("POST", "/judge") => Route::Judge,
            ("POST", "/run_code") => Route::RunCode,
            ("POST", "/run_jupyter") => Route::RunJupyter,
            (_, "/health") => return Err(Response::error(405, "expected GET or HEAD").with("Allow", "GET, HEAD")),
            (_, "/judge" | "/run_code" | "/run_jupyter") => {
                return Err(Response::error(405, "expected POST").with("Allow", "POST"));
            }
            _ => return Err(Response::error(404, "expected POST /judge, /run_code, /run_jupyter or GET /health")),
        };
        let bytes = length.ok_or_else(|| Response::error(411, "expected a body with a Content-Length"))?;
        is_plain_json(head)?;
        let most = bounds.body_bytes;
        if bytes > most {
            return Err(Response::error(413, &format!("a body of {bytes} bytes; expected at most {most}")));
        }
        if let Some(found) = head.values("expect").find(|found| !found.eq_ignore_ascii_case("100-continue")) {
            return Err(Response::error(417, &format!("Expect: {found}; expected 100-continue, or none")));
        }
        Ok(Admission::Body { route, bytes })
    };
    admitted().unwrap_or_else(Admission::Answer)
}

impl Callers {
    /// Refuses, in words, what a page of another site could have sent.
    fn let_in(&self, head: &Head) -> Result<(), String> {
        let Callers::ThisMachine { name } = self else { return Ok(()) };
        let is_own = |authority: &str| {
            let host = host_of(authority).filter(|host| !host.is_empty());
            host.is_some_and(|host| is_loopback(host) || host.eq_ignore_ascii_case(name))
        };
        let refused = |found: String, expected: &str| {
            Err(format!(
                "{found}; expected {expected}: this server is for programs on its own machine (--allow-remote)"
            ))
        };
        let hosts: Vec<&str> = head.values("host").collect();
        if !matches!(hosts.as_slice(), [host] if is_own(host)) {
            return refused(format!("Host: {}", hosts.join(", ")), "one, such as 127.0.0.1 or localhost");
        }
        let is_own_origin = |origin: &str| {
            let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            authority.is_some_and(is_own)
        };
        if let Some(found) = head.values("origin").find(|found| !is_own_origin(found)) {
            return refused(format!("Origin: {found}"), "none, or one of this machine");
        }
        match head.values("sec-fetch-site").find(|found| !["none", "same-origin"].contains(found)) {
            Some(found) => refused(format!("Sec-Fetch-Site: {found}"), "none or same-origin"),
            None => Ok(()),
        }
    }
}

/// The length of the body, if the request has one.
fn content_length(head: &Head) -> Result<Option<usize>, Response> {
    if head.values("transfer-encoding").next().is_some() {
        return Err(Response::error(411, "expected a body with a Content-Length"));
    }
    let mut lengths: Vec<&str> = head.values("content-length").collect();
    lengths.dedup();
    match lengths.as_slice() {
        [] => Ok(None),
        // `parse` alone would take a sign.
        [length] if length.bytes().all(|byte| byte.is_ascii_digit()) => {
            length.parse().map(Some).map_err(|_| no_length(length))
        }
        [length] => Err(no_length(length)),
        _ => Err(Response::error(400, "more than one Content-Length")),
    }
}

fn no_length(found: &str) -> Response {
    Response::error(400, &format!("Content-Length: {found}; expected a number of bytes, in digits alone"))
}

/// Lets in a body that is JSON and says so. A page of another site can say so only after it has asked, by `OPTIONS`, and
/// that is refused.
fn is_plain_json(head: &Head) -> Result<(), Response> {
    if let Some(found) = head.values("content-encoding").find(|found| !found.eq_ignore_ascii_case("identity")) {
        let words = format!("Content-Encoding: {found}; expected a body that is not compressed");
        return Err(Response::error(415, &words).with("Accept-Encoding", "identity"));
    }
    let kinds: Vec<&str> = head.values("content-type").collect();
    match kinds.as_slice() {
        [kind] if is_json_in_utf8(kind) => Ok(()),
        kinds => {
            let words = format!("Content-Type: {}; expected application/json, in UTF-8", kinds.join(", "));
            Err(Response::error(415, &words).with("Accept-Post", "application/json"))
        }
    }
}

fn is_json_in_utf8(kind: &str) -> bool {
    let mut parts = kind.split(';').map(str::trim);
    let is_json = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    // The second is a common alias (WHATWG Encoding, 4.2).
    let is_utf8 = |value: &str| ["utf-8", "utf8"].iter().any(|name| value.trim_matches('"').eq_ignore_ascii_case(name));
    let other_charset =
        |(key, value): (&str, &str)| key.trim().eq_ignore_ascii_case("charset") && !is_utf8(value.trim());
    is_json && !parts.filter_map(|parameter| parameter.split_once('=')).any(other_charset)
}
