//! The server as its clients see it, with stand-ins for the sandbox.

mod callers;
mod slow_clients;
mod turns;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use grpo_sandbox::{FUEL_PER_SECOND, Fault, FuelScope, HostError, ScriptRun};
use serde_json::{Value, json};

use super::event_loop::LOOK_MS;
use super::*;
use crate::judge::tests::{completion, judge, judge_without_memory};
use std::time::Duration;

const BOUNDS: Bounds = Bounds {
    body_bytes: 10_000,
    all_bytes: 30_000,
    items: 3,
    head_within: Duration::from_millis(400),
    body_within: Duration::from_millis(800),
    answer_within: Duration::from_millis(400),
    requests: 2,
    connections: 8,
    runs: 2,
};

/// How long a test waits for what comes at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server at work, with its end.
struct Served {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    ended: JoinHandle<std::io::Result<()>>,
}

impl Served {
    fn new(bounds: Bounds, runner: impl Fn(&Job) -> Result<ScriptRun, HostError> + Send + Sync + 'static) -> Served {
        let callers = Callers::ThisMachine { name: "the-name-of-this-machine".into() };
        Served::with(Arc::into_inner(judge(2)).unwrap(), Box::new(runner), bounds, callers)
    }

    fn with(judge: Judge, script: Box<ScriptRunner>, bounds: Bounds, callers: Callers) -> Served {
        let runner = Runner { script, cells: Box::new(run_cells) };
        let server = Server::bind(&["127.0.0.1:0".parse().unwrap()], judge, runner, bounds, callers).unwrap();
        let (address, stop) = (server.address().unwrap(), Arc::new(AtomicBool::new(false)));
        let flag = Arc::clone(&stop);
        Served { address, stop, ended: std::thread::spawn(move || server.run(&flag)) }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).unwrap()
    }

    /// A client that has sent these bytes.
    fn client(&self, bytes: &str) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(bytes.as_bytes()).unwrap();
        stream
    }

    /// What is answered to a request, whole, after `Host` was added to it.
    fn raw(&self, request: &str) -> String {
        received(self.client(&request.replacen("\r\n", "\r\nHost: localhost\r\n", 1)))
    }

    fn post(&self, path: &str, body: &str) -> (u16, Value) {
        parsed(&self.raw(&posted(path, body)))
    }

    fn is_healthy(&self) -> bool {
        parsed(&self.raw("GET /health HTTP/1.1\r\n\r\n")) == (200, json!({ "status": "ok", "environment": "2048" }))
    }

    fn end(self) {
        self.stop.store(true, Ordering::SeqCst);
        self.ended.join().unwrap().unwrap();
        assert!(TcpStream::connect(self.address).is_err(), "nobody listens any more");
    }
}

/// All that a client receives until the server closes the connection.
fn received(mut client: TcpStream) -> String {
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer
}

/// A request, without `Host`.
fn posted(path: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
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

/// What the sandbox says of a source that is too long.
const TOO_LONG: &str = "source of 300000 bytes, at most 262144 are compiled";

/// Runs a program that is the name of what comes of it.
fn run(job: &Job) -> Result<ScriptRun, HostError> {
    let raised_at = |line: Option<u32>, kind: &str, message: &str| Fault::Raised {
        kind: kind.into(),
        full_name: kind.into(),
        message: message.into(),
        line,
    };
    let raised = |kind: &str, message: &str| raised_at(None, kind, message);
    let printed = match job.source.as_str() {
        "echo" => Ok(job.stdin.clone()),
        "spin" => Err(Fault::OutOfFuel { scope: FuelScope::Game }),
        "refused" => Err(Fault::NotCompiled { line: 3, message: "invalid syntax".into() }),
        "words of a limit" => Err(Fault::NotCompiled { line: 3, message: TOO_LONG.into() }),
        "exit 3" => Err(raised("SystemExit", "3")),
        "exit -1" => Err(raised("SystemExit", "-1")),
        "assert" => Err(raised_at(Some(2), "AssertionError", "")),
        "exit words" => Err(raised("SystemExit", "no input")),
        "code = '0'\nexit(code)" => Err(raised("SystemExit", "0")),
        "x = 3\nsys.exit('3')" | "x = 3\nsys.exit(3)" => Err(raised_at(Some(2), "SystemExit", "3")),
        "memory" => Err(Fault::OutOfMemory),
        "deep" => Err(Fault::StackOverflow { line: None }),
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
        (200, &json!("a"), &json!(0.5), &json!("succeeded"))
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
        ("/judge", "{\"id\": ", 400, "the body ends too early; expected {\"id\""),
        ("/judge", "[{\"id\": \"a\"}]", 400, "missing field `completion`"),
        ("/judge", "[[\"a\", \"\"]]", 400, "invalid type: sequence, expected an object at line 1"),
        ("/run_code", "{\"code\": \"1\"}", 400, "missing field `language`"),
        ("/run_code", "[\"1\", \"python\"]", 400, "invalid type: sequence, expected an object at line 1"),
        ("/run_jupyter", "[[\"1\"]]", 400, "invalid type: sequence, expected an object at line 1"),
        ("/elsewhere", "", 404, "POST /judge"),
        ("/health", "", 405, "expected GET or HEAD"),
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
        ("POST /judge HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400, "Content-Length: -1; expected a number"),
        ("POST /judge HTTP/1.1\r\nContent-Length: +5\r\n\r\n12345", 400, "Content-Length: +5; expected a number"),
        ("POST /judge HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400, "expected a number"),
        (&posted("/judge", "[]").replace("\r\n\r\n", "\r\nExpect: magic\r\n\r\n"), 417, "expected 100-continue"),
        ("nonsense\r\n\r\n", 400, "no HTTP request"),
        (&format!("GET / HTTP/1.1\r\nLong: {}\r\n\r\n", "x".repeat(20_000)), 431, "head"),
    ] {
        let (found, error) = told(parsed(&served.raw(bytes)));
        assert_eq!(found, status, "{} {error}", &bytes[..bytes.len().min(80)]);
        assert!(error.contains(words), "{error}");
    }
    assert!(served.is_healthy());
    served.end();
}

#[test]
fn the_answer_to_head_is_that_to_get_without_its_body() {
    let served = Served::new(BOUNDS, run);
    let [get, head] = ["GET", "HEAD"].map(|method| served.raw(&format!("{method} /health HTTP/1.1\r\n\r\n")));
    let (get_head, body) = get.split_once("\r\n\r\n").unwrap();
    assert_eq!(head, format!("{get_head}\r\n\r\n"));
    assert!(get_head.starts_with("HTTP/1.1 200 ") && !body.is_empty());
    let refused = served.raw("HEAD /judge HTTP/1.1\r\n\r\n");
    assert!(refused.starts_with("HTTP/1.1 405 ") && refused.ends_with("\r\n\r\n"), "{refused}");
    served.end();
}

#[test]
fn a_list_has_so_many_items_at_most() {
    assert_eq!(Bounds::new(2).items, 512);
    let served = Served::new(Bounds::new(2), run);
    let list = |count| json!(vec![json!({ "id": "a", "completion": completion(1) }); count]).to_string();
    let (status, judgements) = served.post("/judge", &list(512));
    assert_eq!((status, judgements.as_array().unwrap().len()), (200, 512));
    let refused = served.post("/judge", &list(513));
    let words = "a list of 513 items; expected at most 512: send several requests";
    assert_eq!(refused, (413, json!({ "error": words })));
    served.end();
}

#[test]
fn a_failure_of_the_machine_is_an_answer_with_its_cause() {
    let callers = Callers::ThisMachine { name: "the-name-of-this-machine".into() };
    let served = Served::with(judge_without_memory(), Box::new(|_| panic!("it is not asked")), BOUNDS, callers);
    let item = json!({ "id": "a", "completion": completion(1) });
    let (status, answer) = served.post("/judge", &item.to_string());
    assert_eq!(status, 500);
    assert!(answer["error"].as_str().unwrap().contains("because: the system refused memory"), "{answer}");
    served.end();
}

#[test]
fn a_panic_is_an_answer_and_the_server_goes_on() {
    let served = Served::new(BOUNDS, |_| panic!("as it was asked to"));
    let request = json!({ "code": "echo", "language": "python" }).to_string();
    for _ in 0..2 * BOUNDS.requests {
        let (status, answer) = served.post("/run_code", &request);
        assert_eq!((status, answer["error"].as_str().unwrap().contains("this is a bug")), (500, true), "{answer}");
    }
    assert!(served.is_healthy());
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
    let traceback = "Traceback (most recent call last):\n  File \"<program>\", line 2\nAssertionError\n";
    let refused = "  File \"<program>\", line 3\nSyntaxError: invalid syntax\n";
    let worded = format!("  File \"<program>\", line 3\nSyntaxError: {TOO_LONG}\n");
    for (code, status, expected) in [
        ("echo", "Success", result("Finished", json!(0), "1 2\n", "")),
        ("spin", "Failed", result("TimeLimitExceeded", Value::Null, "", "")),
        ("raise", "Failed", result("Finished", json!(1), "", "KeyError: 'x'\n")),
        ("exit 3", "Failed", result("Finished", json!(3), "", "")),
        ("exit -1", "Failed", result("Finished", json!(255), "", "")),
        ("assert", "Failed", result("Finished", json!(1), "", traceback)),
        ("exit words", "Failed", result("Finished", json!(1), "", "no input\n")),
        ("x = 3\nsys.exit(3)", "Failed", result("Finished", json!(3), "", "")),
        // A text, which Python writes, also where it is all digits.
        ("x = 3\nsys.exit('3')", "Failed", result("Finished", json!(1), "", "3\n")),
        ("code = '0'\nexit(code)", "Failed", result("Finished", json!(1), "", "0\n")),
        // As in a file that an editor has marked as UTF-8.
        ("\u{feff}echo", "Success", result("Finished", json!(0), "1 2\n", "")),
        ("memory", "Failed", result("Finished", json!(1), "", "MemoryError\n")),
        ("deep", "Failed", result("Finished", json!(1), "", "RecursionError\n")),
        ("refused", "Failed", result("Finished", json!(1), "", refused)),
        // The limit is told of a program that is too long, whatever the words are.
        ("words of a limit", "Failed", result("Finished", json!(1), "", &worded)),
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

/// Runs cells that are the names of what comes of them.
fn run_cells(cells: &Cells) -> Result<CellsRun, HostError> {
    let spent = Fault::OutOfFuel { scope: FuelScope::Call };
    let told = |cell: &String| match cell.as_str() {
        "echo" => {
            Ok(format!(r#"["{} {}", "", "1", null]"#, cells.cell_fuel / FUEL_PER_SECOND, cells.fuel / FUEL_PER_SECOND))
        }
        "raise" => Ok(r#"["", "", null, ["KeyError", "'x'", "Traceback\nKeyError: 'x'"]]"#.to_owned()),
        "long" => Err(Fault::BadValue { found: "more than 1048576 bytes".into() }),
        "forged" => Ok("[1]".to_owned()),
        _ => Err(spent.clone()),
    };
    let told: Vec<_> = cells.sources.iter().map(told).collect();
    let end = told.iter().any(|told| told == &Err(spent.clone())).then_some(spent);
    Ok(CellsRun { told, end, fuel: FUEL_PER_SECOND / 4 })
}

#[test]
fn cells_are_run_as_sandbox_fusion_answers() {
    let served = Served::new(BOUNDS, run);
    let post = |request: Value| served.post("/run_jupyter", &request.to_string()).1;
    let cell = |stdout: &str, display: Value, error: Value| json!({ "stdout": stdout, "stderr": "", "display": display, "error": error });
    let error =
        |name: &str, message: &str, lines: Value| json!([{ "ename": name, "evalue": message, "traceback": lines }]);
    let answer = post(json!({ "cells": ["echo", "raise", "long"], "cell_timeout": 0.2, "total_timeout": 3600 }));
    let words = answer["cells"][2]["error"][0]["evalue"].as_str().unwrap();
    assert!(words.contains("1048576 bytes"), "{answer}");
    let (driver, cells) = (&answer["driver"], answer["cells"].as_array().unwrap());
    assert_eq!(
        *driver,
        json!({
            "status": "Finished", "execution_time": 0.25, "return_code": 0, "stdout": "", "stderr": ""
        })
    );
    assert_eq!(cells[0], cell("1 60", json!([{ "text/plain": "1" }]), json!([])), "bounds of a server");
    assert_eq!(cells[1], cell("", json!([]), error("KeyError", "'x'", json!(["Traceback", "KeyError: 'x'"]))));
    assert_eq!((&answer["status"], &answer["message"], &answer["files"]), (&json!("Success"), &json!(""), &json!({})));

    assert_eq!(post(json!({ "cells": ["echo"] }))["cells"][0]["stdout"], "60 45", "as there");
    let answer = post(json!({ "cells": ["forged", "spin"] }));
    assert_eq!((&answer["status"], &answer["driver"]["status"]), (&json!("Failed"), &json!("TimeLimitExceeded")));
    let names = ["ValueError", "TimeoutError"].map(|name| json!(name));
    assert_eq!([0, 1].map(|cell| answer["cells"][cell]["error"][0]["ename"].clone()), names);
    for (key, value, words) in [
        ("kernel", json!("bash"), "kernel \"bash\": this sandbox runs \"python3\" alone"),
        ("files", json!({ "a.txt": "" }), "have no files"),
        ("total_timeout", json!(0), "expected more than 0 seconds"),
        ("cells", json!(vec!["echo"; 257]), "257 cells; expected at most 256"),
    ] {
        let mut request = json!({ "cells": ["echo"] });
        request[key] = value;
        let answer = post(request);
        assert!(answer["status"] == "SandboxError" && answer["message"].as_str().unwrap().contains(words), "{answer}");
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
        (json!({ "run_timeout": "0.5", "memory_limit_MB": "-1" }), 0, None),
        (json!({ "run_timeout": true, "memory_limit_MB": true }), 1, Some(1 << 20)),
        (json!({ "run_timeout": 3600, "memory_limit_MB": 64.0, "stdin": null }), 60, Some(64 << 20)),
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
fn a_client_that_asks_before_it_sends_is_told_to_go_on() {
    // curl asks so before long bodies.
    let served = Served::new(BOUNDS, run);
    let body = json!({ "id": "a", "completion": completion(20_000) }).to_string();
    let request = posted("/judge", &body);
    let head =
        request.strip_suffix(&body).unwrap().replacen("\r\n", "\r\nHost: localhost\r\nExpect: 100-Continue\r\n", 1);
    let mut client = served.client(&head);
    let mut told = [0; 25];
    client.read_exact(&mut told).unwrap();
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    client.write_all(body.as_bytes()).unwrap();
    assert_eq!(parsed(&received(client)).1["reward"], 0.5);
    // Who would be refused hears that at once, and who has sent the body already hears no more than the answer.
    let refused = served.client(&head.replace("localhost", "evil.example"));
    assert_eq!(parsed(&received(refused)).0, 403);
    assert_eq!(parsed(&received(served.client(&format!("{head}{body}")))).1["reward"], 0.5);
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
    // It hears so before it sends its body.
    let answer = served.raw(posted("/judge", "[]").strip_suffix("[]").unwrap());
    assert_eq!(parsed(&answer).0, 503);
    assert!(answer.contains("\r\nRetry-After: 1\r\n"), "{answer}");
    assert!(served.is_healthy());
    served.stop.store(true, Ordering::SeqCst);
    std::thread::sleep(4 * Duration::from_millis(LOOK_MS.into()));
    assert!(!served.ended.is_finished(), "two requests are at hand");
    drop(closed);
    assert_eq!(clients.map(|client| client.join().unwrap()), ["Success", "Success"]);
    Arc::into_inner(served).unwrap().end();
}
