//! The part of HTTP/1.1 that one request per connection needs. `httparse` reads the head; this module enforces the
//! bounds.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use serde::Serialize;

/// Bytes of the longest request head.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// Most headers of a request.
const HEADERS_MAX: usize = 64;
/// Time for a client to receive an answer, and to stop sending a refused body.
const PARTING: Duration = Duration::from_secs(2);
/// Bytes per read.
const CHUNK: usize = 64 << 10;

/// A complete request.
#[derive(Debug)]
pub(super) struct Request {
    pub method: String,
    /// Path without the query.
    pub path: String,
    pub body: Vec<u8>,
}

/// An answer in JSON.
#[derive(Debug)]
pub(super) struct Response {
    status: u16,
    header: Option<(&'static str, &'static str)>,
    body: Vec<u8>,
}

/// Why there is no request.
#[derive(Debug)]
pub(super) enum Unread {
    /// The request is refused with this answer.
    Refused(Response),
    /// The client is gone and needs no answer.
    Gone,
}

impl Response {
    pub fn json(status: u16, body: &impl Serialize) -> Response {
        Response { status, header: None, body: serde_json::to_vec(body).expect("answers have string keys only") }
    }

    pub fn error(status: u16, words: &str) -> Response {
        Response::json(status, &serde_json::json!({ "error": words }))
    }

    /// The answer with one more header.
    pub fn with(self, name: &'static str, value: &'static str) -> Response {
        Response { header: Some((name, value)), ..self }
    }
}

/// A connection with a client, for one request.
pub(super) struct Connection {
    stream: TcpStream,
    /// When the request must be complete.
    deadline: Instant,
    /// Bytes received so far.
    bytes: Vec<u8>,
    /// Whether the request is complete.
    is_whole: bool,
}

/// A parsed request head.
struct Head {
    method: String,
    path: String,
    bytes: usize,
    body_bytes: usize,
    /// Whether the client waits for `100 Continue` before it sends the body.
    waits: bool,
}

impl Connection {
    pub fn new(stream: TcpStream, within: Duration) -> Connection {
        Connection { stream, deadline: Instant::now() + within, bytes: Vec::new(), is_whole: false }
    }

    /// Reads the request; its body may have at most so many bytes.
    pub fn read(&mut self, body_bytes_max: usize) -> Result<Request, Unread> {
        let head = loop {
            match head(&self.bytes).map_err(Unread::Refused)? {
                Some(head) if head.bytes <= HEAD_BYTES_MAX => break head,
                None if self.bytes.len() <= HEAD_BYTES_MAX => self.read_more()?,
                _ => return Err(Unread::Refused(Response::error(431, "a head of more than 16 KiB"))),
            }
        };
        if head.body_bytes > body_bytes_max {
            let words = format!("a body of {} bytes; expected at most {body_bytes_max}", head.body_bytes);
            return Err(Unread::Refused(Response::error(413, &words)));
        }
        let end = head.bytes + head.body_bytes;
        if head.waits && self.bytes.len() < end {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").map_err(|_| Unread::Gone)?;
        }
        while self.bytes.len() < end {
            self.read_more()?;
        }
        let body = self.bytes[head.bytes..end].to_vec();
        self.is_whole = true;
        Ok(Request { method: head.method, path: head.path, body })
    }

    /// Sends the answer, even to a client that is still sending.
    pub fn answer(mut self, response: &Response) {
        let sent = self.send(response);
        let _ = self.stream.shutdown(Shutdown::Write);
        // A connection that is closed with unread bytes would be reset, and the answer lost.
        if sent.is_ok() && !self.is_whole {
            self.deadline = Instant::now() + PARTING;
            self.bytes.clear();
            while self.read_more().is_ok() {
                self.bytes.clear();
            }
        }
    }

    fn send(&mut self, response: &Response) -> io::Result<()> {
        self.stream.set_write_timeout(Some(PARTING))?;
        let Response { status, header, body } = response;
        let header = header.map(|(name, value)| format!("{name}: {value}\r\n")).unwrap_or_default();
        let head = format!(
            "HTTP/1.1 {status} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n{header}\r\n",
            reason(*status),
            body.len()
        );
        self.stream.write_all(&[head.as_bytes(), body].concat())
    }

    /// Receives at least one more byte before the deadline.
    fn read_more(&mut self) -> Result<(), Unread> {
        let mut chunk = [0; CHUNK];
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(late());
            }
            self.stream.set_read_timeout(Some(left)).map_err(|_| Unread::Gone)?;
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(Unread::Gone),
                Ok(count) => {
                    self.bytes.extend_from_slice(&chunk[..count]);
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return Err(late()),
                Err(_) => return Err(Unread::Gone),
            }
        }
    }
}

fn late() -> Unread {
    Unread::Refused(Response::error(408, "the request did not come in time"))
}

/// Parses the head at the start of these bytes; `None` until it is complete.
fn head(bytes: &[u8]) -> Result<Option<Head>, Response> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request.parse(bytes).map_err(|error| Response::error(400, &format!("no HTTP request: {error}")))?;
    let httparse::Status::Complete(length) = parsed else { return Ok(None) };
    let (method, target) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
    let mut head = Head {
        method: method.to_owned(),
        path: target.split('?').next().unwrap_or_default().to_owned(),
        bytes: length,
        body_bytes: 0,
        waits: false,
    };
    let mut lengths = Vec::new();
    for header in request.headers.iter() {
        let value = String::from_utf8_lossy(header.value).trim().to_owned();
        match header.name.to_ascii_lowercase().as_str() {
            "content-length" => lengths.push(value),
            "transfer-encoding" => return Err(Response::error(411, "expected a body with a Content-Length")),
            "expect" => head.waits = value.eq_ignore_ascii_case("100-continue"),
            _ => {}
        }
    }
    lengths.dedup();
    head.body_bytes = match lengths.as_slice() {
        [] if method == "POST" => return Err(Response::error(411, "expected a body with a Content-Length")),
        [] => 0,
        [length] => length.parse().map_err(|_| Response::error(400, "a Content-Length that is no number"))?,
        _ => return Err(Response::error(400, "more than one Content-Length")),
    };
    Ok(Some(head))
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}
