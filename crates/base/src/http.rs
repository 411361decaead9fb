//! Heads of HTTP/1.1 requests, for the judge's server and for the page of runs.
//!
//! `httparse` reads them; this module bounds them, and says which hosts are this machine. It knows no socket.

use std::net::IpAddr;

/// Bytes of the longest head.
pub const HEAD_BYTES_MAX: usize = 16 << 10;
/// Most headers of a request.
const HEADERS_MAX: usize = 64;

/// The head of a request.
#[derive(Debug)]
pub struct Head {
    /// Such as `GET`, in capitals.
    pub method: String,
    /// Path without the query.
    pub path: String,
    /// Length of the head, with the empty line that ends it.
    pub bytes: usize,
    /// Names in small letters, with their values, in the order of the request.
    headers: Vec<(String, String)>,
}

/// Why bytes are no head.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// They are something else.
    #[error("no HTTP request: {0}")]
    Malformed(httparse::Error),
    /// They are too many.
    #[error("a head of more than 16 KiB")]
    TooLong,
}

impl Head {
    /// The head at the start of these bytes; `None` until it is complete.
    pub fn parse(bytes: &[u8]) -> Result<Option<Head>, HeadError> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        let length = match request.parse(bytes).map_err(HeadError::Malformed)? {
            httparse::Status::Complete(length) if length <= HEAD_BYTES_MAX => length,
            httparse::Status::Partial if bytes.len() <= HEAD_BYTES_MAX => return Ok(None),
            _ => return Err(HeadError::TooLong),
        };
        let text = |header: &httparse::Header<'_>| String::from_utf8_lossy(header.value).trim().to_owned();
        let target = request.path.unwrap_or_default();
        Ok(Some(Head {
            method: request.method.unwrap_or_default().to_owned(),
            path: target.split('?').next().unwrap_or_default().to_owned(),
            bytes: length,
            headers: request.headers.iter().map(|header| (header.name.to_ascii_lowercase(), text(header))).collect(),
        }))
    }

    /// The values of a header, whose name is in small letters.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The host of `HOST` or `HOST:PORT`, where an IPv6 address has brackets; `None` for anything else.
pub fn host_of(authority: &str) -> Option<&str> {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(bracketed) = authority.strip_prefix('[') {
        let (address, port) = bracketed.split_once(']')?;
        return (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some(address);
    }
    match authority.split_once(':') {
        None => Some(authority),
        Some((host, port)) => is_port(port).then_some(host),
    }
}

/// Whether a host is this machine whatever a name server says: `localhost`, or a loopback address.
///
/// A page of another site can let the name of that site resolve to this machine, and then read answers as its own (DNS
/// rebinding). Its requests have that name as their `Host`.
pub fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_localhost_and_loopback_addresses_are_this_machine_with_and_without_a_port() {
        let is_own = |authority: &str| host_of(authority).is_some_and(is_loopback);
        for own in ["localhost", "LocalHost:8080", "127.0.0.1", "127.0.0.1:8080", "127.9.9.9:1", "[::1]", "[::1]:8080"]
        {
            assert!(is_own(own), "{own}");
        }
        for foreign in [
            "", ":8080", "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example",
            "127.0.0.1:80.evil.example", "127.0.0.1:8080:8080", "evil.example:127.0.0.1", "user@127.0.0.1",
            "[::1].evil.example", "[::1]evil.example:80", "[evil.example]", "::1", "128.0.0.1", "0.0.0.0", "[::2]:80",
            "192.168.0.1:8080",
        ] {
            assert!(!is_own(foreign), "{foreign}");
        }
    }

    #[test]
    fn a_head_is_none_until_it_is_complete_and_never_longer_than_16_kib() {
        let head = b"GET /a?b=c HTTP/1.1\r\nHost: x\r\nHOST:  y \r\n\r\n";
        for end in 0..head.len() {
            assert!(Head::parse(&head[..end]).unwrap().is_none(), "{end}");
        }
        let parsed = Head::parse(head).unwrap().unwrap();
        assert_eq!((parsed.method.as_str(), parsed.path.as_str(), parsed.bytes), ("GET", "/a", head.len()));
        assert_eq!(parsed.values("host").collect::<Vec<_>>(), ["x", "y"]);
        assert!(parsed.values("origin").next().is_none());
        let long = |bytes: usize, end: &str| format!("GET / HTTP/1.1\r\nLong: {}{end}", "x".repeat(bytes));
        assert_eq!(Head::parse(long(20_000, "").as_bytes()).unwrap_err(), HeadError::TooLong);
        assert_eq!(Head::parse(long(20_000, "\r\n\r\n").as_bytes()).unwrap_err(), HeadError::TooLong);
        assert!(Head::parse(long(16_000, "\r\n\r\n").as_bytes()).unwrap().is_some());
        assert!(matches!(Head::parse(b"nonsense\r\n\r\n"), Err(HeadError::Malformed(_))));
    }
}
