//! Answers, all of them in JSON.

use serde::Serialize;

/// Seconds after which a client that was turned away may come back.
const RETRY_AFTER: &str = "1";

#[derive(Debug)]
pub(super) struct Response {
    status: u16,
    header: Option<(&'static str, &'static str)>,
    body: Vec<u8>,
}

impl Response {
    pub fn json(status: u16, body: &impl Serialize) -> Response {
        Response { status, header: None, body: serde_json::to_vec(body).expect("answers have string keys only") }
    }

    pub fn error(status: u16, words: &str) -> Response {
        Response::json(status, &serde_json::json!({ "error": words }))
    }

    /// The answer to a client that may come back.
    pub fn busy(words: &str) -> Response {
        Response::error(503, words).with("Retry-After", RETRY_AFTER)
    }

    /// The answer with one more header.
    pub fn with(self, name: &'static str, value: &'static str) -> Response {
        Response { header: Some((name, value)), ..self }
    }

    /// What is sent. The answer to a `HEAD` ends where its body would begin.
    pub fn bytes(&self, method: &str) -> Vec<u8> {
        let Response { status, header, body } = self;
        let header = header.map(|(name, value)| format!("{name}: {value}\r\n")).unwrap_or_default();
        let head = format!(
            "HTTP/1.1 {status} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n{header}\r\n",
            reason(*status),
            body.len()
        );
        let body: &[u8] = if method == "HEAD" { &[] } else { body };
        [head.as_bytes(), body].concat()
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}
