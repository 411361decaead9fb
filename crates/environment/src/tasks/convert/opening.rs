//! How a program begins, as far as the body of its function: by the code that a row gives, or by a solution.

use ruff_text_size::Ranged;

use crate::tasks::source;

/// The beginning that `code` gives the program, with the imports and the functions before it. The code may end anywhere after
/// the line of the function, and be wrong there. `None` where it is no Python up to then, or does not define `entry_point`.
pub(super) fn of_code(code: &str, entry_point: &str) -> Option<String> {
    let begun = source::with_tree(code, |parsed| {
        let body = &parsed.syntax().body;
        let end = source::end_of_header(code, source::definition(body, entry_point)?)?;
        // Comments stand before the first statement, and no solution begins with them.
        Some(code[body[0].start().to_usize()..end].replace("\r\n", "\n"))
    });
    let begun = begun.ok().flatten()?;
    source::signature_of(&with_body(&begun), entry_point).is_ok().then_some(begun)
}

/// The annotation of what the function returns whose beginning `code` gives, if it has one.
pub(super) fn returned_by(code: &str, entry_point: &str) -> Option<String> {
    let whole = with_body(&of_code(code, entry_point)?);
    let annotation = source::with_module(&whole, |module| {
        let returned = source::definition(&module.body, entry_point)?.returns.as_ref()?;
        Some(whole[returned.range().to_std_range()].to_owned())
    });
    annotation.ok().flatten()
}

/// The beginning that a solution gives a program with the method of `Class.method`: its own text where it begins with these two.
/// Of another there are only names and literals, because what stands before them may define the rest.
pub(super) fn of_solution(solution: &str, entry_point: &str) -> Option<String> {
    let (class_name, name) = entry_point.split_once('.')?;
    let begun = source::with_module(solution, |module| {
        let class = source::class(&module.body, class_name)?;
        let method = source::definition(&module.body, entry_point)?;
        if source::is_first(&module.body, class) && source::is_first(&class.body, method) {
            return Some(solution[class.start().to_usize()..source::end_of_header(solution, method)?].to_owned());
        }
        let bound = method.decorator_list.iter().map(|decorator| &solution[decorator.range().to_std_range()]);
        let bound = bound.filter(|decorator| ["@staticmethod", "@classmethod"].contains(decorator));
        let bound: String = bound.map(|decorator| format!("    {decorator}\n")).collect();
        let parameters = source::parameters_of(solution, &method.parameters, false);
        let define = if method.is_async { "async def" } else { "def" };
        Some(format!("class {class_name}:\n{bound}    {define} {name}({parameters}):"))
    });
    begun.ok().flatten()
}

fn with_body(begun: &str) -> String {
    format!("{begun} pass")
}
