//! A server of our own, and what it is asked.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};

/// What was asked: method and path, headers in small letters, body.
pub(super) struct Asked {
    pub line: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Asked {
    fn read(stream: &TcpStream) -> std::io::Result<Asked> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut headers = BTreeMap::new();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let Some((name, value)) = header.trim_end().split_once(':') else { break };
            headers.insert(name.to_lowercase(), value.trim().to_owned());
        }
        // Object storage refuses a body whose length is not told.
        let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        Ok(Asked { line: line.trim_end().trim_end_matches(" HTTP/1.1").to_owned(), headers, body })
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Has `answer` answer what is asked, until the process ends, and gives the address, which `answer` is told too.
pub(super) fn serve(answer: impl Fn(Asked, TcpStream, &str) -> std::io::Result<()> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let served = address.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that goes away is no concern of the test.
            let _ = Asked::read(&stream).and_then(|asked| answer(asked, stream, &served));
        }
    });
    address
}
