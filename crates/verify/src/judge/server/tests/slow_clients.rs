//! Clients that take their time: what they cost others.

use std::time::Instant;

use super::*;

const HALF_HEAD: &str = "POST /judge HTTP/1.1\r\nHost: localhost\r\nX-Wait";

/// A head, and the first byte of a body of 5,000.
fn half_body() -> String {
    let request = posted("/judge", &"x".repeat(5_000)).replacen("\r\n", "\r\nHost: localhost\r\n", 1);
    request[..request.len() - 4_999].to_owned()
}

/// Whether the server has something to say to a client, or has closed its connection.
fn is_told(client: &TcpStream) -> bool {
    client.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    client.peek(&mut [0]).is_ok()
}

#[test]
fn a_client_that_does_not_send_its_request_is_told_off_in_time() {
    let served = Served::new(BOUNDS, run);
    let body = half_body();
    for (start, within) in
        [("", BOUNDS.head_within), ("POST /judge HT", BOUNDS.head_within), (body.as_str(), BOUNDS.body_within)]
    {
        let begun = Instant::now();
        let (status, _) = parsed(&received(served.client(start)));
        assert_eq!(status, 408);
        assert!(begun.elapsed() >= within && begun.elapsed() < Duration::from_secs(5), "{start}");
    }
    // A byte now and then does not help.
    let (mut dripping, begun) = (served.client(HALF_HEAD), Instant::now());
    while !is_told(&dripping) && begun.elapsed() < Duration::from_secs(5) {
        let _ = dripping.write_all(b"x");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(parsed(&received(dripping)).0, 408);
    served.end();
    // On a crowded machine many clients have connected before the first of them sends.
    let Bounds { head_within, body_within, .. } = Bounds::new(2);
    assert_eq!(head_within, body_within);
}

#[test]
fn where_there_are_too_many_connections_the_slowest_is_told_to_come_back() {
    let bounds = Bounds { head_within: Duration::from_secs(20), body_within: Duration::from_secs(20), ..BOUNDS };
    let served = Served::new(bounds, run);
    // Heads are given up before bodies, though this body is older.
    let body = half_body();
    let in_body = served.client(&body);
    let slow: Vec<TcpStream> = (1..bounds.connections).map(|_| served.client(HALF_HEAD)).collect();
    let mut later = Vec::new();
    for given_up in 1..=3 {
        assert!(served.is_healthy());
        let told: Vec<bool> = slow.iter().map(is_told).collect();
        let expected: Vec<bool> = (0..slow.len()).map(|number| number < given_up).collect();
        assert_eq!(told, expected);
        // In the place of the one that was answered and has left.
        later.push(served.client(HALF_HEAD));
    }
    let answer = received(slow.into_iter().next().unwrap());
    assert_eq!(parsed(&answer).0, 503);
    assert!(answer.contains("\r\nRetry-After: 1\r\n"), "{answer}");
    assert!(!is_told(&in_body));
    served.end();
}

#[test]
fn requests_that_are_too_large_together_are_told_to_come_back_the_oldest_first() {
    let bounds = Bounds { all_bytes: 3_000, ..BOUNDS };
    let served = Served::new(bounds, run);
    let large = format!("{}{}", half_body(), "x".repeat(2_000));
    let first = served.client(&large);
    let health = served.is_healthy();
    let second = served.client(&large);
    assert_eq!(parsed(&received(first)).0, 503);
    assert!(health && !is_told(&second));
    served.end();
}

/// What a client hears that goes on sending for a while after the server has something to say to it.
fn heard_while_sending(mut client: TcpStream) -> String {
    let begun = Instant::now();
    while !is_told(&client) {
        assert!(begun.elapsed() < PATIENCE, "nothing is said");
    }
    // To a socket that is closed the first has no answer but a reset, and the second fails.
    for _ in 0..2 {
        client.write_all(&[b'x'; 1_000]).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    client.shutdown(std::net::Shutdown::Write).unwrap();
    received(client)
}

/// A head, and the first byte of a body that takes long.
fn long_body() -> String {
    half_body().replacen("Content-Length: 5000", "Content-Length: 9999", 1)
}

#[test]
fn who_is_turned_away_while_it_sends_hears_why() {
    let bounds = Bounds {
        all_bytes: 3_000,
        head_within: Duration::from_secs(60),
        body_within: Duration::from_secs(60),
        ..BOUNDS
    };
    let served = Served::new(bounds, run);
    let body = long_body();
    // For room in memory.
    let first = served.client(&format!("{body}{}", "x".repeat(2_000)));
    let second = served.client(&format!("{body}{}", "x".repeat(2_000)));
    let told = |answer: String| {
        let (status, answer) = parsed(&answer);
        (status, answer["error"].as_str().unwrap().to_owned())
    };
    let (status, words) = told(heard_while_sending(first));
    assert!(status == 503 && words.contains("more than 3000 bytes"), "{status} {words}");
    drop(second);
    assert!(served.is_healthy());
    // For room among the connections, of which those that part are none.
    let third = served.client(&body);
    let mut all: Vec<TcpStream> = (0..bounds.connections).map(|_| served.client(&body)).collect();
    let (status, words) = told(heard_while_sending(third));
    assert!(status == 503 && words.contains("too many connections"), "{status} {words}");
    // At the end.
    served.stop.store(true, Ordering::SeqCst);
    let heard = told(heard_while_sending(all.remove(0)));
    assert_eq!(heard, (503, "the server is ending".to_owned()));
    served.end();
}

/// A server whose answers to `/run_code` are more than sockets hold, and what it tells when it makes one.
fn talkative(bounds: Bounds) -> (Served, std::sync::mpsc::Receiver<()>) {
    let bounds = Bounds { all_bytes: bounds.all_bytes.max(8 * LONG), ..bounds };
    let (told, runs) = channel();
    let told = std::sync::Mutex::new(told);
    let served = Served::new(bounds, move |_: &Job| {
        told.lock().unwrap().send(()).unwrap();
        Ok(ScriptRun { printed: Ok("x".repeat(LONG)), fuel: 1 })
    });
    (served, runs)
}

const LONG: usize = 16 << 20;

fn run_code() -> String {
    let request = posted("/run_code", &json!({ "code": "echo", "language": "python" }).to_string());
    request.replacen("\r\n", "\r\nHost: localhost\r\n", 1)
}

#[test]
fn who_does_not_take_the_answer_holds_up_no_other_request() {
    let (served, runs) = talkative(Bounds { requests: 1, answer_within: Duration::from_secs(60), ..BOUNDS });
    let mut idle = Vec::new();
    for _ in 0..3 {
        idle.push(served.client(&run_code()));
        runs.recv().unwrap();
        let begun = Instant::now();
        while served.post("/judge", "[]").0 != 200 {
            assert!(begun.elapsed() < PATIENCE, "the answer is still being made");
        }
    }
    // Who takes it gets all of it.
    assert!(received(served.client(&run_code())).len() > LONG);
    let begun = Instant::now();
    served.end();
    assert!(begun.elapsed() < Duration::from_secs(5), "the end took {:?}", begun.elapsed());
}

#[test]
fn answers_that_are_not_taken_are_given_up_where_they_are_too_much_together() {
    let (served, runs) = talkative(Bounds { connections: 32, answer_within: Duration::from_secs(60), ..BOUNDS });
    let mut idle = Vec::new();
    for _ in 0..=8 {
        idle.push(served.client(&run_code()));
        runs.recv().unwrap();
        // One after the other, so that the first is the oldest.
        while !is_told(idle.last().unwrap()) {}
    }
    let begun = Instant::now();
    // The first ends early, and the last does not.
    let (first, last) = (idle.remove(0), idle.pop().unwrap());
    let taken = |mut client: TcpStream| {
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut taken = Vec::new();
        let _ = client.read_to_end(&mut taken);
        taken.len()
    };
    std::thread::sleep(Duration::from_millis(300));
    assert!(taken(first) < LONG, "the oldest is given up");
    assert!(taken(last) > LONG);
    assert!(begun.elapsed() < PATIENCE);
    drop(idle);
    served.end();
}

#[test]
fn who_does_not_take_the_answer_in_time_gets_no_more_of_it() {
    let (served, runs) = talkative(Bounds { answer_within: Duration::from_millis(100), ..BOUNDS });
    let mut idle = served.client(&run_code());
    runs.recv().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let mut taken = Vec::new();
    let _ = idle.read_to_end(&mut taken);
    assert!(taken.len() < LONG, "{} bytes", taken.len());
    served.end();
}

#[test]
fn the_end_does_not_wait_for_slow_clients_and_says_so() {
    let bounds = Bounds { head_within: Duration::from_secs(60), body_within: Duration::from_secs(60), ..BOUNDS };
    let served = Served::new(bounds, run);
    let body = half_body();
    let slow = ["", HALF_HEAD, &body].map(|start| served.client(start));
    assert!(served.is_healthy());
    let begun = Instant::now();
    served.end();
    assert!(begun.elapsed() < Duration::from_secs(2), "the end took {:?}", begun.elapsed());
    for client in slow {
        assert_eq!(parsed(&received(client)), (503, json!({ "error": "the server is ending" })));
    }
}
