//! Words of commands that are printed to be copied.

use std::fmt::Display;

/// Words that commands take for something else than a path: the newest run, and the model of the program.
const WORDS: [&str; 2] = ["latest", "builtin"];

/// A word as a POSIX shell reads it: in quotes if it has blanks or characters that mean something to a shell.
pub fn quoted(word: impl Display) -> String {
    let word = word.to_string();
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-./:=,@%+".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word,
        // Nothing ends a quoted piece but a quote, which stands outside of quotes with a backslash.
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The path of a file or a directory as the commands of this program read it: behind `./` if it would be read as a flag, or as a
/// word for something else.
pub fn path(path: impl Display) -> String {
    let path = path.to_string();
    let is_other = path.starts_with('-') || WORDS.contains(&path.as_str());
    quoted(if is_other { format!("./{path}") } else { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_no_flag_and_no_word_for_something_else() {
        for plain in ["runs/train-001", "./latest", "latest/checkpoint-2", "/latest", "."] {
            assert_eq!(path(plain), plain);
        }
        let named = [("-dash", "./-dash"), ("-", "./-"), ("latest", "./latest"), ("--my run", "'./--my run'")];
        for (found, expected) in named {
            assert_eq!(path(found), expected);
        }
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_read_others() {
        for word in ["runs/train-001", "owner/Name-0.5B", "gpt.Q4_1.gguf", "--set", "model.adapter=a,b", "größe"] {
            assert_eq!(quoted(word), word);
        }
        let quotes =
            [("my run", "'my run'"), ("", "''"), ("a'b", r"'a'\''b'"), ("~/run", "'~/run'"), ("$HOME", "'$HOME'")];
        for (word, expected) in quotes {
            assert_eq!(quoted(word), expected);
        }
        for special in "*?[]{}()<>|&;!#`\"\\\t\n^".chars() {
            assert_eq!(quoted(format_args!("a{special}b")), format!("'a{special}b'"));
        }
    }
}
