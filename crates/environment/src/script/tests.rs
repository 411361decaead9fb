use super::*;

const GAME: &str = r#""""Count.

    `strategy(n)` is given a number; return the next one.
      Indented.
"""
import random
ENTRY, SCALE = "strategy(n)", 10

def reset():
    return 0

def step(action):
    return action, 1, False
"#;

fn open(source: &str) -> Result<ScriptGame, ScriptError> {
    ScriptGame::from_source(Path::new("games/count.py"), source.to_owned())
}

fn refusal(source: &str) -> String {
    open(source).map(|game| format!("{game:?}")).unwrap_err().to_string()
}

/// What is said of the game when lines are put below its first assignment.
fn refusal_with(lines: &str) -> String {
    refusal(&GAME.replace("\n\ndef reset", &format!("\n{lines}\n\ndef reset")))
}

#[test]
fn a_file_says_what_it_asks_for() {
    let game = open(GAME).unwrap();
    assert_eq!(
        (game.name(), game.function(), game.entry().opening().as_str()),
        ("count", "strategy", "def strategy(n):")
    );
    assert_eq!((game.scale(), game.anchor(), game.moves_max()), (10.0, 0.625, 10_000));
    assert_eq!((game.source(), game.references()), (GAME, &[][..]));
    let briefing = game.briefing();
    assert_eq!(briefing.system, "Count.\n\n`strategy(n)` is given a number; return the next one.\n  Indented.");
    let [request] = &briefing.requests[..] else { panic!("{briefing:?}") };
    assert_eq!((request.style.as_str(), request.opening.as_str()), ("count", "def strategy(n):"));
    assert_eq!(request.words, "Write `strategy(n)` that scores as high as it can at count.");
    assert_eq!((&request.example, request.task, request.held_out), (&None, None, false));
}

#[test]
fn what_a_file_may_say_besides_is_taken() {
    let more = r#"
NAME: str = "Counting"
MOVES = 10 ** 3
ANCHOR = BASE = 0.5
REFERENCES = {
    2: "def strategy(n): return n + 1",
    1: ["def strategy(n): return 0", "def strategy(n): return n"],
}
EXAMPLE = ("Write a player.", """
def strategy(n):
    return 7
""")
"#;
    let game = open(&format!("{GAME}{more}")).unwrap();
    assert_eq!((game.name(), game.moves_max(), game.anchor()), ("Counting", 1000, 0.5));
    let names: Vec<_> = game.references().iter().map(|player| (player.rank, player.name.as_str())).collect();
    assert_eq!(names, [(1, "rank 1, 1"), (1, "rank 1, 2"), (2, "rank 2")]);
    assert_eq!(game.references()[2].source, "def strategy(n): return n + 1\n");
    let example = game.briefing().requests[0].example.clone().unwrap();
    assert_eq!(
        example,
        Example { request: "Write a player.".into(), program: "def strategy(n):\n    return 7".into() }
    );
}

#[test]
fn a_name_that_nothing_reads_and_that_is_nearly_one_of_a_game_is_misspelt() {
    let of = |lines: &str| open(&format!("{GAME}{lines}")).unwrap().misspelt().to_vec();
    let found = of("MOVE = 10\nANCHR, REFERENCEZ = 3, {}\nGAMES = LIMIT = 5\n");
    let expected = [("ANCHR", "ANCHOR"), ("MOVE", "MOVES"), ("REFERENCEZ", "REFERENCES")];
    assert_eq!(found, expected.map(|(name, meant)| (name.to_owned(), meant)));
    for right in ["MOVE = 10\nMOVES = 10 * 2\n", "MOVE = 10\ndef far(): return MOVE\n", "MOVES = 5\n"] {
        assert_eq!(of(right), [], "{right}");
    }
}

#[test]
fn the_last_assignment_counts_as_it_does_in_python() {
    assert_eq!(open(&format!("{GAME}SCALE = 20\n")).unwrap().scale(), 20.0);
    let elsewhere = "def f():\n    MOVES = 3\nclass C:\n    MOVES = 4\nlengths = [MOVES for MOVES in (1, 2)]\n\
                     if __name__ == '__main__':\n    MOVES = 5\n";
    assert_eq!(
        open(&format!("{GAME}{elsewhere}")).unwrap().moves_max(),
        super::MOVES,
        "none of these is the module's in a game"
    );
}

#[test]
fn a_mistake_is_named_with_its_line_and_what_is_expected() {
    let replaced = |text: &str, by: &str| refusal(&GAME.replace(text, by));
    let without = |text: &str| replaced(text, "");
    let step = |definition: &str| replaced("def step(action)", definition);
    let cases = [
        (refusal(""), "games/count.py, line 1: no docstring; expected the rules of the game in words"),
        (refusal("import random\n'''Rules.'''"), "line 1: no docstring"),
        (refusal("'''  '''\nENTRY, SCALE = 'f(x)', 1\n"), "line 1: no docstring"),
        (without(", SCALE = \"strategy(n)\", 10"), "no ENTRY; expected the signature"),
        (without(", SCALE = \"strategy(n)\", 10"), "an evaluator has `def evaluate(program_path):` in its place"),
        (replaced("ENTRY, SCALE = \"strategy(n)\", 10", "ENTRY = 'f(n)'"), "no SCALE; expected the score"),
        (without("def reset():\n    return 0"), "no function `reset`; expected `def reset():` at top level"),
        (without("def step(action):\n    return action, 1, False"), "no function `step`; expected `def step(action):`"),
        (step("def step()"), "line 12: found `def step()`; expected `def step(action):`"),
        (step("def step(self, action)"), "found `def step(self, action)`"),
        (step("def step(action, *, n)"), "found `def step(action, *, n)`"),
        (replaced("def reset()", "def reset(seed)"), "line 9: found `def reset(seed)`"),
        (replaced("def reset", "async def reset"), "line 9: `reset` is async"),
        (replaced("    return 0", "    return 0 0"), "line 10:"),
        (
            refusal_with("SCALE *= 2"),
            "line 8: SCALE: set, changed or deleted by something else than `SCALE = ..` at top level",
        ),
        (refusal_with("if len(ENTRY) > 3:\n    MOVES = 3"), "line 9: MOVES: set, changed or deleted"),
        (refusal_with("for MOVES in [1, 2]: pass"), "line 8: MOVES: set, changed"),
        (refusal_with("if __name__ != '__main__':\n    MOVES = 3"), "line 9: MOVES: set, changed"),
        (refusal_with("if __name__ == '__main__':\n    pass\nelse:\n    MOVES = 3"), "line 11: MOVES: set, changed"),
        (refusal_with("MOVES = 3\ndel MOVES"), "line 9: MOVES: set, changed"),
        (refusal_with("LIMIT = (MOVES := 3)"), "line 8: MOVES: set, changed"),
        (refusal_with("LIMIT, MOVES = divmod(7, 2)"), "line 8: MOVES: set, changed"),
        (refusal_with("from math import pi as ANCHOR"), "line 8: ANCHOR: set, changed"),
        (refusal_with("def NAME(): pass"), "line 8: NAME: set, changed"),
        (refusal_with("SCALE = 0"), "line 8: SCALE: found 0; expected a number above 0"),
        (refusal_with("SCALE = -1.5"), "SCALE: found -1.5; expected a number above 0"),
        (refusal_with("SCALE = float('nan')"), "SCALE: found nan; expected a number above 0"),
        (refusal_with("SCALE = 10 ** 400"), "SCALE: found 1000000000"),
        (refusal_with("SCALE = '10'"), "SCALE: found '10'; expected a number above 0"),
        (refusal_with("SCALE = len('abc')"), "line 8: SCALE: `len('abc')` is no Python literal"),
        (refusal_with("ANCHOR = None"), "ANCHOR: found None; expected a number above 0"),
        (refusal_with("ANCHOR = 10"), "ANCHOR: found 10; expected less than SCALE = 10, the score that is worth 1"),
        (refusal_with("MOVES = 0"), "MOVES: found 0; expected the moves of the longest game, from 1 to 100000"),
        (refusal_with("MOVES = 1e3"), "MOVES: found 1000.0; expected"),
        (refusal_with("MOVES = {'W': 1}"), "MOVES: found {'W': 1}; expected"),
        (refusal_with("NAME = ''"), "NAME: found ''; expected 1 to 40 characters"),
        (refusal_with("NAME = 2048"), "NAME: found 2048; expected a text in quotes"),
        (refusal_with("ENTRY = 'strategy'"), "ENTRY: found 'strategy'; expected the signature"),
        (refusal_with("ENTRY = 'strategy()'"), "ENTRY: found 'strategy()'; expected the signature"),
        (refusal_with("ENTRY = 'strategy(a, b)'"), "with one parameter: the observation"),
        (refusal_with("ENTRY = 'class(n)'"), "ENTRY: found 'class(n)'; expected the signature"),
        (refusal_with("REFERENCES = ['']"), "REFERENCES: found ['']; expected players by rank"),
        (refusal_with("REFERENCES = {0: ''}"), "REFERENCES: found rank 0; expected 1 to 255"),
        (refusal_with("REFERENCES = {'a': ''}"), "REFERENCES: found rank 'a'; expected 1 to 255, an integer"),
        (refusal_with("REFERENCES = {1: 5}"), "REFERENCES: rank 1: expected players by rank"),
        (refusal_with("REFERENCES = {3: ['def f(n): pass']}"), "rank 3: no top-level `def strategy(n)` found"),
        (refusal_with("REFERENCES = {3: 'def strategy(n): return ('}"), "rank 3: line 1 of 1:"),
        (refusal_with("REFERENCES = {3: PLAYER}"), "REFERENCES: `PLAYER` is no Python literal"),
        (refusal_with("REFERENCES = {3: PLAYER}"), "so that a name stands for nothing: write its value here"),
        (refusal_with("EXAMPLE = 'x'"), "EXAMPLE: found 'x'; expected a pair of texts"),
        (refusal_with("EXAMPLE = ('x', 'y')"), "EXAMPLE: the program: no top-level `def strategy(n)` found"),
    ];
    for (found, expected) in cases {
        assert!(found.starts_with("games/count.py, line ") && found.contains(expected), "{found}\nis not\n{expected}");
    }
}

#[test]
fn a_file_that_is_no_text_is_refused_before_it_is_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        ScriptGame::open(&path).unwrap_err().to_string()
    };
    let large = refused("large.py", &vec![b'#'; 50 << 20]);
    assert!(
        large.ends_with("large.py: 52428800 bytes; expected Python in UTF-8, at most 65536 bytes of it"),
        "{large}"
    );
    let latin = refused("latin.py", b"\n# caf\xe9\n");
    assert!(latin.contains("latin.py: line 2 is not UTF-8"), "{latin}");
    let absent = ScriptGame::open(&folder.path().join("absent.py")).unwrap_err().to_string();
    assert!(absent.contains("absent.py: cannot read the game: No such file"), "{absent}");
    assert!(ScriptGame::open(folder.path()).is_err());
    assert!(refused("deep.py", "(".repeat(30_000).as_bytes()).contains("line 1"));
    std::fs::write(folder.path().join("windows.py"), format!("\u{feff}{}", GAME.replace('\n', "\r\n"))).unwrap();
    assert_eq!(ScriptGame::open(&folder.path().join("windows.py")).unwrap().source(), GAME);
}

#[test]
fn nothing_of_the_file_runs_when_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let source = format!("{GAME}\nopen({:?}, 'w')\n1 / 0\n", trace.display().to_string());
    assert_eq!(open(&source).unwrap().name(), "count");
    assert!(!trace.exists());
}

#[test]
fn the_examples_are_games() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for file in ["2048.py", "fewest_moves.py", "2584.py", "snake.py", "connect_four.py"] {
        let game = ScriptGame::open(&folder.join(file)).unwrap_or_else(|error| panic!("{error}"));
        let ranks: Vec<u8> = game.references().iter().map(|player| player.rank).collect();
        assert!(ranks.len() >= 3 && ranks.is_sorted_by(|a, b| a < b), "{file}: {ranks:?}");
        assert_eq!(game.function(), "strategy");
        assert!(game.anchor() < game.scale());
    }
}
