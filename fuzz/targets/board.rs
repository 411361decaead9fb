//! Cells that make a board come back as they were; no push changes the sum of the tiles; any log of moves replays or is
//! refused.

#![no_main]

use grpo_base::seed::Seed;
use grpo_environment::game2048::{Board, Move, replay};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: ([[u32; 4]; 4], [[u8; 4]; 4], u64, &str)| {
    let (any_cells, exponents, root, letters) = input;
    // Few of all cells are tiles; the exponents reach the boards that any cells do not.
    let near = exponents.map(|row| row.map(|exponent| if exponent % 19 == 0 { 0 } else { 1 << (exponent % 19) }));
    for cells in [any_cells, near] {
        let Some(board) = Board::from_cells(&cells) else { continue };
        assert_eq!(board.cells(), cells);
        let sum = |board: Board| board.cells().as_flattened().iter().map(|&tile| u64::from(tile)).sum::<u64>();
        for direction in Move::ALL {
            let (pushed, _) = board.slide(direction);
            assert_eq!(sum(pushed), sum(board));
            assert_eq!(pushed != board, board.is_legal(direction));
        }
    }
    let _ = Move::from_text(letters);
    let _ = replay(Seed::root(root), letters);
});
