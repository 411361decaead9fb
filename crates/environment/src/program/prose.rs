//! Lines of words before a program that stands in no fence.

/// Words that stand beside others in Python too.
const KEYWORDS: [&str; 40] = [
    "and", "as", "assert", "async", "await", "break", "case", "class", "continue", "def", "del", "elif", "else",
    "except", "exec", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "match", "nonlocal",
    "not", "or", "pass", "print", "raise", "return", "try", "type", "while", "with", "yield", "none", "true", "false",
];

/// Bytes of the lines of words, of tags (`<answer>`) and without anything that a text begins with.
pub(super) fn length(text: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        let words = line.trim();
        if !(words.is_empty() || is_tag(words) || is_heading(words) || is_sentence(words)) {
            break;
        }
        length += line.len();
    }
    length
}

fn is_tag(line: &str) -> bool {
    let name = line.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || ['_', '-', '/'].contains(&c))
    })
}

/// A word with a colon that begins no statement: `Solution:`.
fn is_heading(line: &str) -> bool {
    let word = line.trim_matches(['*', '#', ' ']).strip_suffix(':').unwrap_or_default();
    !word.is_empty() && word.chars().all(char::is_alphabetic) && !is_keyword(word)
}

/// Words with a capital at their beginning and two that stand side by side, as no names do in Python; and nothing that assigns
/// or quotes, so that a mistake in a program does not make words of its line.
fn is_sentence(line: &str) -> bool {
    let starts = line.trim_start_matches(['*', '#', '-', ' ']).starts_with(char::is_uppercase);
    let is_plain = |word: &&str| word.chars().all(|c| c.is_alphabetic() || c == '\'');
    let words: Vec<&str> = line.split(' ').map(|word| word.trim_end_matches(['.', ',', ':', '!'])).collect();
    let beside = |pair: &[&str]| pair.iter().all(|word| !word.is_empty() && is_plain(word) && !is_keyword(word));
    starts && !line.contains(['=', '"']) && words.windows(2).any(beside)
}

fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_where_a_program_begins() {
        for words in [
            "Here is the code:\n\n",
            "Sure! Here's the solution (it reads from input):\n",
            "The program:\n",
            "Solution:\n",
            "**Answer:**\n",
            "<answer>\n",
            "First we read the numbers.\nThen we print their sum:\n\n",
            "",
        ] {
            for program in
                ["n = int(input())\n", "import sys\n", "print(int(input()))\n", "for i in range(int(input())):\n"]
            {
                assert_eq!(length(&format!("{words}{program}")), words.len(), "{words}{program}");
            }
        }
    }

    #[test]
    fn a_line_with_a_mistake_is_no_line_of_words() {
        for line in [
            "n = int input())", "for i n range(n):", "print hello world", "For i in range(n):", "else:", "Else:",
            "Try:", "while true do", "If n > 3 then:", "x: int", "print \"Hello big world\"", "class My Class:",
            "def my func():", "import os sys", "Print(n)", "n int",
        ] {
            assert_eq!(length(line), 0, "{line}");
        }
    }
}
