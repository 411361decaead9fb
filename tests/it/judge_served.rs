//! Tests of `grpo-2048 judge --serve`: its requests, its limits, and who is served.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::judge::{answers, judge, parsed, tasks};
use crate::program::ignores_hangups;

/// Starts `judge --serve`. Returns the process and its address, which it prints when it is ready.
pub fn server(directory: &Path, arguments: &[&str]) -> (Child, String) {
    let mut command = judge(directory, &[&["--serve", "127.0.0.1:0"], arguments].concat());
    serving(&mut command)
}

fn serving(command: &mut Command) -> (Child, String) {
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let words = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let said = words.take(10).find(|line| line.contains("http://")).unwrap();
    let address = said.split("http://").nth(1).unwrap().split(':').take(2).collect::<Vec<_>>().join(":");
    (child, address)
}

/// A client that has sent these bytes.
fn client(address: &str, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn received(mut client: TcpStream) -> String {
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer
}

/// The request of verl's client and of Python's `requests` elsewhere.
pub fn post(address: &str, path: &str, body: &Value) -> Value {
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: python-requests/2.32.3\r\nAccept-Encoding: gzip, deflate\r\n\
         Accept: application/json\r\nConnection: keep-alive\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let answer = received(client(address, &(head + &body)));
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

pub fn ends_at_ctrl_c(child: Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert!(child.wait_with_output().unwrap().status.success());
}

#[test]
fn a_server_answers_as_lines_are_answered_and_runs_what_verl_posts_until_ctrl_c() {
    let directory = tasks();
    let items = [("add", "def add(a, b): return a + b"), ("sum", "```python\nprint(6)\n```")];
    let lines = parsed(&answers(directory.path(), &items, &["--env", "tasks.jsonl"]));
    let (child, address) = server(directory.path(), &["--env", "tasks.jsonl", "--parallel-rewards", "2"]);
    let list: Vec<Value> = items.iter().map(|(id, text)| json!({ "id": id, "completion": text })).collect();
    assert_eq!(post(&address, "/judge", &json!(list)), json!(lines));
    assert_eq!(post(&address, "/judge", &list[0]), lines[0]);

    // A function in a program that reads its arguments as JSON lines, after all star imports that verl adds.
    let modules = "string re datetime collections heapq bisect copy math random statistics itertools functools operator \
                   io sys json builtins typing";
    let imports: String = modules.split_whitespace().map(|name| format!("from {name} import *\n")).collect();
    let program = format!(
        "import traceback, sys, json\n{imports}\nclass Solution:\n    def gap(self, a, b):\n        return Counter(a) - Counter(b)\n\
         \nif __name__ == '__main__':\n    arguments = [json.loads(line) for line in sys.stdin.read().split('\\n')]\n    \
         print(json.dumps(Solution().gap(*arguments)))\n"
    );
    let run = |code: &str, stdin: &str, seconds: f64| {
        let request = json!({
            "code": code, "language": "python", "stdin": stdin, "run_timeout": seconds, "compile_timeout": 10,
            "memory_limit_MB": 1024, "files": {}, "fetch_files": []
        });
        post(&address, "/run_code", &request)
    };
    let answer = run(&program, "[1, 1, 2]\n[2]", 10.0);
    assert_eq!(
        (&answer["status"], &answer["run_result"]["stdout"]),
        (&json!("Success"), &json!("{\"1\": 2}\n")),
        "{answer}"
    );
    assert_eq!(run(&program, "[1, 1, 2]\n[2]", 10.0), answer, "the time too");
    for (code, status, return_code) in [
        ("while True: pass", "TimeLimitExceeded", Value::Null),
        ("import sys; sys.exit(7)", "Finished", json!(7)),
        ("1 +", "Finished", json!(1)),
        ("x = [0] * 10**9", "Finished", json!(1)),
    ] {
        let answer = run(code, "", 0.2);
        assert_eq!(
            (&answer["status"], &answer["run_result"]["status"]),
            (&json!("Failed"), &json!(status)),
            "{answer}"
        );
        assert_eq!(answer["run_result"]["return_code"], return_code, "{answer}");
    }
    ends_at_ctrl_c(child);
}

#[test]
fn a_long_body_takes_a_few_times_its_bytes_whatever_is_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let (child, address) = server(directory.path(), &[]);
    let most_kib = || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let before = most_kib();
    let numbers = vec![0; 4_000_000];
    for (path, body, words) in [
        ("/run_jupyter", json!({ "cells": [], "files": { "a": numbers } }), "cells in this sandbox have no files"),
        ("/run_jupyter", json!({ "cells": [], "fetch_files": vec![""; 2_700_000] }), "have no files"),
        ("/run_jupyter", json!({ "cells": vec![""; 2_700_000] }), "2700000 cells; expected at most 256"),
        ("/run_code", json!({ "code": "", "language": "python", "files": numbers }), "have no files"),
        (
            "/judge",
            json!({ "id": "", "completion": [{ "content": "", "more": numbers }] }),
            "no top-level `def strategy",
        ),
    ] {
        let answer = post(&address, path, &body).to_string();
        assert!(answer.contains(words), "{answer}");
    }
    let more = most_kib() - before;
    println!("bodies of 8 MiB: at most {more} KiB more");
    assert!(more < 64 << 10, "{more} KiB more");
    ends_at_ctrl_c(child);
}

#[test]
fn a_hangup_ends_a_server_unless_it_was_started_with_hangups_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let hang_up = |child: &Child| {
        assert!(Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap().success());
    };
    if !ignores_hangups() {
        let (child, _) = server(directory.path(), &[]);
        hang_up(&child);
        assert!(child.wait_with_output().unwrap().status.success());
    }
    // As `nohup` starts it.
    let mut command = Command::new("sh");
    command.current_dir(directory.path()).args(["-c", "trap '' HUP; exec \"$@\"", "sh"]);
    command.arg(env!("CARGO_BIN_EXE_grpo-2048")).args(["judge", "--serve", "127.0.0.1:0"]);
    let (child, address) = serving(&mut command);
    hang_up(&child);
    // A server that stops closes its socket within 50 ms.
    std::thread::sleep(Duration::from_millis(500));
    let health = format!("GET /health HTTP/1.1\r\nHost: {address}\r\n\r\n");
    assert!(received(client(&address, &health)).starts_with("HTTP/1.1 200 "));
    ends_at_ctrl_c(child);
}

#[test]
fn a_thousand_slow_connections_cost_a_server_no_threads_and_neither_health_nor_the_end_waits_for_them() {
    let limit = nix::sys::resource::Resource::RLIMIT_NOFILE;
    let (_, most) = nix::sys::resource::getrlimit(limit).unwrap();
    nix::sys::resource::setrlimit(limit, most.min(4096), most).unwrap();
    let directory = tasks();
    let (child, address) = server(directory.path(), &["--env", "tasks.jsonl", "--parallel-rewards", "2"]);
    let status = |key: &str| {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(key)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let (threads, resident) = (status("Threads:"), status("VmRSS:"));
    let half = format!("POST /judge HTTP/1.1\r\nHost: {address}\r\n");
    let body = format!("{half}Content-Type: application/json\r\nContent-Length: 5000\r\n\r\nx");
    let head = format!("{half}X-Slow: ");
    let slow: Vec<TcpStream> =
        (0..1_000).map(|number| client(&address, if number % 4 == 0 { &body } else { &head })).collect();
    let health = format!("GET /health HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let mut waited: Vec<Duration> = (0..20)
        .map(|_| {
            let begun = Instant::now();
            assert!(received(client(&address, &health)).starts_with("HTTP/1.1 200 "));
            begun.elapsed()
        })
        .collect();
    waited.sort();
    println!(
        "/health beside 1,000 slow connections: median {:?}, worst {:?}; {} threads, {} KiB more",
        waited[10],
        waited[19],
        status("Threads:"),
        status("VmRSS:").saturating_sub(resident)
    );
    // The promise is 0.2 s; machines that test many things at once have more time.
    assert!(waited[19] < Duration::from_secs(2), "{waited:?}");
    // A few threads begin and end by themselves around an answer.
    assert!(status("Threads:") < threads + 10, "{} threads, {threads} before", status("Threads:"));
    let answer = post(&address, "/judge", &json!({ "id": "add", "completion": "def add(a, b): return a + b" }));
    assert_eq!(answer["reward"], 1.0);
    let begun = Instant::now();
    ends_at_ctrl_c(child);
    assert!(begun.elapsed() < Duration::from_secs(5), "the end took {:?}", begun.elapsed());
    drop(slow);
}

#[test]
fn a_server_without_allow_remote_answers_no_page_of_another_site() {
    let directory = tasks();
    let (child, address) = server(directory.path(), &["--env", "tasks.jsonl", "--parallel-rewards", "1"]);
    let port = address.rsplit_once(':').unwrap().1;
    for (headers, status) in [
        (format!("Host: localhost:{port}\r\n"), "200"),
        (format!("Host: evil.example:{port}\r\n"), "403"),
        (format!("Host: {address}\r\nOrigin: https://evil.example\r\n"), "403"),
        (format!("Host: {address}\r\nSec-Fetch-Site: cross-site\r\n"), "403"),
    ] {
        let answer = received(client(&address, &format!("GET /health HTTP/1.1\r\n{headers}\r\n")));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{headers}{answer}");
    }
    ends_at_ctrl_c(child);
}

#[test]
fn only_this_machine_is_served_unless_others_are_allowed() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["--serve", "0.0.0.0:0"][..], "error: --serve 0.0.0.0:0: other machines reach 0.0.0.0"),
        (&["--serve", "8080"], "expected HOST:PORT, such as 127.0.0.1:8080"),
        (&["--serve", "127.0.0.1:0", "items.jsonl"], "cannot be used with"),
        (&["--allow-remote"], "--allow-remote: nothing is served to other machines without --serve"),
        (&["--allow-remote", "items.jsonl"], "hint: add --serve HOST:PORT"),
        (&["--allow-remote", "--calls"], "hint: add --serve HOST:PORT"),
        // An address for documents (RFC 5737), which no machine has: another port would not help.
        (&["--serve", "192.0.2.1:0", "--allow-remote"], "hint: name an address of this machine"),
    ] {
        let output = judge(directory.path(), arguments).output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(words.contains(expected), "{words}");
    }
}

#[test]
fn error_output_is_not_kept_and_a_limit_of_the_sandbox_is_told_as_one() {
    let directory = tempfile::tempdir().unwrap();
    let (child, address) = server(directory.path(), &[]);
    let run = |code: &str| post(&address, "/run_code", &json!({ "code": code, "language": "python" }));
    let warned = run("import sys\nsys.stderr.write('careful')\nprint('done')");
    assert_eq!((&warned["status"], &warned["message"]), (&json!("Success"), &json!("")));
    let result = &warned["run_result"];
    assert_eq!((&result["stdout"], &result["stderr"]), (&json!("done\n"), &json!("")));
    let raised = run("import sys\nsys.stderr.write('careful')\nraise OSError('more than this')");
    let words = raised["run_result"]["stderr"].as_str().unwrap();
    assert!(words.ends_with("OSError: more than this\n") && !words.contains("careful"), "{raised}");
    assert_eq!(raised["message"], "");
    for (raises, name) in [
        ("import json\njson.loads('{')", "json.decoder.JSONDecodeError: "),
        ("class A:\n    class Own(Exception): pass\nraise A.Own('x')", "A.Own: x\n"),
        (
            "class Meta(type):\n    __module__ = property(lambda _: 1 / 0)\nclass Own(Exception, metaclass=Meta): pass\nraise Own",
            "Own\n",
        ),
    ] {
        let raised = run(raises);
        let words = raised["run_result"]["stderr"].as_str().unwrap();
        assert!(words.lines().last().is_some_and(|last| format!("{last}\n").starts_with(name)), "{raised}");
    }
    for much in ["print('x' * 3_000_000)", "try:\n    print('x' * 3_000_000)\nexcept OSError:\n    pass"] {
        let failed = run(much);
        assert_eq!((&failed["status"], &failed["run_result"]["return_code"]), (&json!("Failed"), &json!(1)));
        let told = failed["message"].as_str().unwrap();
        assert!(told.starts_with("this sandbox keeps 1048576 bytes of standard output at most"), "{failed}");
    }
    let long = run(&format!("x = 1\n{}", "#".repeat(300_000)));
    assert_eq!((&long["status"], &long["run_result"]["return_code"]), (&json!("Failed"), &json!(1)));
    assert_eq!(long["message"], "this sandbox compiles 262144 bytes of a program at most; this one has 300006");
    ends_at_ctrl_c(child);
}
