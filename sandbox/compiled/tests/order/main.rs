//! The tier evaluates in CPython's order: a tracer stands in every operand slot of every expression and statement that
//! is compiled.
//!
//! Templates mark their slots with backquotes. A slot that is traced is `t(number, operand)`: it logs its number and has
//! an effect on everything in play. What is in play are globals, variables of closures, or locals; each template is
//! tried with every slot traced, alone, beside others, and with all of them, under every effect. Answers, logs and what
//! is left of the variables must be those of the interpreter. `make tier-exhaustive` tries every template in all places,
//! and every slot beside every other one under every effect.

mod play;
mod variants;

use play::{Tally, Tiers};
use variants::{Extent, Storage, expressions, statements};

/// Per cent of variants that are compiled, and of calls that the tier answers: with fewer the test says nothing. A tenth
/// of those with `:=` are no Python.
const COMPILED_MIN: usize = 88;
const ANSWERED_MIN: usize = 90;

fn expect_the_same(templates: &[(String, Storage)], extent: Extent) {
    let (tiers, mut tally) = (Tiers::open(), Tally::default());
    let play = |(template, storage): &(String, Storage)| {
        let told = tiers.play(template, *storage, extent, &mut tally)?;
        Some(format!("--- {storage:?}: {template}\n{told}"))
    };
    let different: Vec<String> = templates.iter().filter_map(play).collect();
    eprintln!("{} templates: {tally}", templates.len());
    assert!(
        different.is_empty(),
        "{} of {} templates differ:\n{}",
        different.len(),
        templates.len(),
        different.join("\n")
    );
    assert!(tally.compiled * 100 >= tally.variants * COMPILED_MIN, "{tally}: {:#?}", tally.outside);
    assert!(tally.answered * 100 >= tally.calls * ANSWERED_MIN, "{tally}: {:#?}", tally.given_up);
}

/// Each template with its variables in one of these places, by turns.
fn by_turns(templates: Vec<String>, places: &[Storage]) -> Vec<(String, Storage)> {
    templates.into_iter().zip(places.iter().copied().cycle()).collect()
}

#[test]
fn operands_of_expressions_that_rebind_and_change_globals_are_evaluated_in_order() {
    expect_the_same(&by_turns(expressions(), &[Storage::Globals]), Extent::Day);
}

/// Variables of closures are rebound, too.
#[test]
fn operands_of_expressions_that_change_closure_variables_and_what_locals_hold_are_evaluated_in_order() {
    expect_the_same(&by_turns(expressions(), &[Storage::Cells, Storage::Locals]), Extent::Day);
}

#[test]
fn operands_of_expressions_that_rebind_locals_are_evaluated_in_order() {
    expect_the_same(&by_turns(expressions(), &[Storage::ReboundLocals]), Extent::Day);
}

#[test]
fn operands_of_statements_are_evaluated_in_order() {
    for places in [&[Storage::Globals][..], &[Storage::Cells, Storage::Locals], &[Storage::ReboundLocals]] {
        expect_the_same(&by_turns(statements(), places), Extent::Day);
    }
}

#[test]
#[ignore = "takes a minute; `make tier-exhaustive` runs it"]
fn operands_are_evaluated_in_order_wherever_the_variables_of_a_template_are() {
    for storage in [Storage::Globals, Storage::Cells, Storage::Locals, Storage::ReboundLocals] {
        for templates in [expressions(), statements()] {
            expect_the_same(&by_turns(templates, &[storage]), Extent::All);
        }
    }
}

#[test]
fn templates_have_every_form_that_is_said_to_be_compiled() {
    let templates = [expressions(), statements()].concat();
    assert!(expressions().len() >= 150 && statements().len() >= 40);
    let builtins = "abs all any bool dict divmod enumerate float int len list map max min pow print range reversed set \
                    sorted str sum tuple zip";
    let methods = "append add pop extend insert remove discard reverse copy clear count index find get setdefault update \
                   keys values items upper lower join sort bit_length sqrt log log2 floor ceil random choice randint shuffle";
    let forms =
        builtins.split(' ').map(|name| format!("{name}(")).chain(methods.split(' ').map(|name| format!(".{name}(")));
    let others =
        ["key=", "default=", "reverse=", "lambda", ":=", " if ", " for ", "(*`", "while ", "else:", "elif ", "del "];
    let forms = forms.chain(others.map(str::to_owned));
    let missing: Vec<String> = forms.filter(|form| !templates.iter().any(|text| text.contains(form))).collect();
    assert!(missing.is_empty(), "no template has {missing:?}");
}
