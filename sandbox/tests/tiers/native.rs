//! Asks the `python3` of this machine what a program answers.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::program::Program;

/// Plays `[source, seed, [[function, arguments], ..]]` of its input; prints a list of values as the guest writes them, or
/// null. Arguments of no tags but `float`.
const PLAYER: &str = r#"
import json, random, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (2, 2))
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
sys.path.insert(0, sys.argv[1])
import values
source, seed, calls = json.load(sys.stdin)
def untagged(pairs):
    return float(pairs[0][1]) if pairs and pairs[0][0] == "float" else dict(pairs)
random.seed(seed)
module, answers = {"__name__": "program"}, []
out, sys.stdout = sys.stdout, open("/dev/null", "w")
try:
    exec(compile(source, "program", "exec"), module)
except Exception:
    calls = [None]
for call in calls:
    try:
        answers.append(values.write(module[call[0]](*json.loads(call[1], object_pairs_hook=untagged))))
    except Exception:
        answers.append(None)
json.dump(answers, out)
"#;

/// The text of each value, of which `None` is an exception; nothing of a program that does not end.
pub fn answers(program: &Program) -> Option<Vec<Option<String>>> {
    let calls: Vec<(&str, &str)> = program
        .groups
        .iter()
        .flat_map(|group| group.calls.iter().map(|call| (group.function.as_str(), call.as_str())))
        .collect();
    let guest = concat!(env!("CARGO_MANIFEST_DIR"), "/guest");
    let mut python = Command::new("python3")
        .args(["-W", "ignore", "-c", PLAYER, guest])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3");
    let asked = serde_json::json!([program.source(), program.seed, calls]).to_string();
    python.stdin.take().unwrap().write_all(asked.as_bytes()).unwrap();
    let told = python.wait_with_output().unwrap();
    serde_json::from_slice(&told.stdout).ok()
}
