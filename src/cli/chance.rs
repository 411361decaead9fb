//! Chance from the operating system, for what nobody may know beforehand. What is drawn is told, and repeats from there.

use super::CliError;

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
