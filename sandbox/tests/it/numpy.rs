//! numpy: the values of x86-64, what crosses, and that nothing changes for programs that do not ask for it. Tests of numpy itself
//! are in `tests/numpy.rs`.

use grpo_sandbox::{Failure, Fault, Limits, Sandbox, TierChoice};

use crate::values::value;
use crate::{LIMITS, printed, sandbox};

/// Expressions, what prints their values, and what it prints on x86-64.
const EXPRESSIONS: &str = include_str!("../numpy/expressions.txt");
const EVALUATE: &str = include_str!("../numpy/evaluate.py");
const VALUES: &str = include_str!("../numpy/values.txt");

/// The value of an expression as it crosses, or the fault in words.
fn of(expression: &str) -> String {
    value(&format!("import numpy as np\nclass Own(np.ndarray): pass\ndef f():\n    return {expression}\n"), "[]")
}

#[test]
fn values_and_types_are_those_of_x86_64() {
    let run = sandbox().run(EVALUATE, EXPRESSIONS, 7, &LIMITS).unwrap();
    let found = run.printed.unwrap();
    assert_eq!(found.lines().count(), VALUES.lines().count());
    for ((expression, found), expected) in EXPRESSIONS.lines().zip(found.lines()).zip(VALUES.lines()) {
        assert_eq!(found, expected, "{expression}");
    }
    assert!(EXPRESSIONS.lines().count() > 40);
}

#[test]
fn arrays_cross_as_lists_and_scalars_as_numbers() {
    for (expression, expected) in [
        ("np.arange(3)", "[0,1,2]"),
        ("np.eye(2)", "[[1.0,0.0],[0.0,1.0]]"),
        ("np.array(5)", "5"),
        ("np.zeros((2, 0))", "[[],[]]"),
        ("np.int64(2**62)", "4611686018427387904"),
        ("np.uint64(2**64 - 1)", r#"{"int":"18446744073709551615"}"#),
        ("np.float32(0.5)", "0.5"),
        ("np.float64('nan')", r#"{"float":"nan"}"#),
        ("np.float64(1) / 3", "0.3333333333333333"),
        ("np.longdouble(1) / 4", "0.25"),
        ("np.bool_(True)", "true"),
        ("np.array([True, False])", "[true,false]"),
        ("np.complex128(1 + 2j)", r#"{"complex":[1.0,2.0]}"#),
        ("np.str_('x')", r#""x""#),
        ("np.array(['a', 'b'])", r#"["a","b"]"#),
        ("np.bytes_(b'x')", r#"{"bytes":"78"}"#),
        ("{'a': np.int64(1), 'b': (np.float64(2), np.arange(2))}", r#"{"a":1,"b":{"()":[2.0,[0,1]]}}"#),
        ("[np.int64(1), 2, np.float64(3)]", "[1,2,3.0]"),
        ("{np.int64(1)}", r#"{"set":[1]}"#),
        ("np.array([1, 'a', None], dtype=object)", r#"[1,"a",null]"#),
        ("np.zeros(1, dtype=[('a', int), ('b', float)])", r#"[{"()":[0,0.0]}]"#),
        ("np.matrix([[1, 2]])", "[[1,2]]"),
        ("np.arange(3).view(Own)", "[0,1,2]"),
    ] {
        assert_eq!(of(expression), expected, "{expression}");
    }
}

#[test]
fn what_has_no_value_of_its_own_does_not_cross() {
    for (expression, named) in [
        ("np.ma.array([1, 2], mask=[0, 1])", "MaskedArray"),
        ("np.datetime64('2020-01-01')", "date"),
        ("np.array([object()])", "object"),
        ("np.dtype(int)", "DType"),
        ("np.random.default_rng(1)", "Generator"),
        ("np.zeros((1 << 20) + 1, np.int8)", "array of 1048577 items (at most 1048576 bytes"),
        ("np.zeros((1,) * 50)", "nested more than 40 deep"),
        ("np.broadcast_to(1, (1 << 20, 1 << 20))", "items"),
    ] {
        let found = of(expression);
        assert!(!found.starts_with('['), "{expression}: {found:.80}");
        assert!(found.contains(named), "{expression}: {found}");
    }
}

#[test]
fn a_program_that_does_not_say_numpy_has_none_and_pays_nothing() {
    let hidden = "name = 'num' + 'py'\nprint(__import__(name))";
    assert_eq!(printed(hidden), "ModuleNotFoundError: No module named 'numpy' (line 2)");
    let plain = sandbox().run("print(1)", "", 1, &LIMITS).unwrap().fuel;
    let other = Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || ()).unwrap();
    assert_eq!(other.run("print(1)", "", 1, &LIMITS).unwrap().fuel, plain);
    assert!(sandbox().run("print(1) # numpy", "", 1, &LIMITS).unwrap().fuel > plain);
}

#[test]
fn chance_follows_from_the_seed_of_the_program() {
    let printed = |source: &str, seed| sandbox().run(source, "", seed, &LIMITS).unwrap().printed.unwrap();
    let draws = "import numpy as np\nprint(np.random.rand(2), np.random.default_rng().random(2), np.random.RandomState().rand())";
    assert_eq!(printed(draws, 1), printed(draws, 1));
    assert_ne!(printed(draws, 1), printed(draws, 2));
    let python = "import random\nprint(random.random()) # ";
    let beside = format!("import numpy as np\nnp.random.default_rng().random()\n{python}");
    assert_eq!(printed(&beside, 3), printed(python, 3), "numpy moves no number of `random`");
}

#[test]
fn time_is_the_logical_clock() {
    assert_eq!(
        printed("import numpy as np\nprint(np.datetime64('now'), np.datetime64('today'))"),
        "2023-11-14T22:13:20 2023-11-14\n"
    );
}

/// As of a pipe elsewhere, of which nothing was lost before.
#[test]
fn a_standard_stream_is_no_file_that_numpy_reads_or_writes() {
    for call in [
        "np.fromfile(sys.stdin, dtype=np.int64, sep=' ')",
        "np.fromfile(sys.stdin.buffer, dtype=np.uint8)",
        "np.fromfile('/dev/stdin', sep=' ')",
        "np.array([1, 2]).tofile(sys.stdout, sep=' ')",
    ] {
        let source = format!(
            "import numpy as np, sys\nprint('before')\ntry:\n    {call}\nexcept OSError as error:\n    \
             print(error, sum(map(int, input().split())))\n"
        );
        let run = sandbox().run(&source, "1 2 3\n", 0, &LIMITS).unwrap();
        assert_eq!(run.printed.unwrap(), "before\nobtaining file position failed 6\n", "{call}");
    }
}

#[test]
fn what_is_absent_says_so() {
    for module in ["numpy.f2py", "numpy.distutils", "numpy.ctypeslib"] {
        let expected = format!(
            "ModuleNotFoundError: No module named '{module}' in the sandbox: nothing is compiled or linked in here (line 1)"
        );
        assert_eq!(printed(&format!("import {module}")), expected);
    }
    assert_eq!(printed("from numpy import *\nprint(arange(2))"), "[0 1]\n");
}

/// What numpy finds by itself is told as elsewhere, and by one call only.
#[test]
fn what_numpy_itself_finds_is_raised() {
    let singular = "LinAlgError: Singular matrix (line 4)";
    let negative = "LinAlgError: Matrix is not positive definite (line 4)";
    let unsolved = "LinAlgError: SVD did not converge in Linear Least Squares (line 4)";
    let all = |errors: &str, expression: &str| format!("np.errstate(all='{errors}')(lambda: {expression})()");
    for (expression, expected) in [
        ("np.linalg.inv(np.zeros((2, 2)))", singular),
        ("np.linalg.inv([np.eye(2), np.ones((2, 2)), np.eye(2)])", singular),
        ("np.linalg.solve([[1, 2], [2, 4]], [1, 2])", singular),
        ("np.linalg.matrix_power([[1, 2], [2, 4]], -1)", singular),
        ("np.linalg.cholesky(-np.eye(2))", negative),
        ("np.linalg.lstsq(np.full((2, 2), np.nan), [1, 2])", unsolved),
        ("np.linalg.det(np.zeros((2, 2)))", "0.0"),
        ("np.array([7, 8]) // [0, 2]", "[0,4]"),
    ] {
        assert_eq!(of(expression), expected, "{expression}");
    }
    for (expression, expected) in [
        ("np.array([1]) // 0", "divide by zero encountered in floor_divide"),
        ("np.array([1]) % 0", "divide by zero encountered in remainder"),
        ("np.floor_divide.reduce(np.array([1, 0]))", "divide by zero encountered in reduce"),
        ("np.array([-2**63]) // -1", "overflow encountered in floor_divide"),
        ("np.array([1e6]).astype(np.float16)", "overflow encountered in cast"),
        ("np.float16([6e4]) * 2", "overflow encountered in multiply"),
    ] {
        assert_eq!(of(&all("raise", expression)), format!("FloatingPointError: {expected} (line 4)"), "{expression}");
        assert!(of(&all("ignore", expression)).starts_with(['[', '0']), "{expression}");
    }
    let after = "import numpy as np
np.seterr(all='raise')
def tried(f):
    try:
        return f()
    except (np.linalg.LinAlgError, FloatingPointError) as error:
        return type(error).__name__
print(tried(lambda: np.linalg.inv(np.zeros((2, 2)))), tried(lambda: np.linalg.inv(np.eye(2)).tolist()))
print(tried(lambda: np.array([1]) // 0), tried(lambda: np.array([1]) + 1), tried(lambda: np.linalg.solve(np.eye(2), [3, 4])))
print(tried(lambda: np.linalg.cholesky(-np.eye(2))), tried(lambda: np.sqrt([4.0])), tried(lambda: np.array([9]) // 2))
";
    assert_eq!(
        printed(after),
        "LinAlgError [[1.0, 0.0], [0.0, 1.0]]\nFloatingPointError [2] [3. 4.]\nLinAlgError [2.] [4]\n"
    );
    let warned = "import numpy as np, warnings
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter('always')
    np.array([1]) // 0, np.array([1]) // 1
print([str(w.message) for w in found], [w.category.__name__ for w in found])
";
    assert_eq!(printed(warned), "['divide by zero encountered in floor_divide'] ['RuntimeWarning']\n");
}

/// WebAssembly has no flags for what a float cannot hold, by which numpy knows of it elsewhere.
#[test]
fn floats_of_numpy_raise_no_alarms() {
    for (expression, expected) in [
        ("np.errstate(all='raise')(lambda: np.ones(1) / 0)()", r#"[{"float":"inf"}]"#),
        ("np.errstate(all='raise')(lambda: np.array([1]) / 0)()", r#"[{"float":"inf"}]"#),
        ("np.errstate(all='raise')(lambda: np.float64(1) / 0)()", r#"{"float":"inf"}"#),
        ("np.errstate(all='raise')(lambda: np.array([np.nan]).astype(int))()", "[0]"),
    ] {
        assert_eq!(of(expression), expected, "{expression}");
    }
    let warned =
        "import numpy as np, warnings\nwarnings.simplefilter('error')\nprint(np.log(np.zeros(1)), np.sqrt(-1))\n";
    assert_eq!(printed(warned), "[-inf] nan\n");
}

#[test]
fn exhausted_memory_is_the_program_s_fault_and_the_next_program_is_unharmed() {
    let honest = "import numpy as np\nprint(np.unique(np.fft.fft([1.0, 0, 0]).real))";
    let before = sandbox().run(honest, "", 1, &LIMITS).unwrap();
    for body in [
        "np.zeros((1 << 20, 1 << 10))",
        "np.ones(1 << 33)",
        "np.zeros((1 << 31, 1 << 31))",
        "x = []\nwhile 1: x.append(np.ones(1 << 18))",
        "np.fft.fft(np.ones(3_000_017))",
        "x = np.arange(4_000_000.0)\nnp.fft.fft(x)",
        "np.unique(np.arange(7_000_000))",
        "np.random.rand(20_000_000)",
        "np.ones(4_000_000).reshape(2000, 2000) @ np.ones((2000, 6000))",
        "np.sort(np.ones(9_000_000))[::-1].copy()",
    ] {
        let run = sandbox().run(&format!("import numpy as np\n{body}"), "", 1, &LIMITS).unwrap();
        let fault = run.printed.expect_err(body);
        let named = matches!(&fault, Fault::Raised { kind, .. } if ["_ArrayMemoryError", "ValueError"].contains(&kind.as_str()));
        assert!(named || matches!(fault, Fault::OutOfMemory), "{body}: {fault:?}");
    }
    assert_eq!(sandbox().run(honest, "", 1, &LIMITS).unwrap(), before);
    let small = Limits { memory_bytes: 24 << 20, ..LIMITS };
    assert_eq!(sandbox().run(honest, "", 1, &small).unwrap().printed, Err(Fault::OutOfMemory));
}

#[test]
fn a_program_with_numpy_is_interpreted_in_every_tier_alike() {
    let source = "import numpy as np\ndef f(n):\n    return int(np.arange(n).sum())\n";
    let [auto, interpreter] = [TierChoice::Auto, TierChoice::Interpreter].map(|choice| {
        let mut session = sandbox().with_tiers(choice, 1).load_exact(source, 3, &LIMITS).unwrap();
        assert!(!session.is_compiled());
        (session.call("f", "[100000]").unwrap(), session.fuel_used())
    });
    assert_eq!(auto, interpreter);
    assert_eq!(auto.0, "4999950000");
    assert!(matches!(
        sandbox().with_tiers(TierChoice::Auto, 0).load("import numpy\nnumpy.nothing", 3, &LIMITS).map(|_| ()),
        Err(unloaded) if matches!(unloaded.failure, Failure::Program(Fault::Raised { .. }))
    ));
}
