//! A push, against a server of our own that answers as the Hub does and refuses what the Hub would refuse. What it expects
//! is what `huggingface_hub` 2.4 sends for `create_repo` and `upload_folder`.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::server::{self, Asked};
use crate::files::hub::HubSettings;
use crate::files::hub::push::{HubRepo, PushError, Pushed, Visibility, push_by};

const TOKEN: &str = "hf_secret";

/// The Hub: what it was asked, and answers that replace its own, each given once.
#[derive(Default)]
struct Hub {
    asked: Mutex<Vec<Asked>>,
    instead: Mutex<Vec<(&'static str, u16, &'static str)>>,
    /// Bytes of a part, where large files are sent in parts.
    part: Option<usize>,
    /// Whether large files are there already.
    has_large: bool,
}

impl Hub {
    fn serve(self) -> (Arc<Hub>, String) {
        let hub = Arc::new(self);
        let serving = hub.clone();
        let address = server::serve(move |asked, stream, address| serving.answer(asked, stream, address));
        (hub, address)
    }

    fn answer(&self, asked: Asked, mut stream: TcpStream, address: &str) -> std::io::Result<()> {
        let mut instead = self.instead.lock().unwrap();
        let found = instead.iter().position(|(line, ..)| asked.line.contains(line));
        let (status, body) = match found.map(|at| instead.remove(at)) {
            Some((_, status, body)) => (status, body.to_owned()),
            None => self.own_answer(&asked, address),
        };
        let tag = format!("\"{:x}\"", Sha256::digest(&asked.body));
        self.asked.lock().unwrap().push(asked);
        write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: {}\r\netag: {tag}\r\n", body.len())?;
        write!(stream, "connection: close\r\n\r\n{body}")
    }

    fn own_answer(&self, asked: &Asked, address: &str) -> (u16, String) {
        let authorised = asked.headers.get("authorization").is_some_and(|given| *given == format!("Bearer {TOKEN}"));
        match asked.line.split_once(' ').unwrap() {
            ("PUT", _) => (200, String::new()),
            ("POST", "/complete") => (200, "{}".into()),
            _ if !authorised => (401, r#"{"error":"Invalid credentials"}"#.into()),
            ("POST", "/api/repos/create") => (200, json!({"url": "x"}).to_string()),
            ("POST", "/api/models/me/player/preupload/main") => {
                let mode = |file: &Value| {
                    let large = file["path"].as_str().unwrap().ends_with(".safetensors");
                    json!({"path": file["path"], "uploadMode": if large { "lfs" } else { "regular" }, "shouldIgnore": false})
                };
                let files: Vec<Value> = asked.json()["files"].as_array().unwrap().iter().map(mode).collect();
                (200, json!({"files": files}).to_string())
            }
            ("POST", "/me/player.git/info/lfs/objects/batch") => (200, self.batch(&asked.json(), address)),
            ("POST", "/verify") => (200, "{}".into()),
            ("POST", "/api/models/me/player/commit/main") => {
                (200, json!({"success": true, "commitUrl": format!("{address}/me/player/commit/abc")}).to_string())
            }
            _ => (404, String::new()),
        }
    }

    fn batch(&self, wish: &Value, address: &str) -> String {
        let object = |wanted: &Value| {
            let mut upload = json!({"href": format!("{address}/storage?signature=1")});
            if let Some(part) = self.part {
                let parts = wanted["size"].as_u64().unwrap().div_ceil(part as u64);
                upload = json!({"href": format!("{address}/complete"), "header": {"chunk_size": part.to_string()}});
                for number in 1..=parts {
                    upload["header"][format!("{number:05}")] = format!("{address}/part/{number}").into();
                }
            }
            let verify = json!({"href": format!("{address}/verify")});
            match self.has_large {
                true => json!({"oid": wanted["oid"], "size": wanted["size"]}),
                false => {
                    json!({"oid": wanted["oid"], "size": wanted["size"], "actions": {"upload": upload, "verify": verify}})
                }
            }
        };
        json!({"objects": wish["objects"].as_array().unwrap().iter().map(object).collect::<Vec<_>>()}).to_string()
    }

    fn lines(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|asked| asked.line.clone()).collect()
    }
}

fn exported() -> (tempfile::TempDir, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let weights: Vec<u8> = (0..2500_u32).map(|at| (at * 7 % 251) as u8).collect();
    std::fs::write(dir.path().join("model.safetensors"), &weights).unwrap();
    std::fs::write(dir.path().join("README.md"), "# Player\n").unwrap();
    std::fs::write(dir.path().join("not-exported.txt"), "secret").unwrap();
    (dir, weights)
}

fn push_to(endpoint: &str, token: Option<&str>, dir: &Path) -> Result<Pushed, PushError> {
    let settings =
        HubSettings { endpoint: endpoint.into(), cache: dir.into(), token: token.map(str::to_owned), offline: false };
    let names = ["README.md".to_owned(), "model.safetensors".to_owned()];
    push_by(&settings, dir, &names, &HubRepo::parse("me/player").unwrap(), Visibility::Private)
}

#[test]
fn what_was_exported_becomes_one_commit_with_its_large_files_sent_before() {
    let (dir, weights) = exported();
    let (hub, address) = Hub::default().serve();
    let pushed = push_to(&address, Some(TOKEN), dir.path()).unwrap();
    assert_eq!(
        pushed,
        Pushed { url: format!("{address}/me/player"), commit_url: format!("{address}/me/player/commit/abc") }
    );
    assert_eq!(
        hub.lines(),
        [
            "POST /api/repos/create",
            "POST /api/models/me/player/preupload/main",
            "POST /me/player.git/info/lfs/objects/batch",
            "PUT /storage?signature=1",
            "POST /verify",
            "POST /api/models/me/player/commit/main",
        ]
    );
    let asked = hub.asked.lock().unwrap();
    let oid = format!("{:x}", Sha256::digest(&weights));
    let create = json!({"name": "player", "organization": "me", "type": "model", "visibility": "private"});
    assert_eq!(asked[0].json(), create);
    let files = json!([{"path": "README.md", "size": 9, "sample": STANDARD.encode("# Player\n")},
        {"path": "model.safetensors", "size": 2500, "sample": STANDARD.encode(&weights[..512])}]);
    assert_eq!(asked[1].json()["files"], files);
    let batch = json!({"operation": "upload", "transfers": ["basic", "multipart"], "hash_algo": "sha256",
        "objects": [{"oid": oid, "size": 2500}], "ref": {"name": "main"}});
    assert_eq!((asked[2].json(), &*asked[2].headers["content-type"]), (batch, "application/vnd.git-lfs+json"));
    assert_eq!(
        (&asked[3].body, asked[3].headers.get("authorization")),
        (&weights, None),
        "storage is not told the token"
    );
    assert_eq!(asked[4].json(), json!({"oid": oid, "size": 2500}));
    assert_eq!(asked[5].headers["content-type"], "application/x-ndjson");
    let text = String::from_utf8(asked[5].body.clone()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["key"], "header");
    let readme = json!({"content": STANDARD.encode("# Player\n"), "path": "README.md", "encoding": "base64"});
    assert_eq!(lines[1], json!({"key": "file", "value": readme}));
    let large = json!({"path": "model.safetensors", "algo": "sha256", "oid": oid, "size": 2500});
    assert_eq!(lines[2], json!({"key": "lfsFile", "value": large}));
    assert_eq!(lines.len(), 3, "nothing but what was exported");
}

#[test]
fn a_file_goes_in_the_parts_that_are_asked_for() {
    let (dir, weights) = exported();
    let (hub, address) = Hub { part: Some(1000), ..Hub::default() }.serve();
    push_to(&address, Some(TOKEN), dir.path()).unwrap();
    let asked = hub.asked.lock().unwrap();
    let parts: Vec<&Asked> = asked.iter().filter(|one| one.line.starts_with("PUT /part/")).collect();
    assert_eq!(parts.iter().map(|part| part.body.len()).collect::<Vec<_>>(), [1000, 1000, 500]);
    assert_eq!(parts.iter().flat_map(|part| part.body.clone()).collect::<Vec<u8>>(), weights);
    let complete = asked.iter().find(|one| one.line == "POST /complete").unwrap();
    let tag = |part: &Asked| format!("\"{:x}\"", Sha256::digest(&part.body));
    let expected: Vec<Value> =
        parts.iter().enumerate().map(|(at, part)| json!({"partNumber": at + 1, "etag": tag(part)})).collect();
    assert_eq!(complete.json()["parts"], json!(expected));
}

#[test]
fn a_repository_that_is_there_is_pushed_to_and_what_it_has_is_not_sent_again() {
    let (dir, _) = exported();
    let instead = Mutex::new(vec![("repos/create", 409, r#"{"error":"You already created this model repo"}"#)]);
    let (hub, address) = Hub { instead, has_large: true, ..Hub::default() }.serve();
    push_to(&address, Some(TOKEN), dir.path()).unwrap();
    let lines = hub.lines();
    assert!(!lines.iter().any(|line| line.starts_with("PUT")), "{lines:?}");
    assert!(lines.last().unwrap().contains("/commit/main"), "{lines:?}");
}

#[test]
fn a_token_for_one_repository_alone_pushes_to_it_though_it_may_make_none() {
    let (dir, _) = exported();
    for status in [401, 402, 403] {
        let refusal = r#"{"error":"You don't have the rights to create a model under the namespace me"}"#;
        let instead = Mutex::new(vec![("repos/create", status, refusal), ("GET /api/models/me/player", 200, "{}")]);
        let (hub, address) = Hub { instead, ..Hub::default() }.serve();
        push_to(&address, Some(TOKEN), dir.path()).unwrap();
        let asked = hub.asked.lock().unwrap();
        assert_eq!(asked[1].line, "GET /api/models/me/player");
        assert_eq!(asked[1].headers["authorization"], format!("Bearer {TOKEN}"));
        assert!(asked.last().unwrap().line.contains("/commit/main"), "{status}");
    }
}

#[test]
fn a_hub_that_makes_another_repository_is_asked_again_for_a_while() {
    let (dir, _) = exported();
    let busy = ("repos/create", 409, "Cannot create repo: another conflicting operation is in progress");
    let asked = |hub: &Hub| hub.lines().iter().filter(|line| line.contains("repos/create")).count();
    let (hub, address) = Hub { instead: Mutex::new(vec![busy]), ..Hub::default() }.serve();
    push_to(&address, Some(TOKEN), dir.path()).unwrap();
    assert_eq!(asked(&hub), 2);
    let (hub, address) = Hub { instead: Mutex::new(vec![busy; 4]), ..Hub::default() }.serve();
    let error = push_to(&address, Some(TOKEN), dir.path()).unwrap_err().to_string();
    assert!(error.contains("making the repository") && error.contains("409"), "{error}");
    assert_eq!(asked(&hub), 3, "and nothing is sent to a repository that may not be there");
    assert_eq!(hub.lines().len(), 3);
}

#[test]
fn storage_that_stumbles_is_tried_again() {
    let (dir, _) = exported();
    let (hub, address) = Hub { instead: Mutex::new(vec![("PUT /storage", 503, "")]), ..Hub::default() }.serve();
    push_to(&address, Some(TOKEN), dir.path()).unwrap();
    assert_eq!(hub.lines().iter().filter(|line| line.starts_with("PUT")).count(), 2);
}

#[test]
fn a_refusal_says_what_to_do() {
    let (dir, _) = exported();
    let told = |error: PushError| match error {
        PushError::Hub { message, advice, .. } => format!("{message}; {advice}"),
        PushError::Io { .. } => panic!("{error}"),
    };
    let refused = |line: &'static str, status: u16, body: &'static str| {
        let (_, address) = Hub { instead: Mutex::new(vec![(line, status, body)]), ..Hub::default() }.serve();
        told(push_to(&address, Some(TOKEN), dir.path()).unwrap_err())
    };
    let forbidden = refused("repos/create", 403, r#"{"error":"You don't have the rights"}"#);
    assert!(
        forbidden.contains("403: You don't have the rights") && forbidden.contains("may not write to me"),
        "{forbidden}"
    );
    let together = refused("/commit/main", 409, "{}");
    assert!(together.contains("at the same time; push again"), "{together}");
    let full = refused("objects/batch", 413, "too much");
    assert!(full.contains("413") && full.contains("space"), "{full}");
    let other = refused("preupload", 200, "<html>");
    assert!(other.contains("is HF_ENDPOINT a Hub?"), "{other}");

    let (_, address) = Hub::default().serve();
    let unknown = told(push_to(&address, Some("hf_wrong"), dir.path()).unwrap_err());
    assert!(unknown.contains("401: Invalid credentials") && unknown.contains("token is not valid"), "{unknown}");
    let none = told(push_to(&address, None, dir.path()).unwrap_err());
    assert!(none.contains("no token") && none.contains("HF_TOKEN"), "{none}");
    // A port that nobody listens on.
    let vacant = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gone = told(push_to(&format!("http://{vacant}"), Some(TOKEN), dir.path()).unwrap_err());
    assert!(gone.contains("cannot be reached") && gone.contains("network"), "{gone}");
}
