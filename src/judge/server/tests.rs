use std::io::{Read, Write};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Instant;

use grpo_sandbox::{FUEL_PER_SECOND, Fault, FuelScope, HostError, ScriptRun};
use serde_json::{Value, json};

use super::*;
use crate::judge::tests::{completion, judge};

const BOUNDS: Bounds =
    Bounds { body_bytes: 10_000, read_within: Duration::from_millis(400), requests: 2, connections: 8, runs: 2 };

/// A server at work, with its end.
struct Served {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    ended: JoinHandle<std::io::Result<()>>,
}

impl Served {
    fn new(bounds: Bounds, runner: impl Fn(&Job) -> Result<ScriptRun, HostError> + Send + Sync + 'static) -> Served {
        let judge = Arc::into_inner(judge(2)).unwrap();
        let server = Server::bind(&["127.0.0.1:0".parse().unwrap()], judge, Box::new(runner), bounds).unwrap();
        let (address, stop) = (server.address().unwrap(), Arc::new(AtomicBool::new(false)));
        let flag = Arc::clone(&stop);
        Served { address, stop, ended: std::thread::spawn(move || server.run(&flag)) }
    }

    /// What is answered to these bytes, whole.
    fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn post(&self, path: &str, body: &str) -> (u16, Value) {
        let head = format!("POST {path} HTTP/1.1\r\nHost: here\r\nContent-Length: {}\r\n\r\n", body.len());
        parsed(&self.raw(format!("{head}{body}").as_bytes()))
    }

    fn end(self) {
        self.stop.store(true, Ordering::SeqCst);
        self.ended.join().unwrap().unwrap();
        assert!(TcpStream::connect(self.address).is_err(), "nobody listens any more");
    }
}

fn parsed(answer: &str) -> (u16, Value) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    assert!(
        head.contains("\r\nContent-Type: application/json\r\n") && head.contains("\r\nConnection: close"),
        "{head}"
    );
    assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{head}");
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
}

/// Runs a program that is the name of what comes of it.
fn run(job: &Job) -> Result<ScriptRun, HostError> {
    let raised = |kind: &str, message: &str| Fault::Raised { kind: kind.into(), message: message.into() };
    let printed = match job.source.as_str() {
        "echo" => Ok(job.stdin.clone()),
        "spin" => Err(Fault::OutOfFuel { scope: FuelScope::Game }),
        "refused" => Err(Fault::NotCompiled { line: 3, message: "invalid syntax".into() }),
        "exit 3" => Err(raised("SystemExit", "3")),
        "exit words" => Err(raised("SystemExit", "no input")),
        "memory" => Err(Fault::OutOfMemory),
        "deep" => Err(Fault::StackOverflow),
        "broken" => return Err(HostError::Memory("mmap: no".into())),
        _ => Err(raised("KeyError", "'x'")),
    };
    Ok(ScriptRun { printed, fuel: FUEL_PER_SECOND / 4 })
}

#[test]
fn an_item_or_a_list_of_them_is_answered_with_the_judgements_of_lines() {
    let served = Served::new(BOUNDS, run);
    let item = |points| json!({ "id": "a", "completion": completion(points) });
    let (status, one) = served.post("/judge", &item(20_000).to_string());
    assert_eq!(
        (status, &one["id"], &one["reward"], &one["verdict"]),
        (200, &json!("a"), &json!(0.5), &json!("played"))
    );
    let (status, list) = served.post("/judge?at=once", &json!([item(20_000), item(4_000)]).to_string());
    assert_eq!((status, &list[0], &list[1]["reward"]), (200, &one, &json!(0.1)));
    assert_eq!(served.post("/judge", "[]"), (200, json!([])));
    served.end();
}

#[test]
fn what_is_no_request_is_told_so() {
    let served = Served::new(BOUNDS, run);
    let told = |answer: (u16, Value)| (answer.0, answer.1["error"].as_str().unwrap().to_owned());
    for (path, body, status, words) in [
        ("/judge", "nonsense", 400, "expected ident at line 1 column 2; expected {\"id\""),
        ("/judge", "[{\"id\": \"a\"}]", 400, "missing field `completion`"),
        ("/run_code", "{\"code\": \"1\"}", 400, "missing field `language`"),
        ("/elsewhere", "", 404, "POST /judge"),
        ("/health", "", 405, "expected GET"),
        ("/judge", &"x".repeat(200_000), 413, "a body of 200000 bytes; expected at most 10000"),
    ] {
        let (found, error) = told(served.post(path, body));
        assert_eq!(found, status, "{path} {error}");
        assert!(error.contains(words), "{error}");
    }
    for (bytes, status, words) in [
        ("GET /judge HTTP/1.1\r\n\r\n", 405, "expected POST"),
        ("POST /judge HTTP/1.1\r\n\r\n", 411, "Content-Length"),
        ("POST /judge HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411, "Content-Length"),
        ("POST /judge HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n12", 400, "more than one"),
        ("POST /judge HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400, "no number"),
        ("nonsense\r\n\r\n", 400, "no HTTP request"),
        (&format!("GET / HTTP/1.1\r\nLong: {}\r\n\r\n", "x".repeat(20_000)), 431, "head"),
    ] {
        let (found, error) = told(parsed(&served.raw(bytes.as_bytes())));
        assert_eq!(found, status, "{} {error}", &bytes[..bytes.len().min(80)]);
        assert!(error.contains(words), "{error}");
    }
    assert_eq!(
        parsed(&served.raw(b"GET /health HTTP/1.1\r\n\r\n")),
        (200, json!({ "status": "ok", "environment": "2048" }))
    );
    served.end();
}

#[test]
fn a_program_is_run_as_sandbox_fusion_answers() {
    let served = Served::new(BOUNDS, run);
    // The request of verl, as its call_sandbox_api builds it.
    let asked = |code: &str| {
        json!({
            "compile_timeout": 10, "run_timeout": 10, "code": code, "stdin": "1 2\n", "memory_limit_MB": 1024,
            "language": "python", "files": {}, "fetch_files": []
        })
    };
    let run = |code: &str| served.post("/run_code", &asked(code).to_string()).1;
    let result = |status: &str, code: Value, stdout: &str, stderr: &str| {
        json!({
            "status": status, "execution_time": 0.25, "return_code": code, "stdout": stdout, "stderr": stderr
        })
    };
    for (code, status, expected) in [
        ("echo", "Success", result("Finished", json!(0), "1 2\n", "")),
        ("spin", "Failed", result("TimeLimitExceeded", Value::Null, "", "")),
        ("raise", "Failed", result("Finished", json!(1), "", "KeyError: 'x'\n")),
        ("exit 3", "Failed", result("Finished", json!(3), "", "\n")),
        ("exit words", "Failed", result("Finished", json!(1), "", "no input\n")),
        ("memory", "Failed", result("Finished", json!(1), "", "MemoryError\n")),
        ("deep", "Failed", result("Finished", json!(1), "", "RecursionError\n")),
        (
            "refused",
            "Failed",
            result("Finished", json!(1), "", "  File \"<program>\", line 3\nSyntaxError: invalid syntax\n"),
        ),
    ] {
        let expected = json!({
            "status": status, "message": "", "compile_result": null, "run_result": expected,
            "executor_pod_name": null, "files": {}
        });
        assert_eq!(run(code), expected, "{code}");
    }
    let broken = run("broken");
    assert_eq!((&broken["status"], &broken["run_result"]), (&json!("SandboxError"), &Value::Null));
    assert!(broken["message"].as_str().unwrap().contains("refused memory"), "{broken}");
    for (key, value, words) in [
        ("language", json!("cpp"), "language \"cpp\": this sandbox runs \"python\" alone"),
        ("files", json!({ "a.txt": "" }), "have no files"),
        ("fetch_files", json!(["a.txt"]), "have no files"),
        ("run_timeout", json!(0), "expected more than 0 seconds"),
    ] {
        let mut request = asked("echo");
        request[key] = value;
        let (status, answer) = served.post("/run_code", &request.to_string());
        assert_eq!((status, &answer["status"]), (200, &json!("SandboxError")));
        assert!(answer["message"].as_str().unwrap().contains(words), "{answer}");
    }
    served.end();
}

#[test]
fn a_job_has_the_time_and_memory_that_were_asked_for() {
    let (sender, jobs) = channel();
    let sender = std::sync::Mutex::new(sender);
    let served = Served::new(BOUNDS, move |job: &Job| {
        sender.lock().unwrap().send(job.clone()).unwrap();
        run(job)
    });
    for (limits, seconds, memory_bytes) in [
        (json!({}), 10, None),
        (json!({ "run_timeout": 0.5, "memory_limit_MB": -1 }), 0, None),
        (json!({ "run_timeout": 3600, "memory_limit_MB": 64, "stdin": null }), 60, Some(64 << 20)),
    ] {
        let mut request = json!({ "code": "echo", "language": "python" });
        request.as_object_mut().unwrap().extend(limits.as_object().unwrap().clone());
        assert_eq!(served.post("/run_code", &request.to_string()).1["status"], "Success");
        let job = jobs.recv().unwrap();
        assert_eq!((job.fuel / FUEL_PER_SECOND, job.memory_bytes, job.stdin), (seconds, memory_bytes, String::new()));
    }
    served.end();
}

#[test]
fn a_client_that_does_not_send_its_request_is_told_off_in_time() {
    let served = Served::new(BOUNDS, run);
    for start in ["", "POST /judge HT", "POST /judge HTTP/1.1\r\nContent-Length: 10\r\n\r\n123"] {
        let begun = Instant::now();
        let (status, _) = parsed(&served.raw(start.as_bytes()));
        assert_eq!(status, 408);
        assert!(begun.elapsed() >= BOUNDS.read_within && begun.elapsed() < Duration::from_secs(5));
    }
    // A client that asks before it sends, as curl does with long bodies, is told to go on.
    let mut stream = TcpStream::connect(served.address).unwrap();
    let body = json!({ "id": "a", "completion": completion(20_000) }).to_string();
    let head = format!("POST /judge HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).unwrap();
    let mut told = [0; 25];
    stream.read_exact(&mut told).unwrap();
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(parsed(&answer).1["reward"], 0.5);
    served.end();
}

#[test]
fn one_request_too_many_is_told_to_come_back_and_those_at_hand_are_answered_to_the_end() {
    let gate = Arc::new(std::sync::Mutex::new(()));
    let (begun, runs) = channel();
    let begun = std::sync::Mutex::new(begun);
    let closed = gate.lock().unwrap();
    let wait = Arc::clone(&gate);
    let served = Arc::new(Served::new(BOUNDS, move |job: &Job| {
        begun.lock().unwrap().send(()).unwrap();
        drop(wait.lock().unwrap());
        run(job)
    }));
    let request = json!({ "code": "echo", "language": "python" }).to_string();
    let clients = [0, 1].map(|_| {
        let (served, request) = (Arc::clone(&served), request.clone());
        std::thread::spawn(move || served.post("/run_code", &request).1["status"].clone())
    });
    (0..2).for_each(|_| runs.recv().unwrap());
    let answer = served.raw(b"POST /judge HTTP/1.1\r\nContent-Length: 2\r\n\r\n[]");
    assert_eq!(parsed(&answer).0, 503);
    assert!(answer.contains("\r\nRetry-After: 1\r\n"), "{answer}");
    assert_eq!(parsed(&served.raw(b"GET /health HTTP/1.1\r\n\r\n")).0, 200);
    served.stop.store(true, Ordering::SeqCst);
    std::thread::sleep(4 * LOOK);
    assert!(!served.ended.is_finished(), "two requests are at hand");
    drop(closed);
    assert_eq!(clients.map(|client| client.join().unwrap()), ["Success", "Success"]);
    Arc::into_inner(served).unwrap().end();
}
