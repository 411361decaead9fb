//! The board of 2048, and its four moves.
//!
//! Takes a board and a move; gives the moved board and the points of its merges. Knows neither random tiles nor the
//! score of a game.

use std::fmt;
use std::sync::LazyLock;

/// One of the four moves, named by its key.
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
    /// All moves, in the order of the letters on a keyboard.
    pub const ALL: [Move; 4] = [Move::W, Move::A, Move::S, Move::D];

    /// The move of a single upper-case letter; `None` for any other text.
    pub fn from_text(text: &str) -> Option<Move> {
        Move::ALL.into_iter().find(|direction| text.len() == 1 && text.starts_with(direction.letter()))
    }

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
/// Cells are numbered row by row. Four bits per cell hold the exponent of its tile, 0 for an empty cell, so that a
/// line of four cells is an index into a table. The two largest possible tiles, 65536 and 131072, need a fifth bit. It
/// is stored separately, and boards on which it is set are moved cell by cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Board {
    /// The lower four bits of each exponent, the first cell in the lowest bits.
    low: u64,
    /// The fifth bit of each exponent, the first cell in the lowest bit.
    fifth: u16,
}

impl Board {
    /// The board with these tile values, 0 for empty cells; `None` if a value is not a tile.
    pub fn from_cells(cells: &[[u32; 4]; 4]) -> Option<Board> {
        let mut exponents = [0; 16];
        for (exponent, &value) in exponents.iter_mut().zip(cells.as_flattened()) {
            *exponent = match value {
                0 => 0,
                value if value.is_power_of_two() && (2..=1 << 17).contains(&value) => value.ilog2() as u8,
                _ => return None,
            };
        }
        Some(Board::from_exponents(exponents))
    }

    /// Tile values, 0 for empty cells.
    pub fn cells(self) -> [[u32; 4]; 4] {
        let exponents = self.exponents();
        std::array::from_fn(|row| std::array::from_fn(|column| tile(exponents[4 * row + column])))
    }

    /// The largest tile; 0 on an empty board.
    pub fn max_tile(self) -> u32 {
        self.exponents().into_iter().max().map_or(0, tile)
    }

    pub fn empty_cells(self) -> u32 {
        self.empty().count_ones()
    }

    /// The board after a move, before the new tile, and the sum of the merged tiles.
    pub fn slide(self, direction: Move) -> (Board, u32) {
        if self.fifth == 0 {
            let tables = &*TABLES;
            let (low, gain) = match direction {
                Move::A => slide_rows(self.low, &tables.to_first),
                Move::D => slide_rows(self.low, &tables.to_last),
                Move::W => slide_columns(self.low, &tables.to_first),
                Move::S => slide_columns(self.low, &tables.to_last),
            };
            if gain < FIFTH_BIT_GAIN {
                return (Board { low, fifth: 0 }, gain);
            }
        }
        self.slide_cells(direction)
    }

    /// Whether the move changes anything.
    pub fn is_legal(self, direction: Move) -> bool {
        self.slide(direction).0 != self
    }

    pub fn legal_moves(self) -> impl Iterator<Item = Move> {
        Move::ALL.into_iter().filter(move |&direction| self.is_legal(direction))
    }

    /// Whether no move changes anything: no cell is empty, and no neighbours are equal.
    pub fn is_stuck(self) -> bool {
        self.empty() == 0 && self.equal_pairs(1) & HAS_RIGHT == 0 && self.equal_pairs(4) & HAS_BELOW == 0
    }

    /// The same board with a tile of `2^exponent` in the `nth` empty cell, counted row by row.
    pub(super) fn with_tile(self, nth: u32, exponent: u8) -> Board {
        let mut empty = self.empty();
        for _ in 0..nth {
            empty &= empty.wrapping_sub(1);
        }
        assert!(empty != 0, "fewer empty cells than asked for");
        Board { low: self.low | u64::from(exponent) << empty.trailing_zeros(), fifth: self.fifth }
    }

    fn from_exponents(exponents: [u8; 16]) -> Board {
        let mut board = Board::default();
        for (cell, exponent) in exponents.into_iter().enumerate() {
            board.low |= u64::from(exponent & 15) << (4 * cell);
            board.fifth |= u16::from(exponent >> 4) << cell;
        }
        board
    }

    fn exponents(self) -> [u8; 16] {
        std::array::from_fn(|cell| (self.low >> (4 * cell) & 15) as u8 | ((self.fifth >> cell & 1) << 4) as u8)
    }

    /// A word in which the lowest of a cell's four bits is set if the cell is empty.
    fn empty(self) -> u64 {
        let empty = zero_cells(self.low);
        if self.fifth == 0 { empty } else { empty & spread(!u64::from(self.fifth)) }
    }

    /// A word in which the lowest of a cell's four bits is set if the cell equals the one `apart` places further on.
    fn equal_pairs(self, apart: u32) -> u64 {
        let equal = zero_cells(self.low ^ self.low >> (4 * apart));
        if self.fifth == 0 { equal } else { equal & spread(!u64::from(self.fifth ^ self.fifth >> apart)) }
    }

    /// Moves cell by cell, without tables, for tiles of any size.
    fn slide_cells(self, direction: Move) -> (Board, u32) {
        let (mut exponents, mut gain) = (self.exponents(), 0);
        for line in 0..4 {
            let cells: [usize; 4] = std::array::from_fn(|place| match direction {
                Move::A => 4 * line + place,
                Move::D => 4 * line + 3 - place,
                Move::W => 4 * place + line,
                Move::S => 4 * (3 - place) + line,
            });
            let (pushed, line_gain) = push_line(cells.map(|cell| exponents[cell]));
            for (cell, exponent) in cells.into_iter().zip(pushed) {
                exponents[cell] = exponent;
            }
            gain += line_gain;
        }
        (Board::from_exponents(exponents), gain)
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

/// The lowest of each cell's four bits.
const ONES: u64 = 0x1111_1111_1111_1111;
/// These bits of the cells that have a neighbour to the right.
const HAS_RIGHT: u64 = 0x0111_0111_0111_0111;
/// These bits of the cells that have a neighbour below.
const HAS_BELOW: u64 = 0x0000_1111_1111_1111;
/// Smallest gain of a move that makes a tile with a fifth bit.
const FIFTH_BIT_GAIN: u32 = 1 << 16;

/// A word in which the lowest of a cell's four bits is set if all four are zero.
fn zero_cells(low: u64) -> u64 {
    let some = low | low >> 2;
    !(some | some >> 1) & ONES
}

/// Moves bit i of the argument to the lowest bit of cell i.
fn spread(bits: u64) -> u64 {
    (0..16).fold(0, |spread, cell| spread | (bits >> cell & 1) << (4 * cell))
}

/// Exchanges rows and columns.
fn transpose(low: u64) -> u64 {
    // Cells are exchanged within each 2x2 block, then the blocks are.
    let within =
        low & 0xf0f0_0f0f_f0f0_0f0f | (low & 0x0000_f0f0_0000_f0f0) << 12 | (low & 0x0f0f_0000_0f0f_0000) >> 12;
    within & 0xff00_ff00_00ff_00ff | (within & 0x0000_0000_ff00_ff00) << 24 | (within & 0x00ff_00ff_0000_0000) >> 24
}

/// Looks each row up. The sum of the gains is right even if the moved line does not fit into four bits per cell.
fn slide_rows(low: u64, lines: &[Line; 1 << 16]) -> (u64, u32) {
    let row = |shift: u32| lines[usize::from((low >> shift) as u16)];
    let rows = [row(0), row(16), row(32), row(48)];
    let pushed = rows.iter().rev().fold(0, |pushed, line| pushed << 16 | u64::from(line.pushed));
    (pushed, 4 * rows.iter().map(|line| u32::from(line.gain_in_fours)).sum::<u32>())
}

fn slide_columns(low: u64, lines: &[Line; 1 << 16]) -> (u64, u32) {
    let (low, gain) = slide_rows(transpose(low), lines);
    (transpose(low), gain)
}

/// The result of moving one line.
#[derive(Clone, Copy)]
struct Line {
    /// Four bits per cell; not valid if the gain shows that a cell needs five.
    pushed: u16,
    /// Gain divided by 4, because every merged tile is a multiple of 4.
    gain_in_fours: u16,
}

struct Tables {
    to_first: Box<[Line; 1 << 16]>,
    to_last: Box<[Line; 1 << 16]>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let in_order = |cells: [u8; 4]| cells;
    let reversed = |[a, b, c, d]: [u8; 4]| [d, c, b, a];
    Tables { to_first: table(in_order), to_last: table(reversed) }
});

/// Moves every line towards its first cell as seen through `view`, which is its own inverse.
fn table(view: impl Fn([u8; 4]) -> [u8; 4]) -> Box<[Line; 1 << 16]> {
    let line = |packed: u16| {
        let (pushed, gain) = push_line(view(std::array::from_fn(|cell| (packed >> (4 * cell) & 15) as u8)));
        let pushed = view(pushed).iter().rev().fold(0, |line, exponent| line << 4 | u16::from(exponent & 15));
        Line { pushed, gain_in_fours: (gain / 4) as u16 }
    };
    let lines: Box<[Line]> = (0..=u16::MAX).map(line).collect();
    lines.try_into().unwrap_or_else(|_| unreachable!("one line for every u16"))
}

/// Moves one line towards its first cell: tiles close up, and equal neighbours merge once, those nearest to that cell
/// first.
fn push_line(line: [u8; 4]) -> ([u8; 4], u32) {
    let (mut pushed, mut gain, mut filled) = ([0; 4], 0, 0);
    let mut may_merge = false;
    for exponent in line {
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
    (pushed, gain)
}
