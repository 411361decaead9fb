//! Random seeds: one root seed, split by purpose.
//!
//! Takes the user's number; gives every consumer of random numbers its own stream. A child depends on its path alone
//! (root, purpose, index, ...), never on how many numbers others have drawn, so that a resumed run draws the same
//! numbers as an unbroken one. Does not know clocks, threads or what the numbers are for.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

/// Purposes of random streams. The discriminant is part of every derived seed: append, never renumber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Initial weights, including adapters.
    Init = 1,
    /// Which prompts a step draws.
    Prompt = 2,
    /// Tokens of a completion.
    Sample = 3,
    /// Boards that the completions of a group play.
    Game = 4,
    /// Held-out boards; never a child of a training step.
    HeldOut = 5,
    /// Programs of the supervised corpus.
    Corpus = 6,
    /// Order of training examples.
    Shuffle = 7,
    /// One step of the loop.
    Step = 8,
    /// Completions sampled for an evaluation.
    Evaluation = 9,
    /// Which inputs of adapters an update drops.
    Dropout = 10,
    /// Choices of the native baselines.
    Baseline = 11,
    /// Boards of the reward check before a run.
    Preflight = 12,
    /// Random numbers of the rules of a game that is a file of Python.
    Script = 13,
    /// Random numbers of a program in each of its games; derived from [`Seed::of_program`].
    Player = 14,
    /// Which elites a step imitates.
    Elite = 20,
    /// Sampling tied groups again.
    Resample = 21,
    /// Order of rewards in a control.
    Control = 22,
    /// Tokens of a later turn of a conversation.
    Turn = 23,
    /// What the hidden tests of a honeypot expect.
    Honeypot = 24,
    /// A round of a search at test time; number 0: its boards.
    Evolution = 25,
}

/// A 64-bit seed.
///
/// In JSON it is a string of 16 hexadecimal digits, because many readers round numbers of 64 bits. A number is read
/// too, as earlier versions wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "Written")]
pub struct Seed(u64);

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(u64),
    Hex(String),
}

impl From<Seed> for String {
    fn from(seed: Seed) -> String {
        seed.to_string()
    }
}

impl TryFrom<Written> for Seed {
    type Error = std::num::ParseIntError;

    fn try_from(written: Written) -> Result<Seed, Self::Error> {
        Ok(Seed(match written {
            Written::Number(number) => number,
            Written::Hex(digits) => u64::from_str_radix(&digits, 16)?,
        }))
    }
}

impl Seed {
    /// The seed that a user chose.
    pub fn root(value: u64) -> Self {
        Seed(value)
    }

    /// The seed of a program's own random numbers. It depends on the program's text only: a program that knew the seed
    /// of its board could predict every tile.
    pub fn of_program(source: &str) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("grpo-2048 seed of a program v1");
        hasher.update(source.as_bytes());
        Seed::of(&hasher)
    }

    /// The seed mixed with a salt. Without knowing the salt nobody can derive it, so a program that knows all usual
    /// seeds knows none of the salted ones. An empty salt changes nothing.
    pub fn salted(self, salt: &str) -> Self {
        if salt.is_empty() {
            return self;
        }
        let mut hasher = blake3::Hasher::new_derive_key("grpo-2048 salted boards v1");
        hasher.update(&self.0.to_le_bytes());
        hasher.update(salt.as_bytes());
        Seed::of(&hasher)
    }

    /// Seeds of games for programs that are scored outside a run, under a root that the user chose.
    pub fn games(self, count: usize) -> Vec<Seed> {
        (0..count as u64).map(|game| self.child(Purpose::Game, game)).collect()
    }

    /// The `index`-th stream for `purpose`, derived from this seed.
    pub fn child(self, purpose: Purpose, index: u64) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("grpo-2048 seed v1");
        hasher.update(&self.0.to_le_bytes());
        hasher.update(&(purpose as u64).to_le_bytes());
        hasher.update(&index.to_le_bytes());
        Seed::of(&hasher)
    }

    fn of(hasher: &blake3::Hasher) -> Self {
        let mut bytes = [0; 8];
        hasher.finalize_xof().fill(&mut bytes);
        Seed(u64::from_le_bytes(bytes))
    }

    /// The number, for consumers that seed themselves.
    pub fn get(self) -> u64 {
        self.0
    }

    /// A generator at the start of this stream.
    pub fn rng(self) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(self.0)
    }
}

impl std::fmt::Display for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_salt_gives_other_boards_and_none_the_same() {
        let root = Seed::root(0);
        assert_eq!(root.salted(""), root);
        let [one, other] = ["0", "1"].map(|digit| root.salted(&digit.repeat(32)));
        assert!(one != root && one != other && one == root.salted(&"0".repeat(32)));
    }

    #[test]
    fn a_seed_keeps_all_its_bits_in_json_and_numbers_are_read() {
        let seed = Seed::root(u64::MAX - 1);
        let text = serde_json::to_string(&seed).unwrap();
        assert_eq!(text, "\"fffffffffffffffe\"");
        for written in [text.as_str(), "18446744073709551614"] {
            assert_eq!(serde_json::from_str::<Seed>(written).unwrap(), seed);
        }
        assert!(serde_json::from_str::<Seed>("\"seven\"").is_err());
    }

    #[test]
    fn children_differ_by_purpose_and_index_and_do_not_move() {
        let root = Seed::root(7);
        let mut seen = std::collections::BTreeSet::new();
        for purpose in [Purpose::Init, Purpose::Game, Purpose::HeldOut, Purpose::Step] {
            for index in 0..100 {
                assert!(seen.insert(root.child(purpose, index)));
                assert_eq!(root.child(purpose, index), root.child(purpose, index));
            }
        }
    }
}
