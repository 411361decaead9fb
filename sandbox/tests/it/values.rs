//! What crosses between a program and its host: values by JSON with tags, never an object, and never too much.

use grpo_sandbox::{Failure, Fault, HostError, TierChoice};

use crate::{LIMITS, sandbox};

/// The value of `f` in this program, or its fault in words.
pub fn value(source: &str, arguments: &str) -> String {
    let called = sandbox().load(source, 0, &LIMITS).and_then(|mut session| Ok(session.call("f", arguments)?));
    called.unwrap_or_else(|failure| failure.to_string())
}

/// The value of an expression.
fn of(expression: &str) -> String {
    value(
        &format!(
            "from collections import *\nfrom decimal import Decimal\nfrom fractions import Fraction\nimport enum, types\ndef f():\n    return {expression}\n"
        ),
        "[]",
    )
}

#[test]
fn what_json_has_crosses_plainly() {
    for (expression, expected) in [
        ("None", "null"),
        ("True", "true"),
        ("-7", "-7"),
        ("2**63 - 1", "9223372036854775807"),
        ("-2**63", "-9223372036854775808"),
        ("1.0", "1.0"),
        ("1e300", "1e+300"),
        ("-0.0", "-0.0"),
        ("'a\"\\n\\u00e9'", r#""a\"\né""#),
        ("[1, 2, [3.5, None], 'x', []]", r#"[1,2,[3.5,null],"x",[]]"#),
        ("[True, False]", "[true,false]"),
        ("['a', 'b']", r#"["a","b"]"#),
        ("{'a': 1, 'b': [2]}", r#"{"a":1,"b":[2]}"#),
        ("{}", "{}"),
    ] {
        assert_eq!(of(expression), expected, "{expression}");
    }
}

#[test]
fn every_control_character_of_a_text_crosses_in_both_tiers() {
    // The compiled tier takes ASCII alone, the interpreter the control characters above it too.
    for (choice, end) in [(TierChoice::Compiled, 0x80), (TierChoice::Interpreter, 0xa0)] {
        let text: String = (0..end).map(char::from).collect();
        let literal: String = (0..end).map(|byte| format!("\\x{byte:02x}")).collect();
        let source = format!("def f(x):\n    return [x == '{literal}', x, '{literal}', {{x: 1}}]\n");
        let arguments = serde_json::json!([text]).to_string();
        let mut session = sandbox().with_tiers(choice, 0).load(&source, 0, &LIMITS).unwrap();
        let value = session.call("f", &arguments).unwrap();
        let expected = serde_json::json!([true, text, text, {&text: 1}]);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&value).unwrap(), expected, "{choice:?}");
        assert!(value.contains('\x7f') && !value.contains("\\u007f"), "JSON leaves DEL as it is: {value:?}");
    }
}

#[test]
fn a_control_character_that_json_escapes_was_written_by_hand() {
    let by_hand = |written: &str| {
        value(&format!("import sys\nsys.modules['values'].write = lambda value: '\"{written}\"'\ndef f(): pass"), "[]")
    };
    for byte in 0..0x20u8 {
        let found = by_hand(&format!("\\x{byte:02x}"));
        assert!(found.starts_with("returned 3 bytes with control characters"), "{byte}: {found}");
    }
    assert_eq!([by_hand("\\x7f"), by_hand("\\x9b")], ["\"\x7f\"", "\"\u{9b}\""]);
}

#[test]
fn what_json_has_not_crosses_with_a_tag() {
    for (expression, expected) in [
        ("(1, (2,))", r#"{"()":[1,{"()":[2]}]}"#),
        ("()", r#"{"()":[]}"#),
        ("{3}", r#"{"set":[3]}"#),
        ("frozenset((3,))", r#"{"frozenset":[3]}"#),
        ("{frozenset((3,))}", r#"{"set":[{"frozenset":[3]}]}"#),
        ("b'\\x00\\xff'", r#"{"bytes":"00ff"}"#),
        ("1 + 2j", r#"{"complex":[1.0,2.0]}"#),
        ("complex('nan-infj')", r#"{"complex":[{"float":"nan"},{"float":"-inf"}]}"#),
        ("2**63", r#"{"int":"9223372036854775808"}"#),
        ("[2**63, 1]", r#"[{"int":"9223372036854775808"},1]"#),
        ("float('nan')", r#"{"float":"nan"}"#),
        ("[float('inf'), -float('inf')]", r#"[{"float":"inf"},{"float":"-inf"}]"#),
        ("{1: 2, 'a': None}", r#"{"{}":[[1,2],["a",null]]}"#),
        ("{(1, 2): 3}", r#"{"{}":[[{"()":[1,2]},3]]}"#),
        ("{'set': [1]}", r#"{"{}":[["set",[1]]]}"#),
        ("{'frozenset': [1]}", r#"{"{}":[["frozenset",[1]]]}"#),
        ("{'bytearray': '00'}", r#"{"{}":[["bytearray","00"]]}"#),
        ("{'()': 1, 'x': 2}", r#"{"()":1,"x":2}"#),
    ] {
        assert_eq!(of(expression), expected, "{expression}");
    }
}

#[test]
fn an_integer_of_any_length_crosses() {
    assert_eq!(of("10**5000"), format!(r#"{{"int":"1{}"}}"#, "0".repeat(5000)));
}

#[test]
fn a_value_of_a_subclass_crosses_as_one_of_its_base() {
    for (expression, expected) in [
        ("namedtuple('P', 'x y')(1, 2)", r#"{"()":[1,2]}"#),
        ("defaultdict(list, {'a': [1]})", r#"{"a":[1]}"#),
        ("Counter('aab')", r#"{"a":2,"b":1}"#),
        ("OrderedDict(a=1)", r#"{"a":1}"#),
        ("enum.IntEnum('E', 'A B').B", "2"),
        ("type('L', (list,), {'__iter__': None, '__len__': None})([1])", "[1]"),
        ("type('S', (str,), {'__eq__': lambda *_: True, '__str__': lambda _: 'x'})('y')", r#""y""#),
        ("type('I', (int,), {'__repr__': lambda _: '8', '__eq__': lambda *_: True, '__hash__': None})(7)", "7"),
    ] {
        assert_eq!(of(expression), expected, "{expression}");
    }
}

/// A grader compares by `==`, and these are equal.
#[test]
fn what_equals_a_value_that_crosses_crosses_as_that() {
    for (expression, expected) in [
        ("{'a': 1}.keys()", r#"{"set":["a"]}"#),
        ("{1: 0}.items()", r#"{"set":[{"()":[1,0]}]}"#),
        ("[OrderedDict(a=1).keys(), OrderedDict(a=1).items()]", r#"[{"set":["a"]},{"set":[{"()":["a",1]}]}]"#),
        ("bytearray(2)", r#"{"bytes":"0000"}"#),
        ("types.MappingProxyType({'a': [1]})", r#"{"a":[1]}"#),
        (
            "[Decimal(3), Decimal('2.50'), Decimal('-inf'), Decimal('1e20')]",
            r#"[3,2.5,{"float":"-inf"},{"int":"100000000000000000000"}]"#,
        ),
        ("Decimal('0e9999999')", "0"),
        ("[Fraction(6, 2), Fraction(1, 4), -Fraction(1, 2)]", "[3,0.25,-0.5]"),
        (
            "[type('Own', (base,), {})(value) for base, value in ((Decimal, 3), (Decimal, '1e20'), (Fraction, 0.5), (bytearray, b'a'))]",
            r#"[3,{"int":"100000000000000000000"},0.5,{"bytes":"61"}]"#,
        ),
    ] {
        assert_eq!(of(expression), expected, "{expression}");
    }
}

#[test]
fn everything_else_is_a_fault_that_names_its_type() {
    for (expression, found) in [
        ("type('Anything', (), {'__eq__': lambda *_: True})()", "Anything"),
        ("[1, object()]", "object"),
        ("{'a': (1, {2: range(3)})}", "range"),
        ("deque([1])", "deque"),
        ("{1: 2}.values()", "dict_values"),
        ("Decimal('0.1')", "Decimal that no float equals"),
        ("Fraction(1, 3)", "Fraction that no float equals"),
        ("Decimal('nan')", "Decimal that no float equals"),
        ("Decimal('1e300000')", "Decimal with an exponent of 300000 (at most 1048576 bytes of text can be returned)"),
        ("f", "function"),
        ("(x for x in [])", "generator"),
        ("'\\ud800'", "str that is not text"),
        ("['\\udc00', 'a']", "str that is not text"),
        ("'x' * (1 << 20)", "value of 1048578 bytes (at most 1048576 bytes of text can be returned)"),
        ("'\\u00e9' * (1 << 19)", "value of 1048578 bytes (at most 1048576 bytes of text can be returned)"),
        ("'x' * (1 << 21)", "str of 2097152 characters (at most 1048576 bytes of text can be returned)"),
        ("['x' * 1000] * 2000", "value of 2006001 bytes (at most 1048576 bytes of text can be returned)"),
        ("[0] * 600000", "600000 items (at most 1048576 bytes of text can be returned)"),
        ("1 << 10**8", "int of 100000001 bits (at most 1048576 bytes of text can be returned)"),
    ] {
        assert_eq!(of(expression), format!("returned {found}"), "{expression}");
    }
}

#[test]
fn the_longest_text_that_may_cross_crosses() {
    assert_eq!(of("'x' * ((1 << 20) - 2)").len(), 1 << 20);
    assert_eq!(of("'\\u00e9' * ((1 << 19) - 1)").len(), 1 << 20);
}

#[test]
fn a_value_may_nest_forty_deep_and_no_deeper() {
    let nested =
        |depth| format!("def f():\n    x = [None]\n    for _ in range({depth}):\n        x = [x]\n    return x\n");
    assert_eq!(value(&nested(39), "[]"), format!("{}null{}", "[".repeat(40), "]".repeat(40)));
    assert_eq!(value(&nested(40), "[]"), "returned value nested more than 40 deep");
    assert_eq!(
        value("def f():\n    x = []\n    x.append(x)\n    return x\n", "[]"),
        "returned value nested more than 40 deep"
    );
    let keys = "def f():\n    x = ()\n    for _ in range(41):\n        x = (x, {x: 1})[:1]\n    return {x: x}\n";
    assert_eq!(value(keys, "[]"), "returned value nested more than 40 deep");
}

/// Every kind of value, in and out again.
#[test]
fn arguments_cross_as_values_do() {
    let echo = "def f(*arguments):\n    return list(arguments)\n";
    for arguments in [
        r#"[null,true,false,0,-1,2147483647,2147483648,-2147483649,9223372036854775807,-9223372036854775808]"#,
        r#"[1.0,-0.0,1e+300,{"float":"nan"},{"float":"-inf"}]"#,
        r#"["","é\n\"\u0000",[[],[[1]]]]"#,
        r#"[{"()":[]},{"()":[1,{"()":[2]}]},{"set":[]},{"set":[{"frozenset":[1]}]},{"bytes":""},{"bytes":"00ff7f"}]"#,
        r#"[{"frozenset":[]},{"frozenset":[{"()":[1,{"frozenset":[2]}]}]}]"#,
        r#"[{"complex":[1.0,-2.5]},{"complex":[{"float":"nan"},0.0]}]"#,
        r#"[{"int":"9223372036854775808"},{"int":"-123456789012345678901234567890"}]"#,
        r#"[{},{"a":1,"set":2},{"{}":[["set",[1]]]},{"{}":[[1,2],[{"()":[1,{"frozenset":[3]}]},null]]}]"#,
    ] {
        assert_eq!(value(echo, arguments), arguments);
    }
}

#[test]
fn a_set_where_it_has_to_be_hashable_is_a_frozenset() {
    let source = "def f(a, b):\n    return [type(x).__name__ for x in (*a, *b, a)]\n";
    assert_eq!(
        value(source, r#"[{"set":[{"set":[1]}]},{"{}":[[{"set":[1]},2]]}]"#),
        r#"["frozenset","frozenset","set"]"#
    );
}

#[test]
fn frozensets_and_bytearrays_reach_a_program_as_what_they_are_in_every_tier() {
    let source = "def f(groups, data, more):\n    data.append(5)\n    more['a'][1][0] += 1\n    \
                  return [len(set(groups)), bytes(data), bytes(more['a'][1]), more['a'][0], type(more['b']).__name__]\n\
                  class A:\n    def g(self, data):\n        return data.pop()\n";
    let arguments = r#"[[{"frozenset":[1]},{"frozenset":[1]},{"frozenset":[2]}],{"bytearray":"61"},{"a":{"()":["bytearray",{"bytearray":"00"}]},"b":{"bytes":""}}]"#;
    for tier in [TierChoice::Auto, TierChoice::Interpreter] {
        let mut session = sandbox().with_tiers(tier, 1).load(source, 0, &LIMITS).unwrap();
        for _ in 0..2 {
            let answer = session.call("f", arguments).unwrap();
            assert_eq!(answer, r#"[2,{"bytes":"6105"},{"bytes":"01"},"bytearray","bytes"]"#);
        }
        assert_eq!(session.call("A.g", r#"[{"bytearray":"0007"}]"#).unwrap(), "7");
        let missing = session.call("h", r#"[{"bytearray":""}]"#).unwrap_err().to_string();
        assert_eq!(missing, "NameError: no function `h`");
    }
    // What compiled code gives up is asked of the interpreter.
    let compiled = "def f(x):\n    return len(x)\n";
    assert!(sandbox().outside(compiled).unwrap().is_none());
    for argument in [r#"[{"frozenset":[1,2]}]"#, r#"[{"bytearray":"0001"}]"#] {
        assert_eq!(value(compiled, argument), "2");
    }
}

#[test]
fn arguments_of_any_length_cross() {
    let digits = "7".repeat(20_000);
    let source =
        "import sys\ndef f(n, xs):\n    sys.set_int_max_str_digits(0)\n    return [str(n) == '7' * 20000, sum(xs)]\n";
    let numbers: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
    assert_eq!(value(source, &format!(r#"[{{"int":"{digits}"}},[{}]]"#, numbers.join(","))), "[true,4999950000]");
}

#[test]
fn arguments_that_are_no_values_are_the_caller_s_fault() {
    for arguments in [
        "",
        "1",
        "{}",
        "[1",
        r#"[{"set":1}]"#,
        r#"[{"int":"1x"}]"#,
        r#"[{"{}":[[1]]}]"#,
        r#"[{"bytes":"0"}]"#,
        r#"[{"bytearray":1}]"#,
        r#"[{"set":[{"bytearray":"00"}]}]"#,
    ] {
        let mut session = sandbox().load("def f(*_):\n    return 1\n", 0, &LIMITS).unwrap();
        let failure = session.call("f", arguments).unwrap_err();
        assert!(matches!(failure, Failure::Host(HostError::Arguments(_))), "{arguments}: {failure}");
        assert_eq!(session.call("f", "[1]").unwrap(), "1", "nobody's program has failed");
    }
}

#[test]
fn a_method_is_called_on_a_fresh_object() {
    let source = "class Solution:\n    def __init__(self):\n        self.seen = []\n\n    def add(self, x):\n        \
                  self.seen.append(x)\n        return self.seen\n";
    let mut session = sandbox().load(source, 0, &LIMITS).unwrap();
    assert_eq!(session.call("Solution.add", "[1]").unwrap(), "[1]");
    assert_eq!(session.call("Solution.add", "[2]").unwrap(), "[2]");
}

#[test]
fn a_name_reaches_what_the_program_defines_and_nothing_behind_it() {
    let source = "class A:\n    def f(self):\n        return 1\n\ndef g():\n    return 2\n";
    for (name, expected) in [
        ("missing", "NameError: no function `missing`"),
        ("", "NameError: no function ``"),
        ("A.missing", "AttributeError: 'A' object has no attribute 'missing'"),
        ("print.x", "NameError: no function `print.x`"),
        ("__class__.__init__", "NameError: no function `__class__.__init__`"),
        ("__builtins__.print", "TypeError: 'module' object is not callable"),
        ("A.f.__func__", "AttributeError: 'A' object has no attribute 'f.__func__'"),
        ("A.__class__", "returned A"),
        ("__name__", "TypeError: 'str' object is not callable"),
    ] {
        let told = sandbox().load(source, 0, &LIMITS).unwrap().call(name, "[]");
        assert_eq!(told.unwrap_or_else(|failure| failure.to_string()), expected, "{name}");
    }
}

#[test]
fn a_program_that_patches_what_writes_values_lies_about_its_own_alone() {
    let attack = "import json, json.encoder, marshal, sys\njson.dumps = json.loads = marshal.loads = lambda *_: 'forged'\n\
                  json.encoder.encode_basestring = json.encoder.c_encode_basestring = lambda _: 'forged'\n\ndef f(x):\n    return x\n";
    assert_eq!(value(attack, r#"["x"]"#), r#""x""#);
    let raw = "import sys\n\ndef f(x):\n    sys.modules['values'].write = lambda _: 'no\\njson'\n    return x\n";
    let mut session = sandbox().load(raw, 0, &LIMITS).unwrap();
    let failure = session.call("f", "[[]]").unwrap_err();
    assert!(matches!(failure, Failure::Program(Fault::BadValue { .. })), "{failure}");
}
