//! Sixteen cells and the four ways to push them.
//!
//! Takes a board and a move; gives the pushed board and what the merges are worth. Knows no chance and no score so far.

use std::fmt;
use std::sync::LazyLock;

/// One of the four pushes, by the key that players use for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Move {
    /// Up.
    W,
    /// Left.
    A,
    /// Down.
    S,
    /// Right.
    D,
}

impl Move {
    /// All four, in the order of the letters on a keyboard.
    pub const ALL: [Move; 4] = [Move::W, Move::A, Move::S, Move::D];

    /// The move of exactly one letter; nothing else names a move.
    pub fn from_text(text: &str) -> Option<Move> {
        match text {
            "W" => Some(Move::W),
            "A" => Some(Move::A),
            "S" => Some(Move::S),
            "D" => Some(Move::D),
            _ => None,
        }
    }

    /// The letter.
    pub fn letter(self) -> char {
        match self {
            Move::W => 'W',
            Move::A => 'A',
            Move::S => 'S',
            Move::D => 'D',
        }
    }
}

/// A 4x4 board.
///
/// One byte a cell, row after row, the first cell lowest: 0 is empty, `n` is the tile `2^n`. A byte holds more than the
/// largest tile that sixteen cells allow (131072), so the rules of merging hold without an exception at any size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Board(u128);

impl Board {
    /// The board of these tile values, 0 for empty; `None` when a value is no tile.
    pub fn from_cells(cells: &[[u32; 4]; 4]) -> Option<Board> {
        let mut bytes = [0; 16];
        for (byte, &value) in bytes.iter_mut().zip(cells.as_flattened()) {
            *byte = match value {
                0 => 0,
                value if value.is_power_of_two() && (2..=1 << 17).contains(&value) => value.ilog2() as u8,
                _ => return None,
            };
        }
        Some(Board(u128::from_le_bytes(bytes)))
    }

    /// Tile values, 0 for empty.
    pub fn cells(self) -> [[u32; 4]; 4] {
        let bytes = self.0.to_le_bytes();
        std::array::from_fn(|row| std::array::from_fn(|column| tile(bytes[4 * row + column])))
    }

    /// The largest tile; 0 on an empty board.
    pub fn max_tile(self) -> u32 {
        self.0.to_le_bytes().into_iter().max().map_or(0, tile)
    }

    /// Number of empty cells.
    pub fn empty_cells(self) -> u32 {
        self.0.to_le_bytes().into_iter().filter(|&exponent| exponent == 0).count() as u32
    }

    /// The board after a push, before any new tile, and the sum of the tiles that merges made.
    pub fn slide(self, direction: Move) -> (Board, u32) {
        match direction {
            Move::A => self.slide_rows(|row| row),
            Move::D => self.slide_rows(u32::swap_bytes),
            Move::W => {
                let (turned, gain) = self.transpose().slide_rows(|row| row);
                (turned.transpose(), gain)
            }
            Move::S => {
                let (turned, gain) = self.transpose().slide_rows(u32::swap_bytes);
                (turned.transpose(), gain)
            }
        }
    }

    /// Whether the push changes anything.
    pub fn is_legal(self, direction: Move) -> bool {
        self.slide(direction).0 != self
    }

    /// The moves that change something.
    pub fn legal_moves(self) -> impl Iterator<Item = Move> {
        Move::ALL.into_iter().filter(move |&direction| self.is_legal(direction))
    }

    /// Whether no push changes anything.
    pub fn is_stuck(self) -> bool {
        self.legal_moves().next().is_none()
    }

    /// The same board with a tile of `2^exponent` in the `nth` empty cell, counted row after row.
    pub(super) fn with_tile(self, nth: u32, exponent: u8) -> Board {
        let mut bytes = self.0.to_le_bytes();
        let empty = bytes.iter_mut().filter(|exponent| **exponent == 0).nth(nth as usize);
        *empty.expect("fewer empty cells than asked for") = exponent;
        Board(u128::from_le_bytes(bytes))
    }

    /// Pushes each row to its first cell as `view` sees it; `view` is its own inverse.
    fn slide_rows(self, view: impl Fn(u32) -> u32) -> (Board, u32) {
        let lines = &**LINES;
        let (mut pushed, mut gain) = (0, 0);
        for shift in [0, 32, 64, 96] {
            let line = lookup(lines, view((self.0 >> shift) as u32));
            pushed |= u128::from(view(line.pushed)) << shift;
            gain += line.gain;
        }
        (Board(pushed), gain)
    }

    fn transpose(self) -> Board {
        let bytes = self.0.to_le_bytes();
        Board(u128::from_le_bytes(std::array::from_fn(|cell| bytes[4 * (cell % 4) + cell / 4])))
    }
}

impl fmt::Display for Board {
    /// Four lines of right-aligned tiles, a dot for an empty cell.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, row) in self.cells().iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            for value in row {
                match value {
                    0 => write!(f, "{:>7}", ".")?,
                    value => write!(f, "{value:>7}")?,
                }
            }
        }
        Ok(())
    }
}

fn tile(exponent: u8) -> u32 {
    if exponent == 0 { 0 } else { 1 << exponent }
}

#[derive(Clone, Copy, Default)]
struct Line {
    pushed: u32,
    gain: u32,
}

/// Pushed lines by four bits a cell: all lines without a tile above 32768.
static LINES: LazyLock<Box<[Line]>> = LazyLock::new(|| {
    let unpacked = |packed: u32| (0..4).fold(0, |line, cell| line | ((packed >> (4 * cell)) & 15) << (8 * cell));
    (0..1 << 16).map(|packed| push_line(unpacked(packed))).collect()
});

fn lookup(lines: &[Line], line: u32) -> Line {
    if line & 0xf0f0_f0f0 != 0 {
        return push_line(line);
    }
    let pairs = (line | line >> 4) & 0x00ff_00ff;
    lines[usize::from((pairs | pairs >> 8) as u16)]
}

/// Pushes one line to its first cell: tiles close up, and equal neighbours merge once, nearest to that cell first.
fn push_line(line: u32) -> Line {
    let (mut pushed, mut gain, mut filled) = ([0; 4], 0, 0);
    let mut may_merge = false;
    for exponent in line.to_le_bytes() {
        match exponent {
            0 => {}
            exponent if may_merge && pushed[filled - 1] == exponent => {
                pushed[filled - 1] += 1;
                gain += tile(exponent + 1);
                may_merge = false;
            }
            exponent => {
                pushed[filled] = exponent;
                filled += 1;
                may_merge = true;
            }
        }
    }
    Line { pushed: u32::from_le_bytes(pushed), gain }
}
