//! Boards that are drawn from the operating system's random numbers, so that no program can know them beforehand. The
//! salt that was drawn is printed or recorded, and gives the same boards again.

use crate::cli::said::CliError;
use crate::config::Layers;
use crate::metrics::Console;

/// Settings that fix the boards; where none of them is given, boards are drawn.
pub const BOARD_KEYS: [&str; 2] = ["train.seed", "train.board_salt"];
/// Origin of a salt that was drawn.
pub const DRAWN: &str = "drawn for this run";

/// Says so where the boards of a run were drawn.
pub fn tell(layers: &Layers, console: &Console) {
    if layers.origin("train.board_salt") == Some(DRAWN) {
        console.print("boards: drawn for this run (its config.toml repeats them; --seed N has fixed ones)");
    }
}

/// A salt for the boards of a run: 128 bits in hexadecimal digits.
pub fn board_salt() -> Result<String, CliError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(CliError::run)?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}

/// Which boards programs are measured on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Boards {
    /// The fixed list of boards, on which published figures are compared.
    Published,
    /// Boards that are drawn anew.
    Drawn,
    /// Boards that were drawn before, by their salt.
    Again(String),
}

impl Boards {
    /// Reads the value of `--boards`.
    pub fn parse(text: &str) -> Result<Boards, String> {
        match text {
            "published" => Ok(Boards::Published),
            "drawn" => Ok(Boards::Drawn),
            salt if salt.len() == 32 && salt.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
                // As it stands in `train.board_salt`: the boards follow from its letters, and a run may have capital ones.
                Ok(Boards::Again(salt.to_owned()))
            }
            _ => {
                Err("expected \"published\", \"drawn\", or the 32 hexadecimal digits of boards that were drawn".into())
            }
        }
    }

    /// The salt of the boards, empty for published ones.
    pub fn salt(&self) -> Result<String, CliError> {
        match self {
            Boards::Published => Ok(String::new()),
            Boards::Again(salt) => Ok(salt.clone()),
            Boards::Drawn => board_salt(),
        }
    }

    /// Says how the boards are had again, where they were drawn with this salt. A command says so once it has not refused its
    /// input: there is nothing to repeat before.
    pub fn tell(&self, salt: &str, console: &Console) {
        if *self == Boards::Drawn {
            console.print(&format!("boards: drawn now (--boards {salt} repeats them)"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_are_named_by_a_word_or_by_all_their_digits() {
        let salt = board_salt().unwrap();
        assert_eq!(Boards::parse(&salt), Ok(Boards::Again(salt)));
        assert_eq!(["published", "drawn"].map(Boards::parse), [Ok(Boards::Published), Ok(Boards::Drawn)]);
        let of_a_run = "0123456789ABCDEF0123456789ABCDEF";
        assert_eq!(Boards::parse(of_a_run), Ok(Boards::Again(of_a_run.into())), "as the run has it");
        for wrong in ["", "known", "0123", &"g".repeat(32), &"0".repeat(33)] {
            assert!(Boards::parse(wrong).unwrap_err().contains("32 hexadecimal digits"), "{wrong}");
        }
    }
}
