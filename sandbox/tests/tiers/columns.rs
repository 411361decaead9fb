//! One operation over many operands: each tier answers a column of cases in one call.
//!
//! A column that the compiled tier gives up is halved until what is given up stands alone. What CPython answers by an
//! exception or beyond what the tier can hold is asked alone, and any answer to it is a fault.

use grpo_sandbox::Sandbox;
use grpo_sandbox_compiled::{CompiledProgram, CompiledSession, CompiledTier, NotCompiled, Outside, Stop};

use crate::compare::{COLUMN_FUEL, COLUMN_GAS};
use crate::indent::indented;

/// Functions of one program, which the compiled tier bounds at 100.
const FUNCTIONS: usize = 50;

/// Cases of one call, whose answers must not be longer than a value may be.
const CASES: usize = 10_000;

/// Of cases in a row that must be given up, those that are played by day beside the first and the last: one in so many. Each
/// of them costs a fresh instance.
const REFUSED_ONE_IN: usize = 4;

/// Differences that are told of one operation.
const TOLD: usize = 3;

/// What the interpreter keeps of a case's result: null where the compiled tier must not answer.
const KEPT: &str = "\
import math
def kept(v):
    is_kept = type(v) in (bool, str) or type(v) is float and v == v or type(v) is int and -2 ** 62 <= v < 2 ** 62
    return v if is_kept else None
";

/// Lines that compute `r` from `a` and `b`, as a function of two columns.
pub struct Operation {
    /// The operation, for who reads a difference.
    pub name: String,
    pub lines: String,
}

/// A case: its operands as JSON, and what CPython answers; `None` where that is nothing the compiled tier may answer.
#[derive(Clone)]
pub struct Case {
    pub a: String,
    pub b: String,
    pub expected: Option<String>,
}

/// Whether every case is played: `make tier-exhaustive`.
pub fn is_exhaustive() -> bool {
    std::env::var("BOUNDARIES").is_ok_and(|word| word == "all")
}

/// How cases ended.
#[derive(Default, Debug)]
pub struct Count {
    pub equal: usize,
    /// CPython answers and the compiled tier gives up.
    pub given_up: usize,
    /// CPython raises, or its answer is beyond the tier, or a name that is not bound is read, and the tier gives up.
    pub refused: usize,
    pub different: Vec<String>,
}

impl Count {
    pub fn cases(&self) -> usize {
        self.equal + self.refused + self.given_up + self.different.len()
    }

    /// Fails with what is different.
    pub fn expect_none_different(&self) {
        println!("{} equal, {} refused, {} given up", self.equal, self.refused, self.given_up);
        let shown = self.different.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
        assert!(self.different.is_empty(), "{} of {} differ:\n{shown}", self.different.len(), self.cases());
    }
}

fn columns<'c>(cases: impl Iterator<Item = &'c Case> + Clone) -> String {
    let column = |one: fn(&Case) -> &str| cases.clone().map(one).collect::<Vec<_>>().join(",");
    format!("[[{}],[{}]]", column(|case| &case.a), column(|case| &case.b))
}

/// The items of a list of scalars.
fn items(list: &str) -> Vec<String> {
    let inside = list.trim_start_matches('[').trim_end_matches(']');
    if inside.is_empty() { Vec::new() } else { inside.split(',').map(str::to_owned).collect() }
}

/// Asks CPython every case of these operations, of which the answers are filled in.
pub fn answers(sandbox: &Sandbox, operations: &mut [(Operation, Vec<Case>)]) {
    for several in operations.chunks_mut(FUNCTIONS) {
        let mut source = KEPT.to_owned();
        for (index, (operation, _)) in several.iter().enumerate() {
            let body = indented(&operation.lines, 12);
            source += &format!(
                "def column{index}(xs, ys):\n    out = []\n    for a, b in zip(xs, ys):\n        try:\n{body}            \
                 out.append(kept(r))\n        except Exception:\n            out.append(None)\n    return out\n"
            );
        }
        let mut session = sandbox.load(&source, 1, &COLUMN_FUEL).unwrap_or_else(|fault| panic!("{fault:?}\n{source}"));
        for (index, (operation, cases)) in several.iter_mut().enumerate() {
            for some in cases.chunks_mut(CASES) {
                let told = session.call(&format!("column{index}"), &columns(some.iter()));
                let told = items(&told.unwrap_or_else(|fault| panic!("{}: {fault}", operation.name)));
                assert_eq!(told.len(), some.len(), "{}", operation.name);
                for (case, answer) in some.iter_mut().zip(told) {
                    case.expected = (answer != "null").then_some(answer);
                }
            }
        }
    }
}

/// Plays operations, each over its own cases, in the compiled tier.
pub fn compare(tier: &CompiledTier, operations: &[(Operation, Vec<Case>)], count: &mut Count) {
    for several in operations.chunks(FUNCTIONS) {
        let source = |chosen: &[usize]| {
            let function = |index: &usize| {
                let body = indented(&several[*index].0.lines, 8);
                format!(
                    "def column{index}(xs, ys):\n    out = []\n    for a, b in zip(xs, ys):\n{body}\n        \
                     out.append(r)\n    return out\n"
                )
            };
            "import math\n".to_owned() + &chosen.iter().map(function).collect::<String>()
        };
        let numbered: Vec<usize> = (0..several.len()).collect();
        in_parts(tier, &numbered, &source, &mut |chosen, compiled| match compiled {
            Ok(mut player) => {
                for &index in chosen {
                    let (operation, cases) = &several[index];
                    player.operation(&format!("column{index}"), operation, cases, count);
                }
            }
            Err(_) => {
                let cases = &several[chosen[0]].1;
                let fitting = cases.iter().filter(|case| case.expected.is_some()).count();
                count.given_up += fitting;
                count.refused += cases.len() - fitting;
            }
        });
    }
}

/// What becomes of a part: its functions, and their program or why the tier does not take it.
type Play<'a> = dyn FnMut(&[usize], Result<Player, Outside>) + 'a;

/// Compiles the program of these functions; where the tier does not take all of them, two programs of half of them. `play`
/// gets each program with the functions in it, or why the tier does not take a function alone.
pub fn in_parts(tier: &CompiledTier, functions: &[usize], source: &dyn Fn(&[usize]) -> String, play: &mut Play<'_>) {
    match tier.compile(&source(functions)) {
        Ok(program) => play(functions, Ok(Player { program, session: None })),
        Err(NotCompiled::Machine(error)) => panic!("{error}\n{}", source(functions)),
        Err(NotCompiled::Outside(outside)) if functions.len() == 1 => play(functions, Err(outside)),
        Err(NotCompiled::Outside(_)) => {
            let (one, two) = functions.split_at(functions.len() / 2);
            in_parts(tier, one, source, play);
            in_parts(tier, two, source, play);
        }
    }
}

/// A program, and its session until a call is given up.
pub struct Player {
    program: CompiledProgram,
    session: Option<CompiledSession>,
}

impl Player {
    fn operation(&mut self, function: &str, operation: &Operation, cases: &[Case], count: &mut Count) {
        let fitting: Vec<&Case> = cases.iter().filter(|case| case.expected.is_some()).collect();
        let before = count.different.len();
        self.halves(function, operation, &fitting, count);
        let is_fitting = |index: usize| cases.get(index).is_none_or(|case| case.expected.is_some());
        let is_played = |index: usize| {
            index.is_multiple_of(REFUSED_ONE_IN)
                || is_fitting(index.wrapping_sub(1))
                || is_fitting(index + 1)
                || is_exhaustive()
        };
        for (_, case) in cases.iter().enumerate().filter(|(index, _)| !is_fitting(*index) && is_played(*index)) {
            match self.column(function, &[case]) {
                None => count.refused += 1,
                Some(answers) => tell(operation, case, &answers.join(","), count),
            }
        }
        let more = count.different.len().saturating_sub(before + TOLD);
        count.different.truncate(before + TOLD);
        if more > 0 {
            count.different.push(format!("{}: and {more} more", operation.name));
        }
    }

    fn halves(&mut self, function: &str, operation: &Operation, cases: &[&Case], count: &mut Count) {
        if cases.is_empty() {
            return;
        }
        if let Some(answers) = self.column(function, cases) {
            for (case, answer) in cases.iter().zip(answers) {
                if case.expected.as_ref() == Some(&answer) {
                    count.equal += 1;
                } else {
                    tell(operation, case, &answer, count);
                }
            }
        } else if cases.len() == 1 {
            count.given_up += 1;
        } else {
            let (one, two) = cases.split_at(cases.len() / 2);
            self.halves(function, operation, one, count);
            self.halves(function, operation, two, count);
        }
    }

    /// The answers to a column, or nothing where it is given up.
    fn column(&mut self, function: &str, cases: &[&Case]) -> Option<Vec<String>> {
        let told = self.call(function, &columns(cases.iter().copied()))?;
        let answers = items(&told);
        assert_eq!(answers.len(), cases.len(), "{told}");
        Some(answers)
    }

    /// The answer to a call, or nothing where it is given up.
    pub fn call(&mut self, function: &str, arguments: &str) -> Option<String> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.program.start(1, &COLUMN_GAS).expect("it loads"),
        };
        match session.call(function, arguments) {
            Ok(told) => {
                self.session = Some(session);
                Some(told)
            }
            Err(Stop::GivenUp { .. }) => None,
            Err(other) => panic!("{function}: {other}"),
        }
    }
}

fn tell(operation: &Operation, case: &Case, answer: &str, count: &mut Count) {
    let expected = case.expected.as_deref().unwrap_or("an exception, or what is beyond the tier");
    let words = format!("{} of a = {}, b = {}: {answer}, CPython: {expected}", operation.name, case.a, case.b);
    count.different.push(words);
}
