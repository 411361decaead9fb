//! Evaluators of OpenEvolve's form, with the real sandbox: every way in which one reads a program, and whose fault a failure is.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use grpo_2048::arena::{Arena, ArenaError, Evaluation, Workers};
use grpo_2048::environment::{Ending, Environment, EnvironmentError};
use grpo_2048::seed::Seed;
use grpo_sandbox::FUEL_PER_SECOND;

use crate::inside::{SANDBOX, rules};
use crate::program::{printed, ran, refused};

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());

fn written(name: &str, source: &str) -> PathBuf {
    let path = FOLDER.path().join(format!("{name}.py"));
    std::fs::write(&path, source).unwrap();
    path
}

/// What programs come to under an evaluator of this source, with a fifth of a second each.
fn evaluated(name: &str, evaluator: &str, programs: &[&str]) -> Result<Vec<Evaluation>, ArenaError> {
    let environment = Environment::open(written(name, evaluator).to_str().unwrap()).unwrap();
    let mut rules = rules();
    rules.limits.game_fuel = FUEL_PER_SECOND / 5;
    let arena = Arena::new(SANDBOX.clone(), environment, rules, Workers::new(2)).unwrap();
    let seeds = [Seed::root(7)];
    let programs: Vec<_> = programs.iter().map(|text| (arena.program(text, seeds[0].into()), &seeds[..])).collect();
    arena.evaluate_all(programs, &mut |_, _| ())
}

fn score(name: &str, evaluator: &str) -> f64 {
    let evaluation = evaluated(name, evaluator, &["def answer():\n    return 41\n"]).unwrap().remove(0);
    assert!(evaluation.plays(), "{evaluation:?}");
    evaluation.mean_score()
}

const BY_SPEC: &str = "
    import importlib.util
    spec = importlib.util.spec_from_file_location('any', program_path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
";

/// An evaluator with this body.
fn with_body(body: &str) -> String {
    format!("def evaluate(program_path):{body}")
}

/// An evaluator that loads the program and returns these metrics.
fn returning(metrics: &str) -> String {
    with_body(&format!("{BY_SPEC}    return {metrics}\n"))
}

#[test]
fn an_evaluator_reads_the_program_in_every_usual_way() {
    assert_eq!(score("spec", &returning("{'combined_score': program.answer() + 1, 'other': 7}")), 42.0);
    // As OpenEvolve, the mean of the metrics where there is no combined_score; a text is none.
    assert_eq!(score("mean", &returning("{'a': program.answer(), 'b': 1, 'c': 'words'}")), 21.0);
    // A metric that is no number is left out of the mean, and one that is called an error may be a number.
    assert_eq!(score("lacking", &returning("{'a': program.answer(), 'b': float('nan')}")), 41.0);
    assert_eq!(score("of_error", &returning("{'combined_score': 0, 'error': 0.5}")), 0.0);
    let by_name = "
    import os, sys
    sys.path.insert(0, os.path.dirname(program_path))
    name = os.path.splitext(os.path.basename(program_path))[0]
    return {'combined_score': __import__(name).answer()}
";
    assert_eq!(score("import", &with_body(by_name)), 41.0);
    let by_file = "
    import os, pathlib
    assert os.path.exists(program_path) and os.path.isfile(program_path) and not os.path.exists('/nothing')
    with open(program_path) as file:
        text = file.read()
    assert text == pathlib.Path(program_path).read_text() and open(program_path, 'rb').read() == text.encode()
    import linecache, tokenize
    assert os.access(program_path, os.R_OK) and not os.access(program_path, os.W_OK) and os.path.lexists(program_path)
    assert os.stat(program_path).st_size == pathlib.Path(program_path).stat().st_size == len(text.encode())
    assert tokenize.open(program_path).read() == text
    assert linecache.getline(program_path, 1) == text.splitlines(True)[0] and linecache.getline(program_path, 99) == ''
    from importlib.util import spec_from_file_location
    loader = spec_from_file_location('program', program_path).loader
    assert loader.get_source('program') == text and loader.get_filename('program') == program_path
    return {'combined_score': float('41' in text)}
";
    assert_eq!(score("file", &with_body(by_file)), 1.0);
    let by_loader = "
    import io, runpy
    from importlib.machinery import SourceFileLoader
    assert open(file=program_path).read() == io.open_code(program_path).read().decode()
    try:
        open(file='/nothing')
    except OSError:
        loaded = SourceFileLoader('any', program_path).load_module()
    return {'combined_score': loaded.answer() + runpy.run_path(program_path)['answer']()}
";
    assert_eq!(score("loader", &with_body(by_loader)), 82.0);
    let result = format!(
        "from concurrent.futures import ThreadPoolExecutor\nfrom openevolve.evaluation_result import EvaluationResult\n{}",
        with_body(&format!(
            "{BY_SPEC}    with ThreadPoolExecutor(max_workers=1) as pool:
        answer = pool.submit(program.answer).result(timeout=5)
    return EvaluationResult(metrics={{'combined_score': answer}}, artifacts={{'text': 'told'}})\n"
        ))
    );
    assert_eq!(score("result", &result), 41.0);
}

/// The scores are those of `get_fitness_score` of OpenEvolve 0.4.1.
#[test]
fn a_score_is_what_openevolve_ranks_by_whatever_form_it_has() {
    for (name, metrics, expected) in [
        ("flag", "{'a': program.answer(), 'timeout': True}", 41.0),
        ("one_flag", "{'combined_score': True}", 1.0),
        ("features", "{'a': program.answer(), 'complexity': 3, 'diversity': 0.5}", 41.0),
        ("features_alone", "{'complexity': 3, 'diversity': 0.5}", 1.75),
        ("as_text", "{'combined_score': '0.5'}", 0.5),
        ("unknown", "{'combined_score': None, 'a': program.answer()}", 41.0),
        ("unreadable", "{'combined_score': 'n/a', 'a': program.answer(), 'b': True}", 41.0),
    ] {
        assert_eq!(score(name, &returning(metrics)), expected, "{metrics}");
    }
}

#[test]
fn an_evaluator_finds_what_openevolve_has_around_it() {
    // Its own alarm has nothing to end, because the whole evaluation has a budget.
    let by_source = with_body(&format!(
        "
    import inspect, os, signal
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.alarm(5), signal.setitimer(signal.ITIMER_REAL, 5)
{BY_SPEC}    text = inspect.getsource(program.answer)
    assert text == inspect.getsource(program) == open(program_path).read()
    return {{'combined_score': program.answer() + (len(text) == os.path.getsize(program_path))}}\n"
    ));
    assert_eq!(score("source", &by_source), 42.0);
    let with_artifacts = "from dataclasses import replace
from openevolve.evaluation_result import EvaluationResult
def evaluate(program_path):
    result = EvaluationResult({'combined_score': 3}, {'text': 'b\u{e9}', 'bytes': b'12'})
    assert result.has_artifacts() and not EvaluationResult({}).has_artifacts()
    assert result.get_artifact_keys() == ['text', 'bytes'] and result.get_artifact_size('none') == 0
    assert result == EvaluationResult(result.metrics, result.artifacts) != EvaluationResult({'combined_score': 3})
    assert replace(EvaluationResult({'combined_score': 3}), artifacts=result.artifacts) == result
    return {'combined_score': result.get_total_artifact_size()}
";
    assert_eq!(score("artifacts", with_artifacts), 5.0);
    // A game has a `reset` or an `ENTRY` beside its `step`.
    let stepping = returning("{'combined_score': step(program.answer())}");
    assert_eq!(score("stepping", &format!("def step(number):\n    return number + 1\n{stepping}")), 42.0);
}

#[test]
fn what_the_program_does_is_its_own_fault() {
    let evaluator = returning("{'combined_score': program.answer()}");
    let programs = [
        "def answer():\n    return 1 / 0\n",
        "def answer():\n    return float('nan')\n",
        "def other():\n    pass\n",
        "def answer():\n    while True:\n        pass\n",
        "def answer():\n    return 'a' * (1 << 40)\n",
        "import sys\nsys.exit()\n",
        "def answer(:\n",
        "def answer():\n    return 1e308\n",
        "import __main__\nprint(1)\ndef answer():\n    __import__('builtins').float = None\n    return 2\n",
    ];
    let evaluations = evaluated("faults", &evaluator, &programs).unwrap();
    let endings: Vec<Option<Ending>> =
        evaluations.iter().map(|evaluation| evaluation.games.first().map(|game| game.ending)).collect();
    assert_eq!(endings[..3], [Some(Ending::Raised); 3], "{evaluations:?}");
    // One that is not done when its budget ends has failed, and is no success without points.
    assert_eq!(endings[3], Some(Ending::Hung));
    assert_eq!(evaluations[3].verdict(false).name(), "out_of_budget");
    assert!(matches!(endings[4], Some(Ending::Raised | Ending::OutOfMemory)), "{endings:?}");
    assert_eq!(endings[5], Some(Ending::Raised));
    // Sums of such scores leave the range of floats.
    assert_eq!(endings[7], Some(Ending::Raised));
    assert!(evaluations[..8].iter().all(|evaluation| evaluation.mean_score() == 0.0 && !evaluation.plays()));
    let reason = evaluations[0].start.reason().unwrap();
    assert_eq!(reason, "ZeroDivisionError: division by zero (line 2)");
}

#[test]
fn an_exception_that_has_no_text_is_raised_all_the_same() {
    let programs = [
        "def answer():\n    raise ValueError('\\ud800')\n",
        "class Odd(Exception):\n    def __str__(self):\n        raise self\ndef answer():\n    raise Odd\n",
    ];
    let raised = |evaluation: Evaluation| (evaluation.games[0].ending, evaluation.start.reason().unwrap());
    let found = evaluated("texts", &returning("{'combined_score': program.answer()}"), &programs).unwrap();
    let found: Vec<_> = found.into_iter().map(raised).collect();
    let expected = ["ValueError: ? (line 2)", "Odd (line 5)"].map(|reason| (Ending::Raised, reason.to_owned()));
    assert_eq!(found, expected);
    // What an evaluator tells of an error itself.
    let told = evaluated("error", &with_body(" return {'error': '\\ud800'}\n"), &["pass"]).unwrap().remove(0);
    assert_eq!(raised(told), (Ending::Raised, "?".to_owned()));
}

#[test]
fn an_evaluator_that_fails_by_itself_stops_the_run() {
    let broken = "import no_such_module\ndef evaluate(program_path):\n    return {'combined_score': 1}\n";
    let error = evaluated("broken", broken, &["pass"]).unwrap_err();
    assert!(matches!(error, ArenaError::Environment { .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("broken.py") && message.contains("no_such_module"), "{message}");
    let endless = "while True:\n    pass\ndef evaluate(program_path):\n    return {'combined_score': 1}\n";
    let message = evaluated("endless", endless, &["pass"]).unwrap_err().to_string();
    assert!(message.ends_with("endless.py: budget used up before it has a program"), "{message}");
    let told = |source: &str| match Environment::open(written("malformed", source).to_str().unwrap()) {
        Err(EnvironmentError::Script(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let found = told("def evaluate():\n    pass\n");
    assert!(found.contains("expected `def evaluate(program_path):`"), "{found}");
    let found = told("SCALE = 0\ndef evaluate(program_path):\n    pass\n");
    assert!(found.contains("SCALE: found 0"), "{found}");
    // It is no game that lacks its rules.
    for otherwise in [
        "def judge(program_path):\n    pass\nevaluate = judge\n",
        "def step(x):\n    return x\ndef judge(program_path):\n    pass\nevaluate = judge\n",
        "from judging import judge as evaluate\n",
        "if True:\n    def evaluate(program_path):\n        pass\n",
    ] {
        let found = told(otherwise);
        let expected = "no function `evaluate`; expected `def evaluate(program_path):` at top level";
        assert!(found.contains(expected), "{otherwise}: {found}");
    }
}

/// Two metrics of one program by the same seed are the same, by another seed others; the program draws what the evaluator drew
/// before it no more.
#[test]
fn chance_is_that_of_the_seed() {
    let evaluator = with_body(&format!(
        "
    import random
    drawn = random.random()
{BY_SPEC}    return {{'combined_score': drawn if program.answer() != drawn else -1.0}}\n"
    ));
    let environment = Environment::open(written("chance", &evaluator).to_str().unwrap()).unwrap();
    let arena = Arena::new(SANDBOX.clone(), environment, rules(), Workers::new(1)).unwrap();
    let scores = |text: &str, seed: u64| {
        let seeds = [Seed::root(seed)];
        let program = arena.program(text, seeds[0].into());
        arena.evaluate_all([(program, &seeds[..])], &mut |_, _| ()).unwrap()[0].mean_score()
    };
    let text = "import random\ndef answer():\n    return random.random()\n";
    let again = "import random\ndef answer():\n    return random.random() # once more\n";
    assert!(scores(text, 1) > 0.0);
    assert_eq!(scores(text, 1), scores(again, 1));
    assert_ne!(scores(text, 1), scores(text, 2));
}

#[test]
fn the_example_is_in_order_and_ranks_heuristics_as_the_literature_does() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let env = "examples/bin_packing/evaluator.py";
    let said = printed(root, &["check", "--env", env]);
    assert!(said.contains("the reward is in order") && said.contains("the evaluator bin_packing, with"), "{said}");
    // Best fit needs fewer bins than first fit, and both fewer than worst fit (Johnson 1974).
    let folder = tempfile::tempdir().unwrap();
    let [best, worst] = [("best", "-room"), ("worst", "room")].map(|(name, value)| {
        let path = folder.path().join(format!("{name}.py"));
        let source = format!("def priority(item, rooms):\n    return [{value} for room in rooms[:-1]] + [-1000]\n");
        std::fs::write(&path, source).unwrap();
        path.display().to_string()
    });
    let first = "examples/bin_packing/initial_program.py";
    let scored = printed(root, &["score", "--env", env, "--games", "8", "--seed", "0", "--json", &worst, first, &best]);
    let means: Vec<f64> = scored
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["mean_score"].as_f64().unwrap())
        .collect();
    assert!(means.len() == 3 && means[0] < means[1] && means[1] < means[2] && means[2] < 1000.0, "{means:?}");
}

#[test]
fn the_check_finds_what_is_wrong_with_an_evaluator_or_its_first_program() {
    let scored = returning("{'combined_score': program.answer()}");
    let answers = "def answer():\n    return 1\n";
    for (evaluator, initial, code, expected) in [
        (scored.as_str(), Some(answers), 0, "ok        references  initial_program.py scores 1.00"),
        (&scored, None, 0, "warning   references  no initial_program.py beside it"),
        (
            &scored,
            Some("def answer():\n    return 1 / 0\n"),
            2,
            "initial_program.py counts as raised: ZeroDivisionError",
        ),
        (&scored, Some("def answer():\n    return 0\n"), 0, "ok        order"),
        (
            &returning("{'combined_score': -program.answer()}"),
            Some(answers),
            0,
            "warning   order       initial_program.py scores -1.00, and all scores below 0 earn the same",
        ),
        (
            &with_body("\n    return {'combined_score': 1}\n"),
            Some(answers),
            2,
            "problem   order       no program earns 1.000",
        ),
        (
            &with_body("\n    return None\n"),
            Some(answers),
            2,
            "initial_program.py counts as raised: TypeError: evaluate gave a value of type NoneType, expected a dict",
        ),
        (
            "import nothing_of_that_name\ndef evaluate(program_path):\n    pass\n",
            Some(answers),
            2,
            "No module named 'nothing_of_that_name' (line 1 of evaluator.py)",
        ),
        (
            &with_body("\n    return {}['x']\n"),
            Some(answers),
            2,
            "initial_program.py counts as raised: KeyError: 'x' (line 2 of evaluator.py)",
        ),
        (
            &returning("{'combined_score': 5000 * program.answer()}"),
            Some(answers),
            0,
            "-> SCALE = 5000 in the evaluator, or whatever score is to earn 1",
        ),
        (
            &with_body(
                "\n    return {'combined_score': 10 / len(open(program_path).read()) * ('answer' in open(program_path).read())}\n",
            ),
            Some(answers),
            0,
            "warning   repeats     initial_program.py scores [0.37037037037037035, 0.37037037037037035], and [",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("evaluator.py"), evaluator).unwrap();
        if let Some(initial) = initial {
            std::fs::write(dir.path().join("initial_program.py"), initial).unwrap();
        }
        let (found, said, _) = ran(dir.path(), &["check", "--env", "evaluator.py"]);
        assert!(found == Some(code) && said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn the_builtin_model_writes_no_programs_for_evaluators() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let said = refused(root, &["train", "--env", "examples/bin_packing/evaluator.py", "--dry-run"]);
    assert!(said.contains("strategy(board)"), "{said}");
}
