use proptest::prelude::*;
use serde::Deserialize;

use super::*;

/// What CPython said; written by tests/goldens/values.py.
#[derive(Deserialize)]
struct Golden {
    /// How many values were compared in pairs; single floats follow them.
    literals: usize,
    values: Vec<Case>,
    equal: Vec<(String, String)>,
    unequal_to_themselves: Vec<String>,
    printable: Vec<(u32, u32)>,
    hidden: Vec<(u32, u32)>,
}

#[derive(Deserialize)]
struct Case {
    text: String,
    json: String,
    repr: Option<String>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../../../../tests/goldens/values.json")).unwrap()
}

fn value(text: &str) -> Value {
    Value::from_literal(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn json(text: &str) -> Value {
    Value::from_json(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The same in every bit: `==` would take 1 for True, and no nan for itself.
fn same(a: &Value, b: &Value) -> bool {
    a.to_json() == b.to_json()
}

#[test]
fn literals_are_written_and_cross_as_cpython_has_them() {
    for case in golden().values {
        let value = value(&case.text);
        assert!(same(&value, &json(&case.json)), "{}: {} for {}", case.text, value.to_json(), case.json);
        if let Some(repr) = case.repr {
            assert_eq!(value.to_string(), repr, "{}", case.text);
        }
        assert!(same(&Value::from_json(&value.to_json()).unwrap(), &value), "{}", case.text);
        // Python itself does not read `(-0-1j)` back as it was, but as what equals it.
        let back = Value::from_literal(&value.to_string()).unwrap();
        assert!(same(&back, &value) || matches!(value, Value::Complex { .. }) && back == value, "{}", case.text);
    }
}

#[test]
fn every_pair_is_equal_exactly_when_cpython_says_so() {
    let golden = golden();
    let mut texts: Vec<&str> = golden.equal.iter().flat_map(|(a, b)| [a.as_str(), b.as_str()]).collect();
    texts.extend(golden.values.iter().map(|case| case.text.as_str()).take(golden.literals));
    texts.sort_unstable();
    texts.dedup();
    let mut pairs = 0;
    for a in &texts {
        for b in &texts {
            let expected = match a.cmp(b) {
                std::cmp::Ordering::Equal => !golden.unequal_to_themselves.iter().any(|text| text == a),
                std::cmp::Ordering::Less => golden.equal.contains(&(a.to_string(), b.to_string())),
                std::cmp::Ordering::Greater => golden.equal.contains(&(b.to_string(), a.to_string())),
            };
            assert_eq!(value(a) == value(b), expected, "{a} == {b}");
            pairs += 1;
        }
    }
    assert!(pairs > 40_000, "{pairs}");
}

#[test]
fn characters_are_escaped_exactly_where_cpython_escapes_them() {
    let golden = golden();
    let is_escaped = |code| Value::Str(char::from_u32(code).unwrap().into()).to_string().contains('\\');
    for (first, last) in golden.printable {
        (first..=last).filter(|&code| code != '\\' as u32).for_each(|code| assert!(!is_escaped(code), "{code:#x}"));
    }
    for (first, last) in golden.hidden {
        (first..=last).for_each(|code| assert!(is_escaped(code), "{code:#x}"));
    }
}

#[test]
fn a_tolerance_is_a_share_of_the_expected_number_and_at_least_itself() {
    let close = Equality { tolerance: 1e-3, ..Equality::PYTHON };
    let passes = |answer: &str, expected: &str| value(answer).equals(&value(expected), &close);
    for (answer, expected) in [
        ("1.0009", "1.0"),
        ("0.0009", "0"),
        ("1000.9", "1000.0"),
        ("1000.9", "1000"),
        ("[1.0001, {'a': (2.0001,)}]", "[1, {'a': (2,)}]"),
        ("{1.0001, 2.0001}", "{2, 1}"),
        ("inf", "float('inf')"),
        ("1+1.0001j", "1+1j"),
    ] {
        assert!(passes(answer, expected), "{answer} for {expected}");
    }
    for (answer, expected) in [
        ("1.0011", "1.0"),
        ("0.0011", "0.0"),
        ("1001.1", "1000.0"),
        ("1001", "1000"),
        ("1e308", "inf"),
        ("inf", "1e308"),
        ("-inf", "inf"),
        ("nan", "nan"),
        ("'1.0'", "1.0"),
        ("[1.0]", "(1.0,)"),
        ("None", "0.0"),
    ] {
        assert!(!passes(answer, expected), "{answer} for {expected}");
    }
}

#[test]
fn a_tuple_passes_for_a_list_where_a_task_says_so() {
    let loose = Equality { tuples_are_lists: true, ..Equality::PYTHON };
    for (answer, expected) in [("(1, 2)", "[1, 2]"), ("[(1,), [2]]", "[[1], [2]]"), ("{'a': ()}", "{'a': []}")] {
        assert!(value(answer).equals(&value(expected), &loose));
        assert_ne!(value(answer), value(expected));
    }
    assert!(!value("(1, 2)").equals(&value("[2, 1]"), &loose));
    assert!(!value("(1, 2)").equals(&value("{1, 2}"), &loose));
}

#[test]
fn what_is_no_literal_is_named_with_what_could_stand_there() {
    let others = [
        "open('x')", "[x for x in range(3)]", "lambda: 1", "{**{}}", "[*[1]]", "1 if True else 2", "'\\ud800'",
        "1 / 0", "'a' - 'b'", "1 < 2", "list({1, 2})",
    ];
    let others = others.map(|text| (text, "is no Python literal"));
    for (text, expected) in [
        ("", "column 1: Expected an expression"),
        ("abc", "`abc` is no Python literal; a string has quotes of its own"),
        ("[1, null]", "`null` is no Python literal; Python writes True, False and None"),
        ("[1, 2", "column 6"),
        ("é, '", "column 4"),
        ("1 2", "column 3"),
        ("f'{x}'", "`f'{x}'` is no Python literal"),
        ("__import__('os').system('ls')", "`__import__('os').system('ls')` is no Python literal"),
        ("{[1]: 2}", "unhashable type `list`"),
        ("{(1, [2])}", "unhashable type `list`"),
        ("{1: 2, {}: 3}", "unhashable type `dict`"),
    ]
    .into_iter()
    .chain(others)
    {
        let error = Value::from_literal(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_few_characters_do_not_stand_for_more_memory_than_there_is() {
    for text in [
        "[0] * 10**9", "[[0] * 1000] * 10**6", "[[[0] * 1000] * 1000] * 1000", "'a' * 10**18", "'a' * 10**30",
        "[] * 10**9", "10**9 * (1, 2)", "list(range(10**12))", "set(range(-10**18, 10**18))", "2**(10**9)", "10**5000",
        "(10**4000) ** 4000", "1 << 10**12", "1 << (1 << 70)", "[[0] * 10**6, [0] * 10**6]",
    ] {
        let error = Value::from_literal(text).unwrap_err();
        assert!(matches!(error, ValueError::Large { .. }), "{text}: {error}");
    }
    assert!(matches!(Value::from_literal(&"9".repeat(4301)), Err(ValueError::Large { .. })));
    assert!(matches!(Value::from_literal(&format!("0x{}", "f".repeat(1 << 20))), Err(ValueError::Large { .. })));
    assert_eq!(value(&"9".repeat(4300)).to_string(), "9".repeat(4300));
    assert_eq!(value("[0] * 10**6").to_json().len(), 3_000_000);
}

#[test]
fn deep_nesting_is_refused_whatever_it_is_made_of() {
    for deep in [
        "[".repeat(99) + &"]".repeat(99),
        "(".repeat(500) + &")".repeat(500),
        "-".repeat(98) + "1",
        "1".to_owned() + &"+1".repeat(98),
    ] {
        Value::from_literal(&deep).unwrap_or_else(|error| panic!("{deep}: {error}"));
    }
    let far = 200_000;
    for deep in [
        "[".repeat(101) + &"]".repeat(101),
        "[".repeat(far) + &"]".repeat(far),
        "[".repeat(far),
        "-".repeat(far) + "1",
        "1".to_owned() + &"+1".repeat(far),
        "not ".repeat(far) + "1",
        "lambda: ".repeat(far) + "1",
        "{1: ".repeat(far) + &"}".repeat(far),
        "f(".repeat(far) + &")".repeat(far),
        "a".to_owned() + &".a".repeat(far),
        "a".to_owned() + &"()".repeat(far),
    ] {
        assert!(Value::from_literal(&deep).is_err());
    }
    for deep in ["[".repeat(far), "{\"a\": ".repeat(far), "{\"()\": [".repeat(far)] {
        assert_eq!(Value::from_json(&deep).unwrap_err(), ValueError::Deep { limit: 300 });
    }
    let deep = value(&("{1: (".repeat(49) + "2" + &",)}".repeat(49)));
    assert!(same(&json(&deep.to_json()), &deep), "tags make it deeper, and it still comes back");
}

#[test]
fn what_a_program_sends_is_a_value_or_an_error() {
    for (text, expected) in [
        ("", "column 1: found the end; expected a value"),
        ("[1 2]", "column 4: found `2`; expected `,` or `]`"),
        ("[1,]", "column 4: found `]`; expected a value"),
        ("{\"a\" 1}", "expected `:`"),
        ("{a: 1}", "expected a key in double quotes"),
        ("1 1", "expected the end"),
        ("\"\\ud800\"", "half a surrogate pair"),
        ("\"\\ud800\\u0041\"", "half a surrogate pair"),
        ("\"\\udc00\\ud800\"", "half a surrogate pair"),
        ("\"\\u12\"", "four hexadecimal digits"),
        ("\"\\u+123\"", "four hexadecimal digits"),
        ("\"\\x41\"", "an escape that JSON does not have"),
        ("\"a\nb\"", "expected the end of a string"),
        ("\"\\", "an escape that JSON does not have"),
        ("\"abc", "expected the end of a string"),
        ("[{\"a\": 1, \"b\": 2, \"a\": 1}]", "column 2: found an object with a key twice"),
        ("{\"()\": 1}", "column 1: found a tag \"()\" with the wrong content"),
        ("[{\"set\": {}}]", "column 2: found a tag \"set\""),
        ("{\"set\": [[1]]}", "unhashable type `list`"),
        ("{\"{}\": [[[1], 2]]}", "unhashable type `list`"),
        ("{\"{}\": [[1]]}", "found a tag \"{}\""),
        ("{\"bytes\": \"0\"}", "found a tag \"bytes\""),
        ("{\"bytes\": \"+1\"}", "found a tag \"bytes\""),
        ("{\"bytes\": \"é0\"}", "found a tag \"bytes\""),
        ("{\"int\": \"1_0\"}", "found a tag \"int\""),
        ("{\"int\": \"\"}", "found a tag \"int\""),
        ("{\"int\": 5}", "found a tag \"int\""),
        ("{\"float\": \"1.5\"}", "found a tag \"float\""),
        ("{\"complex\": [1, 2]}", "found a tag \"complex\""),
    ]
    .into_iter()
    .chain(["01", "1.", ".5", "+1", "1e999", "nul"].map(|text| (text, "expected a value")))
    {
        let error = Value::from_json(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn an_answer_may_have_more_digits_than_a_literal() {
    let answer = |digits: &str| Value::from_json(&format!("{{\"int\": \"{digits}\"}}")).unwrap();
    let nines = |count| "9".repeat(count);
    let a_million = answer(&nines(1_000_000));
    assert_eq!(a_million.to_string(), nines(1_000_000));
    assert!(a_million == answer(&format!("00{}", nines(1_000_000))) && a_million != answer(&nines(999_999)));
    assert!(a_million != answer(&format!("{}8", nines(999_999))) && a_million != Value::Float(f64::INFINITY));
    assert!(
        matches!(Value::from_literal(&nines(4301)), Err(ValueError::Large { .. })),
        "CPython reads no such literal"
    );
    // Written on both sides of the border between numbers and digits: 10**4300 is the last power of ten before it.
    let (last, first) = (value("10**4300"), answer(&format!("1{}", "0".repeat(4301))));
    assert!(answer(&format!("1{}", "0".repeat(4300))) == last && last != first);
    let minus = |digits: String| answer(&format!("-{digits}"));
    let rising = [
        minus(nines(5001)),
        minus(nines(5000)),
        minus(format!("{}8", nines(4999))),
        value("-10**4300"),
        value("-1e300"),
        value("0"),
        value("1e300"),
        value("10**4300"),
        first,
        answer(&format!("{}8", nines(4999))),
        answer(&nines(5000)),
        answer(&nines(5001)),
    ];
    for (a, b) in rising.iter().zip(&rising[1..]) {
        assert!(a.order(b).is_lt() && b.order(a).is_gt() && a != b, "{a} {b}");
    }
}

#[test]
fn json_of_others_keeps_its_objects_and_its_ints() {
    let plain = |text: &str| Value::from_plain_json(text).unwrap();
    assert_eq!(plain("{\"set\": [1, 1]}"), value("{'set': [1, 1]}"));
    assert_eq!(plain("123456789012345678901234567890"), value("123456789012345678901234567890"));
    assert_eq!(plain("{\"a\": 1, \"a\": 2}"), value("{'a': 2}"), "the last one wins, as in Python");
    assert_eq!(plain(" [\"\\ud83d\\ude00\\/\", -Infinity, -0, 1E2]\n"), value("['😀/', -inf, 0, 100.0]"));
    assert!(plain("NaN").to_string() == "nan" && plain("-0").to_string() == "0" && plain("-0.0").to_string() == "-0.0");
    assert_eq!(plain("[1e999, -1e999]").to_string(), "[inf, -inf]", "as Python reads them");
}

#[test]
fn what_json_may_say_and_no_value_holds_is_told_from_what_is_no_json() {
    let beyond = |text: &str| Value::from_plain_json(text).unwrap_err().beyond_values();
    let half = Some("half a surrogate pair, which is no character");
    assert_eq!(beyond("{\"a\": \"\\ud800\"}").as_deref(), half);
    assert_eq!(beyond("[1, \"x\\udc00\"]").as_deref(), half, "wherever it stands");
    assert_eq!(beyond(&"9".repeat(5000)).as_deref(), Some("an int of too many digits; at most 4300"));
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert_eq!(beyond(&nested(301)).as_deref(), Some("nested deeper than 300 levels"));
    assert!(Value::from_plain_json(&nested(300)).is_ok());
    for wrong in ["{", "{\"a\": }", "\"\\x41\"", "[1, 2", "", "01"] {
        assert_eq!(beyond(wrong), None, "{wrong}");
    }
}

#[test]
fn json_of_a_person_keeps_its_objects_and_has_no_key_twice() {
    let distinct = |text: &str| Value::from_distinct_json(text);
    assert_eq!(distinct("[{\"set\": [1, 1]}, NaN]").unwrap().to_string(), "[{'set': [1, 1]}, nan]");
    let error = distinct("[{\"a\": 1, \"b\": 2, \"a\": 1}]").unwrap_err().to_string();
    assert!(error.contains("column 2: found an object with a key twice, \"a\""), "{error}");
    let error = distinct("[1, -1e400]").unwrap_err().to_string();
    assert!(error.contains("column 5: found a number beyond floats; expected a value in range"), "{error}");
}

#[test]
fn ten_thousand_near_equal_keys_are_told_apart_quickly() {
    let keys = |last: char| (0..10_000).map(move |n| format!("{}{n}{last}", "k".repeat(100)));
    let set = |last| Value::set(keys(last).map(Value::Str).collect()).unwrap();
    let dict = |last| Value::dict(keys(last).map(|key| (Value::Str(key), Value::None)).collect()).unwrap();
    assert!(set('a') == set('a') && set('a') != set('b'));
    assert!(dict('a') == dict('a') && dict('a') != dict('b'));
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::None),
        any::<bool>().prop_map(Value::Bool),
        prop_oneof![-3i64..4, any::<i64>()].prop_map(|int| Value::Int(int.into())),
        (any::<i128>(), 0usize..40)
            .prop_map(|(int, zeros)| Value::Int(Int::from_decimal(&format!("{int}{}", "0".repeat(zeros))).unwrap())),
        prop_oneof![any::<f64>(), (-3i8..4).prop_map(f64::from)].prop_map(Value::Float),
        (any::<f64>(), any::<f64>()).prop_map(|(re, im)| Value::Complex { re, im }),
        any::<String>().prop_map(Value::Str),
        any::<Vec<u8>>().prop_map(Value::Bytes),
        any::<Vec<u8>>().prop_map(Value::ByteArray),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let items = prop::collection::vec(inner.clone(), 0..6);
        prop_oneof![
            items.clone().prop_map(Value::List),
            items.clone().prop_map(Value::Tuple),
            items.clone().prop_filter_map("hashable", |items| Value::set(items).ok()),
            items.clone().prop_filter_map("hashable", |items| Value::frozenset(items).ok()),
            prop::collection::vec((inner.clone(), inner), 0..5)
                .prop_filter_map("hashable", |pairs| Value::dict(pairs).ok()),
        ]
    })
}

proptest! {
    #[test]
    fn a_value_comes_back_from_json_and_from_its_literal(value in any_value()) {
        prop_assert!(same(&Value::from_json(&value.to_json()).unwrap(), &value));
        prop_assert!(contains_nan(&value) || Value::from_literal(&value.to_string()).unwrap() == value);
        prop_assert!(contains_nan(&value) || Value::from_literal(&value.expression()).unwrap() == value);
    }

    #[test]
    fn equality_is_reflexive_symmetric_and_agrees_with_the_order(a in any_value(), b in any_value()) {
        prop_assert_eq!(a == a.clone(), !contains_nan(&a));
        prop_assert_eq!(a == b, b == a);
        prop_assert_eq!(a.order(&b), b.order(&a).reverse());
        prop_assert!(a != b || a.order(&b).is_eq());
    }

    #[test]
    fn the_order_is_transitive(a in any_value(), b in any_value(), c in any_value()) {
        let mut sorted = [&a, &b, &c];
        sorted.sort_by(|a, b| a.order(b));
        prop_assert!(sorted[0].order(sorted[2]).is_le());
    }

    #[test]
    fn ints_and_floats_compare_as_exact_numbers(int in any::<i64>(), shift in 0u32..12, float in any::<f64>()) {
        // A float of this size is a whole number or a half of one: doubled, both are exact in 128 bits.
        let near = (int >> shift) as f64 + 0.5;
        let expected = (2 * i128::from(int)).cmp(&((near * 2.0) as i128));
        prop_assert_eq!(Int::from(int).order_to_float(near), Some(expected));
        prop_assert_eq!(Int::from(int).order_to_float(float).is_none(), float.is_nan());
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>(), json in "[\\[\\]{}\",:0-9eE.tfn\\\\ua()-]{0,40}") {
        let _ = (Value::from_literal(&text), Value::from_json(&text), Value::from_json(&json), Value::from_literal(&json));
    }
}

fn contains_nan(value: &Value) -> bool {
    match value {
        Value::Float(float) => float.is_nan(),
        Value::Complex { re, im } => re.is_nan() || im.is_nan(),
        Value::List(items) | Value::Tuple(items) => items.iter().any(contains_nan),
        Value::Set(set) => set.items().iter().any(contains_nan),
        Value::Dict(dict) => dict.pairs().iter().any(|(key, value)| contains_nan(key) || contains_nan(value)),
        _ => false,
    }
}
