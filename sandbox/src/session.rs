//! One program, in the tier that runs it.
//!
//! Where the compiled tier does not know what CPython would do, the program is loaded in the interpreter and all
//! earlier calls are made again. Answers depend on source, seed, inputs and limits alone, so the program then is in
//! the same state, and its whole budget is counted from the first instruction.
//!
//! Where the interpreter answers otherwise than compiled code did, the session ends in [`HostError::TiersDiffer`]: the
//! caller has acted on answers that CPython would not have given, so it begins again, with the interpreter alone.

use grpo_sandbox_compiled::{self as compiled, Stop};

use crate::begun::{BEYOND_SHARE, Begun, Call, UNCOLLECTED};
use crate::calls::Calls;
use crate::interpreted::Interpreted;
use crate::tiers::{Ending, MostFuel, Tiers, fuel_of};
use crate::{Failure, Fault, HostError, Unloaded};

/// Bytes of arguments and answers that are kept to repeat the calls. A program with more calls moves to the
/// interpreter before.
const CALLS_MAX: usize = 16 << 20;

/// A program in its own instance, which is dropped with it.
pub struct Session {
    run: Run,
}

enum Run {
    Interpreted(Interpreted),
    Compiled(Box<Compiled>),
    /// The replay in the interpreter met a limit; every further call fails.
    Spent(Spent),
}

/// What an instance that is gone had used.
#[derive(Default)]
struct Spent {
    fuel: u64,
    calls: Calls,
}

impl Session {
    /// Loads a program in the tier that `tiers` chooses.
    pub(crate) fn load(tiers: &Tiers, begun: Begun) -> Result<Session, Unloaded> {
        let interpreted = |begun: Begun| Ok(Session { run: Run::Interpreted(begun.interpreted()?) });
        let Some(session) = begun.compiled(tiers)? else { return interpreted(begun) };
        let most_fuel = MostFuel::of_loading(session.program(), session.gas_used(), session.bytes_unmade());
        if begun.ending == Ending::Exact && !most_fuel.is_within(&begun.limits) {
            tiers.left(&begun.source, BEYOND_SHARE)?;
            return interpreted(begun);
        }
        let witness = tiers.is_checked(&begun.source, begun.seed).then(|| begun.witness()).transpose()?;
        let run = Compiled {
            session,
            witness: witness.and_then(Result::ok),
            begun,
            tiers: tiers.clone(),
            asked: Vec::new(),
            bytes: 0,
            calls: Calls::default(),
            most_fuel,
            spent: false,
        };
        Ok(Session { run: Run::Compiled(Box::new(run)) })
    }

    /// Calls a function at the top level of the program, or `Class.method` on a fresh object, with a copy of
    /// `arguments`, a JSON array. Returns the value as JSON. The README lists the tags for values that JSON cannot
    /// represent.
    ///
    /// After an exception the program keeps its state, as in Python. After a trap every further call fails.
    pub fn call(&mut self, function: &str, arguments: &str) -> Result<String, Failure> {
        if let Run::Compiled(compiled) = &mut self.run {
            if let Some(answer) = compiled.call(function, arguments)? {
                return Ok(answer);
            }
            self.go_back()?;
        }
        match &mut self.run {
            Run::Interpreted(interpreted) => interpreted.call(function, arguments),
            Run::Compiled(_) | Run::Spent(_) => Err(Failure::Program(Fault::spent())),
        }
    }

    /// Moves the program to the interpreter.
    fn go_back(&mut self) -> Result<(), Failure> {
        let Run::Compiled(compiled) = std::mem::replace(&mut self.run, Run::Spent(Spent::default())) else {
            return Ok(());
        };
        match compiled.interpreted()? {
            Ok(interpreted) => self.run = Run::Interpreted(interpreted),
            Err((fault, spent)) => {
                self.run = Run::Spent(spent);
                return Err(Failure::Program(fault));
            }
        }
        Ok(())
    }

    /// Whether every further call fails.
    pub fn is_spent(&self) -> bool {
        match &self.run {
            Run::Interpreted(interpreted) => interpreted.is_spent(),
            Run::Compiled(compiled) => compiled.spent,
            Run::Spent(_) => true,
        }
    }

    /// Fuel used so far, loading included.
    pub fn fuel_used(&self) -> u64 {
        match &self.run {
            Run::Interpreted(interpreted) => interpreted.fuel_used(),
            Run::Compiled(compiled) => fuel_of(compiled.session.gas_used()).min(compiled.begun.limits.game_fuel),
            Run::Spent(spent) => spent.fuel,
        }
    }

    /// The most fuel that the interpreter would have used so far; where it runs the program, what it has used. Holds for
    /// [`load_exact`](crate::Sandbox::load_exact).
    pub fn fuel_at_most(&self) -> u64 {
        match &self.run {
            Run::Compiled(compiled) => compiled.most_fuel.in_all(),
            Run::Interpreted(_) | Run::Spent(_) => self.fuel_used(),
        }
    }

    /// Calls before the last one that took at least a `2^halvings`-th of what it took, where fuel is counted in powers of
    /// two. In the tier that it runs in: the calls that another answered before are replayed there.
    pub fn calls_like_last(&self, halvings: usize) -> u64 {
        let calls = match &self.run {
            Run::Interpreted(interpreted) => interpreted.calls(),
            Run::Compiled(compiled) => &compiled.calls,
            Run::Spent(spent) => &spent.calls,
        };
        calls.like_last(halvings)
    }

    /// Whether the program runs in the compiled tier.
    pub fn is_compiled(&self) -> bool {
        matches!(self.run, Run::Compiled(_))
    }
}

/// A program in the compiled tier.
struct Compiled {
    session: compiled::CompiledSession,
    /// The same program in the interpreter, which gets the same calls, if this session is compared.
    witness: Option<Interpreted>,
    begun: Begun,
    tiers: Tiers,
    /// All calls so far. A witness has them too, but a witness that meets a limit is dropped.
    asked: Vec<Call>,
    /// Of all that it was asked.
    bytes: usize,
    calls: Calls,
    most_fuel: MostFuel,
    spent: bool,
}

impl Compiled {
    /// The answer; `None` if the interpreter must be asked.
    fn call(&mut self, function: &str, arguments: &str) -> Result<Option<String>, Failure> {
        if self.spent {
            return Err(Failure::Program(Fault::spent()));
        }
        if self.bytes > CALLS_MAX {
            return self.left("more calls than are kept for a replay");
        }
        let before = self.session.gas_used();
        let answer = self.session.call(function, arguments);
        let gas = self.session.gas_used() - before;
        self.calls.add(fuel_of(gas));
        match answer {
            Ok(answer) => {
                self.most_fuel.add_call(arguments.len() + answer.len(), gas, self.session.bytes_unmade());
                if self.begun.ending == Ending::Exact {
                    if !self.most_fuel.is_within(&self.begun.limits) {
                        return self.left(BEYOND_SHARE);
                    }
                    if !self.session.fits_uncollected() {
                        return self.left(UNCOLLECTED);
                    }
                }
                let call = Call { function: function.into(), arguments: arguments.into(), answer: answer.clone() };
                if let Some(witness) = &mut self.witness
                    && self.begun.compare(&call, witness.call(function, arguments))?.is_some()
                {
                    self.witness = None;
                }
                self.bytes += function.len() + arguments.len() + answer.len();
                self.asked.push(call);
                Ok(Some(answer))
            }
            Err(Stop::OutOfGas { scope }) if self.begun.ending == Ending::Counted => {
                self.spent = true;
                Err(Failure::Program(Fault::OutOfFuel { scope }))
            }
            Err(Stop::OutOfGas { .. }) => self.left(BEYOND_SHARE),
            Err(Stop::GivenUp { reason }) => self.left(reason),
            Err(Stop::Machine(error)) => Err(HostError::tier(error).into()),
        }
    }

    /// No answer: the interpreter must be asked.
    fn left(&self, reason: &str) -> Result<Option<String>, Failure> {
        self.tiers.left(&self.begun.source, reason)?;
        Ok(None)
    }

    /// The program in the interpreter, having been asked all that it was asked here; or the fault of the interpreter's
    /// limits that it met on the way, and what it had used.
    fn interpreted(self) -> Result<Result<Interpreted, (Fault, Spent)>, Failure> {
        let Compiled { session, witness, begun, asked: calls, .. } = self;
        // Frees the memory of the compiled instance, so that the program never occupies both.
        drop(session);
        if let Some(witness) = witness {
            return Ok(Ok(witness));
        }
        let mut interpreted = match begun.witness()? {
            Ok(interpreted) => interpreted,
            Err((fault, fuel)) => return Ok(Err((fault, Spent { fuel, calls: Calls::default() }))),
        };
        for call in calls {
            let told = interpreted.call(&call.function, &call.arguments);
            if let Some(fault) = begun.compare(&call, told)? {
                let (fuel, calls) = (interpreted.fuel_used(), interpreted.calls().clone());
                return Ok(Err((fault, Spent { fuel, calls })));
            }
        }
        Ok(Ok(interpreted))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;
    use crate::{FUEL_PER_SECOND, FuelScope, Limits, Sandbox, TierChoice};

    const LIMITS: Limits =
        Limits { game_fuel: FUEL_PER_SECOND, call_fuel: FUEL_PER_SECOND / 4, memory_bytes: 128 << 20 };
    /// A program that counts its calls; the fifth call fails.
    const COUNTS: &str =
        "seen = []\ndef count(step):\n    seen.append(step)\n    return sum(seen) // (5 - len(seen))\n";

    fn sandbox(choice: TierChoice) -> Sandbox {
        static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
        let open = || Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || ()).unwrap();
        SANDBOX.get_or_init(open).with_tiers(choice, 0)
    }

    /// The answers of one session to several calls, and whether it ran compiled after each.
    fn answers(choice: TierChoice, check_one_in: u32, source: &str, calls: u32) -> Vec<(Result<String, String>, bool)> {
        let mut session = sandbox(choice).with_tiers(choice, check_one_in).load(source, 7, &LIMITS).unwrap();
        let answer = |step: u32| {
            let answer = session.call("count", &format!("[{step}]")).map_err(|failure| failure.to_string());
            (answer, session.is_compiled())
        };
        (1..=calls).map(answer).collect()
    }

    #[test]
    fn a_program_that_the_tier_gives_up_goes_on_in_the_interpreter_where_it_stood() {
        let interpreted = answers(TierChoice::Interpreter, 0, COUNTS, 7);
        for check_one_in in [0, 1] {
            let auto = answers(TierChoice::Auto, check_one_in, COUNTS, 7);
            let text = |all: &[(Result<String, String>, bool)]| all.iter().map(|one| one.0.clone()).collect::<Vec<_>>();
            assert_eq!(text(&auto), text(&interpreted));
            assert!(auto[4].0.as_ref().unwrap_err().starts_with("ZeroDivisionError"), "{auto:?}");
            assert_eq!(auto.iter().map(|one| one.1).collect::<Vec<_>>(), [true, true, true, true, false, false, false]);
        }
    }

    #[test]
    fn a_program_outside_the_tier_is_interpreted_unless_that_alone_was_asked_for() {
        let source = "import json\ndef count(step):\n    return json.dumps(step)\n";
        assert_eq!(answers(TierChoice::Auto, 0, source, 1), [(Ok("\"1\"".into()), false)]);
        let outside = sandbox(TierChoice::Auto).outside(source).unwrap().unwrap();
        assert_eq!(outside.line, 1, "{outside}");
        match sandbox(TierChoice::Compiled).load(source, 7, &LIMITS) {
            Err(Unloaded { failure: Failure::Host(HostError::LeftTier(reason)), .. }) => {
                assert!(reason.starts_with("line 1"), "{reason}");
            }
            other => panic!("{:?}", other.map(|_| ())),
        }
    }

    #[test]
    fn both_tiers_call_the_same_budget_spent() {
        let source = "def count(step):\n    while step:\n        step += 1\n    return 0\n";
        for choice in [TierChoice::Compiled, TierChoice::Interpreter] {
            let mut session = sandbox(choice).load(source, 7, &LIMITS).unwrap();
            assert_eq!(session.call("count", "[0]").unwrap(), "0");
            match session.call("count", "[1]") {
                Err(Failure::Program(fault)) => assert_eq!(fault, Fault::OutOfFuel { scope: FuelScope::Call }),
                other => panic!("{choice:?}: {other:?}"),
            }
            assert!(session.is_spent() && session.call("count", "[0]").is_err());
            let share = session.fuel_used() as f64 / LIMITS.call_fuel as f64;
            assert!((0.99..1.2).contains(&share), "{choice:?}: {share}");
        }
    }

    /// What one session comes to whose compiled code was made of another text: with `TIER` equal to "compiled".
    fn misread(check_one_in: u32, body: &str) -> Result<String, Failure> {
        let sandbox = sandbox(TierChoice::Auto).with_tiers(TierChoice::Auto, check_one_in);
        let sandbox = sandbox.misreading(|source| source.replace("\"interpreted\"", "\"compiled\""));
        let source = format!("TIER = \"interpreted\"\nseen = []\ndef count(step):\n    {body}\n");
        let mut session = sandbox.load(&source, 7, &LIMITS).map_err(|unloaded| unloaded.failure)?;
        session.call("count", "[1]")?;
        session.call("count", "[2]")
    }

    #[test]
    fn a_difference_ends_a_session_that_is_compared_and_one_that_is_given_up() {
        let wrong = "return 5 if TIER == \"compiled\" else step";
        // The second call raises, so all calls are made again.
        let then_raises = "return 1 // (2 - step) if step > 1 else TIER";
        for (check_one_in, body, answers) in
            [(1, wrong, ["5", "1"]), (0, then_raises, ["\"compiled\"", "\"interpreted\""])]
        {
            match misread(check_one_in, body) {
                Err(Failure::Host(HostError::TiersDiffer(difference))) => {
                    assert_eq!([&*difference.compiled, &*difference.interpreted], answers);
                    assert!(difference.asked == "count[1]" && difference.program.contains(body), "{difference:?}");
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(misread(0, wrong).unwrap(), "5", "nobody has looked");
    }

    #[test]
    fn an_exact_budget_ends_where_the_interpreter_ends_it() {
        let source = "def count(step):\n    while step:\n        step += 1\n    return 0\n";
        let ended = |choice| {
            let mut session = sandbox(choice).load_exact(source, 7, &LIMITS).unwrap();
            let answers =
                ["[0]", "[1]", "[0]"].map(|arguments| session.call("count", arguments).map_err(|f| f.to_string()));
            (answers, session.fuel_used(), session.is_compiled())
        };
        assert_eq!(ended(TierChoice::Auto), ended(TierChoice::Interpreter));
        let mut session = sandbox(TierChoice::Auto).load_exact(source, 7, &LIMITS).unwrap();
        assert!(
            session.call("count", "[0]").is_ok() && session.is_compiled(),
            "a call that is cheap stays in the tier"
        );
    }
}
