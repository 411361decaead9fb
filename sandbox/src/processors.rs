//! A verdict does not depend on the processor: the same programs on machine code for this processor, with all it can do,
//! and for the oldest of its architecture, whose frames on the stack are others.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::engine::{Interpreter, Interpreters, config};
use crate::{FUEL_PER_SECOND, Failure, Fault, Limits, Sandbox};

const LIMITS: Limits = Limits { game_fuel: FUEL_PER_SECOND, call_fuel: FUEL_PER_SECOND / 4, memory_bytes: 128 << 20 };

/// For what never ends, which uses up whatever it is given.
const ENDLESS: Limits = Limits { call_fuel: FUEL_PER_SECOND / 60, ..LIMITS };

/// Hostile programs that never end, loaded and called as they are here, beside those that are named so.
const ENDLESS_TOO: [&str; 6] = [
    "destructor.py",
    "output_flood.py",
    "output_flood_at_stderr.py",
    "script_endless_output.py",
    "script_endless_output_by_descriptor.py",
    "script_hangs_in_a_thread.py",
];

/// What ends every recursion below: more levels than any stack holds.
const LEVELS: u32 = 40_000;

/// Recursions in the C of the interpreter, each by `levels`. The comments say at what depth of each the machine's stack of
/// 1 MiB once ended, before CPython's own measure did.
const RECURSIONS: &[(&str, &str)] = &[
    ("sort", SORT),                                                                    // 487
    ("getattr", GETATTR),                                                              // 742
    ("partial", PARTIAL),                                                              // 807
    ("chain", "c = iter([1])\nfor i in range(levels): c = itertools.chain(c)\ndel c"), // 1676
    ("pickle", "pickle.dumps(nested(levels))"),                                        // 1866
    ("json", "json.loads('[' * levels + ']' * levels)"),                               // 2419
    ("map", "m = iter([1])\nfor i in range(levels): m = map(abs, m)\nnext(m)"),        // 2514
    ("equality", "nested(levels) == nested(levels)"),                                  // 2842
    ("repr", "repr(nested(levels // 2))"),                                             // 3842
    ("list", "x = nested(levels)\ndel x"),                                             // 4669
    ("tuple", "x = ()\nfor i in range(levels): x = (x,)\ndel x"),
    ("dict", "x = {}\nfor i in range(levels): x = {1: x}\ndel x"),
    ("object", OBJECT),
    (
        "exception",
        "x = ValueError()\nfor i in range(levels):\n    y = ValueError()\n    y.__context__ = x\n    x = y\ndel x, y",
    ),
    ("generator", "def g(x):\n    yield x\nx = None\nfor i in range(levels):\n    x = g(x)\n    next(x)\ndel x"),
    ("json written", "json.dumps(nested(levels))"),
    ("chain read", "c = iter([1])\nfor i in range(levels): c = itertools.chain(c)\nnext(c)"),
    ("zip", "z = iter([1])\nfor i in range(levels): z = zip(z)\nnext(z)"),
    ("filter", "f = iter([1])\nfor i in range(levels): f = filter(None, f)\nnext(f)"),
    ("islice", "x = [1]\nfor i in range(levels): x = itertools.islice(x, 5)\nlist(x)"),
    ("hash", "x = ()\nfor i in range(levels): x = (x,)\nhash(x)"),
    ("isinstance", "x = (int,)\nfor i in range(levels): x = (x,)\nisinstance('x', x)"),
    ("method", "f = abs\nfor i in range(levels // 10): f = types.MethodType(f, 1)\nf()"),
    ("lru_cache", "@functools.lru_cache(None)\ndef f(n): return n and 1 + f(n - 1)\nf(levels)"),
    ("init", "class A:\n    def __init__(self, n): self.n = n and type(self)(n - 1)\nA(levels)"),
    (
        "str",
        "class A:\n    def __init__(self, n): self.n = n\n    def __str__(self): return str(A(self.n - 1))\nstr(A(levels))",
    ),
    ("eval", "def f(n): return eval('f(n - 1)', {'f': f, 'n': n}) if n else 0\nf(levels)"),
    ("parentheses", "eval('(' * levels + '1' + ')' * levels)"),
    ("attributes", "compile('x' + '.a' * levels, '', 'eval')"),
    ("pattern", "re.compile('(' * levels + ')' * levels)"),
];

/// Recursions in the C of numpy, and sums whose order could be the processor's.
const NUMPY: &[(&str, &str)] = &[
    ("array of lists", "numpy.array(nested(levels), dtype=object)"),
    (
        "object in object",
        "x = None\nfor i in range(levels):\n    a = numpy.empty(1, object)\n    a[0] = x\n    x = a\ndel x, a",
    ),
    (
        "repr of objects",
        "x = None\nfor i in range(levels):\n    a = numpy.empty(1, object)\n    a[0] = x\n    x = a\nrepr(x)",
    ),
    ("frompyfunc", "def g(n): return n and 1 + f(n - 1)\nf = numpy.frompyfunc(g, 1, 1)\nf(levels)"),
    ("comparison", COMPARISON),
    ("dtype in dtype", "t = numpy.dtype(int)\nfor i in range(min(levels, 20000)): t = numpy.dtype([('a', t)])"),
    ("array protocol", "class A:\n    def __array__(self, *a, **k): return numpy.asarray(A())\nnumpy.asarray(A())"),
    (
        "sums",
        "x = numpy.random.default_rng(1).normal(size=(60, 60))\nreturn repr((x.sum(), (x @ x).sum(), numpy.sin(x).mean()))",
    ),
    (
        "linear algebra",
        "x = numpy.random.default_rng(1).normal(size=(30, 30))\nreturn repr((numpy.linalg.inv(x).sum(), \
     numpy.linalg.eigvals(x).sum(), numpy.fft.fft(x).sum(), numpy.exp(x).sum(), (x ** 0.3 > 1).sum()))",
    ),
];

const COMPARISON: &str = "class A:\n    def __init__(self, n): self.n = n\n    def __lt__(self, other):\n        \
                          numpy.sort(numpy.array([A(self.n - 1), A(self.n - 1)], object))\n        return False\n\
                          numpy.sort(numpy.array([A(levels), A(levels)], object))";

const SORT: &str = "class A:\n    def __init__(self, n): self.n = n\n    def __lt__(self, other):\n        \
                    [A(self.n - 1), A(self.n - 1)].sort()\n        return False\n[A(levels), A(levels)].sort()";
const GETATTR: &str = "class A:\n    def __getattr__(self, name): return getattr(self, name + 'a')\nA().a";
const PARTIAL: &str = "f = abs\nfor i in range(levels): f = functools.partial(lambda g: g(), f)\nf()";
const OBJECT: &str = "class A: pass\nx = None\nfor i in range(levels):\n    a = A()\n    a.x = x\n    x = a\ndel x, a";

/// A program that goes so deep and says how it ended.
fn recursing(body: &str) -> String {
    let body = body.replace('\n', "\n        ");
    format!(
        "import functools, itertools, json, pickle, re, sys, types\nsys.setrecursionlimit(10 ** 8)\n\n\
         def nested(n):\n    x = []\n    for i in range(n):\n        x = [x]\n    return x\n\n\
         def strategy(levels):\n    try:\n        {body}\n    except (RecursionError, MemoryError) as error:\n        \
         return str(error)\n    return 'whole'\n"
    )
}

/// Value or fault, and the fuel of all. The whole budget is what a call costs that reaches the end of the machine's stack.
fn verdict(sandbox: &Sandbox, ProcessorTrial { source, arguments, limits, .. }: &ProcessorTrial) -> (String, u64) {
    let mut session = match sandbox.load(source, 7, limits) {
        Ok(session) => session,
        Err(unloaded) => return (format!("{:?}", unloaded.failure), unloaded.fuel),
    };
    let loaded = session.fuel_used();
    let called = session.call("strategy", arguments);
    let machine = matches!(called, Err(Failure::Program(Fault::StackOverflow { .. })))
        && session.fuel_used() - loaded == limits.call_fuel;
    (format!("{called:?}{}", if machine { ", the machine's" } else { "" }), session.fuel_used())
}

/// A program that is run on both processors.
struct ProcessorTrial {
    name: String,
    source: String,
    /// The arguments of its function, as JSON.
    arguments: String,
    limits: Limits,
}

fn hostile() -> impl Iterator<Item = ProcessorTrial> {
    fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile")).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let arguments = "[[[2,0,0,4],[0,0,0,0],[0,8,0,0],[0,0,0,2]]]".to_owned();
        let name = path.display().to_string();
        let source = fs::read_to_string(&path).unwrap();
        let is_named_so = name.contains("endless_") && source.starts_with("# expect: hang\n");
        let is_endless = is_named_so || ENDLESS_TOO.iter().any(|file| path.ends_with(file));
        let limits = if is_endless { ENDLESS } else { LIMITS };
        ProcessorTrial { name, source, arguments, limits }
    })
}

/// Programs that go as deep as each of `levels`.
fn deep(kinds: &[(&str, &str)], levels: &[u32]) -> Vec<ProcessorTrial> {
    let tried = |(name, body): &(&str, &str), levels| ProcessorTrial {
        name: format!("{name} {levels}"),
        source: recursing(body),
        arguments: format!("[{levels}]"),
        limits: LIMITS,
    };
    kinds.iter().flat_map(|kind| levels.iter().map(move |levels| tried(kind, levels))).collect()
}

/// The same verdicts and fuel on this processor and on the oldest of its architecture.
fn is_the_same_on_both(programs: impl Iterator<Item = ProcessorTrial>) {
    // Machine code for either processor has a file of its own there, and is compiled once.
    let cache = Sandbox::default_cache_dir().unwrap();
    let here = Sandbox::open(&cache, || ()).unwrap();
    let here = here.interpreting();
    let mut oldest = config();
    oldest.target("x86_64-unknown-linux-gnu").unwrap();
    let interpreter = Interpreter::with(&oldest, &cache, || ()).unwrap();
    let oldest = Sandbox { interpreters: Arc::new(Interpreters::new(interpreter, &cache)), ..here.clone() };
    let mut wrong = Vec::new();
    for trial in programs {
        let found = [&here, &oldest].map(|sandbox| verdict(sandbox, &trial));
        let name = trial.name;
        println!("{name}: {:.100} {}", found[0].0, found[0].1);
        if found[0] != found[1] || found[0].0.ends_with("the machine's") {
            wrong.push(format!("{name}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_verdict_does_not_depend_on_the_processor() {
    is_the_same_on_both(deep(RECURSIONS, &[LEVELS / 40, LEVELS / 8, LEVELS]).into_iter().chain(hostile()));
}

/// In the interpreter with numpy: its own recursions, those of Python again, since they go through other machine code, and
/// all hostile programs.
#[test]
#[ignore = "compiles the interpreter with numpy for the oldest processor; `make numpy-tests` runs it"]
fn a_verdict_with_numpy_does_not_depend_on_the_processor() {
    let all = [deep(NUMPY, &[LEVELS / 40, LEVELS]), deep(RECURSIONS, &[LEVELS / 40, LEVELS]), hostile().collect()];
    let with_numpy = |trial: ProcessorTrial| ProcessorTrial {
        name: format!("numpy: {}", trial.name),
        source: format!("import numpy\n{}", trial.source),
        limits: LIMITS,
        ..trial
    };
    is_the_same_on_both(all.into_iter().flatten().map(with_numpy));
}
