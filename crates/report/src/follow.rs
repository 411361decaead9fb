//! Serves the page over HTTP on this machine only, with the runs as they are written.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Refresh, ReportError, RunReader, RunView, html, json};
use crate::http::{Head, host_of, is_loopback};

/// The path of the current runs as JSON.
const RUNS: &str = "/runs.json";
/// The beginning of the path of all completions of a run, which is followed by its index and `.json`.
const COMPLETIONS: &str = "/completions/";
/// Time between checks whether the server should stop.
const POLL: Duration = Duration::from_millis(100);
/// Time limit for receiving a request, and for sending the answer, because the next client waits meanwhile.
const PATIENCE: Duration = Duration::from_secs(3);

/// Serves the page of some runs.
pub struct Follower {
    listener: TcpListener,
    readers: Vec<RunReader>,
    /// The runs as they were last read, with the lengths of their files at that time.
    held: Option<(Vec<[u64; 3]>, Vec<RunView>)>,
}

impl Follower {
    /// Listens on the loopback address; port 0 takes a free one.
    pub fn bind(port: u16, readers: Vec<RunReader>) -> io::Result<Follower> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        Ok(Follower { listener, readers, held: None })
    }

    /// The port that was taken.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    /// Answers requests, one after the other, until `stop` is set. The page has usually one reader.
    pub fn serve(&mut self, stop: &AtomicBool) -> Result<(), ReportError> {
        while !stop.load(Ordering::SeqCst) {
            match self.listener.accept() {
                // A run that cannot be read ends the service. A client that closes its connection does not.
                Ok((stream, _)) => self.answer(&stream, stop)?,
                Err(_) => std::thread::sleep(POLL),
            }
        }
        Ok(())
    }

    fn answer(&mut self, stream: &TcpStream, stop: &AtomicBool) -> Result<(), ReportError> {
        let Ok(head) = read_head(Bounded::new(stream, stop)) else { return Ok(()) };
        let lost = ("404 Not Found", "text/plain", "there are /, /runs.json and /completions/0.json\n".to_owned());
        let mut hosts = head.values("host");
        let is_local = hosts.next().and_then(host_of).is_some_and(is_loopback) && hosts.next().is_none();
        let path = if head.method == "GET" { head.path.as_str() } else { "" };
        let (status, kind, body) = match (is_local, path) {
            (false, _) => ("403 Forbidden", "text/plain", "this page is for this machine\n".to_owned()),
            (true, "/") => ("200 OK", "text/html; charset=utf-8", html(self.runs()?, Refresh::Follow)),
            (true, RUNS) => ("200 OK", "application/json", json(self.runs()?, Refresh::Follow)),
            (true, path) => self.completions(path).map_or(lost, |listed| ("200 OK", "application/json", listed)),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let mut stream = Bounded::new(stream, stop);
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
        Ok(())
    }

    /// All completions of the run that a path names, as they were last read.
    fn completions(&self, path: &str) -> Option<String> {
        let run = path.strip_prefix(COMPLETIONS)?.strip_suffix(".json")?;
        Some(self.readers.get(run.parse::<usize>().ok()?)?.completions_json())
    }

    /// The current runs. They are read again only if the length of a file has changed.
    fn runs(&mut self) -> Result<&[RunView], ReportError> {
        let extents: Vec<[u64; 3]> = self.readers.iter().map(RunReader::extent).collect();
        if self.held.as_ref().is_none_or(|(known, _)| *known != extents) {
            let runs: Vec<RunView> = self.readers.iter_mut().map(RunReader::read).collect::<Result<_, _>>()?;
            self.held = Some((extents, runs));
        }
        Ok(self.held.as_ref().map_or(&[], |(_, runs)| runs))
    }
}

/// A connection whose operations fail after [`PATIENCE`], or when the server should stop.
struct Bounded<'a> {
    stream: &'a TcpStream,
    stop: &'a AtomicBool,
    deadline: Instant,
}

impl<'a> Bounded<'a> {
    fn new(stream: &'a TcpStream, stop: &'a AtomicBool) -> Self {
        Bounded { stream, stop, deadline: Instant::now() + PATIENCE }
    }

    /// Repeats an operation that timed out after [`POLL`] until it succeeds or the limit is reached.
    fn in_time<T>(&self, mut attempt: impl FnMut(&TcpStream) -> io::Result<T>) -> io::Result<T> {
        while Instant::now() < self.deadline && !self.stop.load(Ordering::SeqCst) {
            match attempt(self.stream) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                done => return done,
            }
        }
        // The kind is not `TimedOut` or `Interrupted`, because readers and writers may repeat those.
        Err(io::Error::other("the client is too slow, or nobody waits for it"))
    }
}

impl Read for Bounded<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.in_time(|mut stream| stream.read(bytes))
    }
}

impl Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.in_time(|mut stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads the head of a request. Another site could let its name resolve to this machine to read the page (DNS
/// rebinding), so it is also asked which name the request is for.
fn read_head(mut client: Bounded<'_>) -> io::Result<Head> {
    client.stream.set_nonblocking(false)?;
    client.stream.set_read_timeout(Some(POLL))?;
    client.stream.set_write_timeout(Some(POLL))?;
    let (mut received, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        match client.read(&mut chunk)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            count => received.extend_from_slice(&chunk[..count]),
        }
        if let Some(head) = Head::parse(&received).map_err(io::Error::other)? {
            return Ok(head);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_never_ends_its_request_stops_neither_the_next_one_nor_the_end() {
        let mut follower = Follower::bind(0, Vec::new()).unwrap();
        let (port, stop, done) = (follower.port().unwrap(), AtomicBool::new(false), AtomicBool::new(false));
        let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let drip = || {
            let mut slow = connect();
            // Sends bytes until the connection is closed or the test ends.
            while !done.load(Ordering::SeqCst) && slow.write_all(b"G").is_ok() {
                std::thread::sleep(POLL);
            }
        };
        std::thread::scope(|scope| {
            let served = scope.spawn(|| follower.serve(&stop).unwrap());
            scope.spawn(drip);
            std::thread::sleep(POLL);
            let mut second = connect();
            second.set_read_timeout(Some(4 * PATIENCE)).unwrap();
            second.write_all(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            let mut status = [0; 12];
            let answered = second.read_exact(&mut status);
            scope.spawn(drip);
            std::thread::sleep(POLL);
            let asked = Instant::now();
            stop.store(true, Ordering::SeqCst);
            let left = loop {
                if served.is_finished() || asked.elapsed() > PATIENCE {
                    break asked.elapsed();
                }
                std::thread::sleep(POLL / 10);
            };
            done.store(true, Ordering::SeqCst);
            answered.unwrap();
            assert_eq!(&status, b"HTTP/1.1 404");
            assert!(left < PATIENCE / 2, "heard after {left:?}");
        });
    }
}
