//! Who is answered: programs on this machine, and no page of another site.

use super::*;

/// Requests of each kind, without `Host`: all are answered with 200 where they are let in.
fn requests() -> [String; 3] {
    let item = json!({ "id": "a", "completion": completion(1) }).to_string();
    let job = json!({ "code": "echo", "language": "python" }).to_string();
    ["GET /health HTTP/1.1\r\n\r\n".to_owned(), posted("/judge", &item), posted("/run_code", &job)]
}

/// The answer to a request with these headers more.
fn asked(served: &Served, request: &str, headers: &str) -> (u16, Value) {
    parsed(&received(served.client(&request.replacen("\r\n", &format!("\r\n{headers}"), 1))))
}

const OF_THIS_MACHINE: [&str; 9] = [
    "Host: localhost\r\n",
    "Host: LOCALHOST:8080\r\n",
    "Host: 127.0.0.1:8080\r\n",
    "Host: 127.1.2.3\r\n",
    "Host: [::1]:8080\r\n",
    "Host: the-name-of-this-machine:8080\r\n",
    "Host: localhost\r\nOrigin: http://127.0.0.1:3000\r\n",
    "Host: localhost\r\nOrigin: https://localhost\r\nSec-Fetch-Site: same-origin\r\n",
    "Host: localhost\r\nSec-Fetch-Site: none\r\n",
];

/// Headers of a page, and what is said of them.
const OF_A_PAGE: [(&str, &str); 12] = [
    // A name that was let resolve to this machine: DNS rebinding.
    ("Host: evil.example\r\n", "Host: evil.example; expected one, such as 127.0.0.1"),
    ("Host: evil.example:8080\r\nOrigin: http://evil.example:8080\r\nSec-Fetch-Site: same-origin\r\n", "Host: evil"),
    ("Host: localhost.evil.example\r\n", "Host: localhost.evil.example;"),
    ("Host: localhost\r\nHost: evil.example\r\n", "Host: localhost, evil.example;"),
    ("Host: \r\n", "Host: ;"),
    ("", "Host: ;"),
    // A page of another site that asks this machine.
    ("Host: localhost\r\nOrigin: https://evil.example\r\n", "Origin: https://evil.example; expected none"),
    ("Host: localhost\r\nOrigin: null\r\n", "Origin: null;"),
    ("Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.example\r\n", "Origin: http://evil.example;"),
    ("Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Site: cross-site; expected none or same-origin"),
    ("Host: localhost\r\nSec-Fetch-Site: same-site\r\n", "Sec-Fetch-Site: same-site;"),
    ("Host: localhost\r\nOrigin: http://localhost\r\nSec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Site: cross-site;"),
];

#[test]
fn programs_of_this_machine_are_answered_and_no_page_of_another_site() {
    let served = Served::new(BOUNDS, run);
    for request in requests() {
        for headers in OF_THIS_MACHINE {
            assert_eq!(asked(&served, &request, headers).0, 200, "{headers}");
        }
        for (headers, words) in OF_A_PAGE {
            let (status, answer) = asked(&served, &request, headers);
            let error = answer["error"].as_str().unwrap();
            assert_eq!(status, 403, "{headers}");
            assert!(error.starts_with(words) && error.contains("--allow-remote"), "{error}");
        }
    }
    served.end();
}

#[test]
fn everybody_is_answered_where_others_are_allowed() {
    let judge = Arc::into_inner(judge(2)).unwrap();
    let served = Served::with(judge, Box::new(run), BOUNDS, Callers::Everybody);
    for request in requests() {
        for headers in OF_THIS_MACHINE.into_iter().chain(OF_A_PAGE.map(|(headers, _)| headers)) {
            assert_eq!(asked(&served, &request, headers).0, 200, "{headers}");
        }
    }
    served.end();
}

#[test]
fn a_body_is_json_that_says_so_and_is_not_compressed_whoever_asks() {
    for callers in [Callers::Everybody, Callers::ThisMachine { name: String::new() }] {
        let served = Served::with(Arc::into_inner(judge(2)).unwrap(), Box::new(run), BOUNDS, callers);
        let [_, item, job] = requests();
        for request in [item, job] {
            let saying = |lines: &str| {
                let request = request.replace("Content-Type: application/json\r\n", lines);
                parsed(&served.raw(&request))
            };
            for lines in [
                "Content-Type: application/json\r\n",
                "content-type: Application/JSON; charset=utf-8\r\n",
                "Content-Type: application/json;charset=\"UTF-8\"\r\n",
                "Content-Type: application/json; charset=utf8\r\n",
                "Content-Type: application/json\r\nContent-Encoding: identity\r\n",
            ] {
                assert_eq!(saying(lines).0, 200, "{lines}");
            }
            for (lines, words) in [
                // What a page may post to any site without asking first.
                ("Content-Type: text/plain\r\n", "Content-Type: text/plain; expected application/json"),
                ("Content-Type: application/x-www-form-urlencoded\r\n", "expected application/json"),
                ("Content-Type: multipart/form-data; boundary=application/json\r\n", "expected application/json"),
                ("Content-Type: text/plain\r\nContent-Type: application/json\r\n", "expected application/json"),
                ("Content-Type: application/json; charset=latin-1\r\n", "in UTF-8"),
                ("", "Content-Type: ; expected application/json"),
                ("Content-Type: application/json\r\nContent-Encoding: gzip\r\n", "Content-Encoding: gzip; expected"),
                ("Content-Type: application/json\r\nContent-Encoding: identity, br\r\n", "not compressed"),
            ] {
                let (status, answer) = saying(lines);
                assert_eq!(status, 415, "{lines}");
                assert!(answer["error"].as_str().unwrap().contains(words), "{answer}");
            }
        }
        // Nor does it learn that it might ask otherwise.
        let preflight = served.raw("OPTIONS /judge HTTP/1.1\r\nAccess-Control-Request-Method: POST\r\n\r\n");
        assert!(preflight.starts_with("HTTP/1.1 405 ") && !preflight.contains("Access-Control"), "{preflight}");
        served.end();
    }
}
