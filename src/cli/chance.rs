//! Chance from the operating system, for what nobody may know beforehand. What is drawn is told, and repeats from there.

use super::CliError;
use crate::config::Layers;
use crate::metrics::Console;

/// Who names one of these says which boards are played; otherwise they are drawn anew.
pub const BOARD_KEYS: [&str; 2] = ["train.seed", "train.board_salt"];
/// Where a salt comes from that nobody has named.
pub const DRAWN: &str = "drawn for this run";

/// Says that the boards of a run were drawn, if they were.
pub fn tell(layers: &Layers, console: &Console) {
    if layers.origin("train.board_salt") == Some(DRAWN) {
        let words = "boards that nobody knows: --config on the config.toml of this run plays them again";
        console.print(&format!("{words}, --seed 0 known ones"));
    }
}

/// A salt for the boards of a run: 128 bits in hexadecimal digits.
pub fn board_salt() -> Result<String, CliError> {
    Ok(format!("{:032x}", u128::from_le_bytes(drawn()?)))
}

/// A root for the boards of programs that are scored by themselves.
pub fn board_root() -> Result<u64, CliError> {
    Ok(u64::from_le_bytes(drawn()?))
}

fn drawn<const BYTES: usize>() -> Result<[u8; BYTES], CliError> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(CliError::run)?;
    Ok(bytes)
}
