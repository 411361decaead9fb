//! How a program begins, as far as the body of its function: by the code that a row gives, or by a solution.

use ruff_text_size::Ranged;

use crate::program::is_words;
use crate::tasks::source;

/// The beginning that `code` gives the program, with the imports and the functions before it. The code may end anywhere after
/// the line of the function, and be wrong there. `None` where it is no Python up to then, or does not define `entry_point`.
pub(super) fn of_code(code: &str, entry_point: &str) -> Option<String> {
    let begun = source::with_tree(code, |parsed| {
        let body = &parsed.syntax().body;
        let end = source::end_of_header(code, source::definition(body, entry_point)?)?;
        // What stands before the first statement are comments, or words such as `//Python3`, which do nothing where they are Python.
        let start = body.iter().find(|statement| !is_words(statement))?.start().to_usize();
        source::signature_of(&with_body(&code[start..end]), entry_point).ok()?;
        Some(code[start..end].replace("\r\n", "\n"))
    });
    begun.ok().flatten()
}

/// Whether a beginning has nothing but the class and the method, so that that of another program may take its place.
pub(super) fn is_method_alone(begun: &str, entry_point: &str) -> bool {
    let is_alone = source::with_module(&with_body(begun), |module| {
        let class = source::class(&module.body, entry_point.split_once('.')?.0)?;
        let method = source::definition(&module.body, entry_point)?;
        Some(source::is_first(&module.body, class) && source::is_first(&class.body, method))
    });
    is_alone.ok().flatten().unwrap_or(false)
}

/// Code from its first line that is neither empty nor a comment.
pub(super) fn without_words_before(code: &str) -> &str {
    let is_word = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    &code[code.split_inclusive('\n').take_while(is_word).map(str::len).sum()..]
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

/// The beginning that a solution gives a program with the method of `Class.method`: its own text where it begins with these two, and
/// says nothing beside. Of another there are only names and literals, because what stands before them may define the rest.
pub(super) fn of_solution(solution: &str, entry_point: &str) -> Option<String> {
    let (class_name, name) = entry_point.split_once('.')?;
    let begun = source::with_module(solution, |module| {
        let class = source::class(&module.body, class_name)?;
        let method = source::definition(&module.body, entry_point)?;
        let is_binding = |decorator: &&str| ["@staticmethod", "@classmethod"].contains(decorator);
        let decorators = || method.decorator_list.iter().map(|decorator| &solution[decorator.range().to_std_range()]);
        let own = &solution[class.start().to_usize()..source::end_of_header(solution, method)?];
        // A comment may give the answer away.
        let is_bare = !own.contains('#') && decorators().all(|decorator| is_binding(&decorator));
        if is_bare && source::is_first(&module.body, class) && source::is_first(&class.body, method) {
            return Some(own.to_owned());
        }
        let bound: String = decorators().filter(is_binding).map(|decorator| format!("    {decorator}\n")).collect();
        let parameters = source::parameters_of(solution, &method.parameters, false);
        let define = if method.is_async { "async def" } else { "def" };
        Some(format!("class {class_name}:\n{bound}    {define} {name}({parameters}):"))
    });
    begun.ok().flatten()
}

fn with_body(begun: &str) -> String {
    format!("{begun} pass")
}
