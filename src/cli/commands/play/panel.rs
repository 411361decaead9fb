//! Games on the screen: one panel a program, beside each other where there is room.

use console::{measure_text_width, truncate_str};

use super::Contestant;
use crate::environment::game2048::{Game, Move};
use crate::metrics::{Stream, TileSize, board_lines};

/// Blank columns between panels.
const GAP: usize = 4;
/// Lines of a panel besides its board: file, move and score, ending.
const TEXT_LINES: usize = 3;

/// How panels lie on a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// How large a tile is drawn.
    pub size: TileSize,
    /// Whether panels lie beside each other; below each other otherwise.
    pub beside: bool,
}

impl Layout {
    /// For printing without a terminal.
    pub const PLAIN: Layout = Layout { size: TileSize::Small, beside: false };

    /// The largest that fits `count` panels, with a line left for the cursor; `None` on a screen too small for any.
    pub fn fit(count: usize, columns: usize, rows: usize) -> Option<Layout> {
        let layouts = [(TileSize::Large, true), (TileSize::Small, true), (TileSize::Small, false)];
        layouts.map(|(size, beside)| Layout { size, beside }).into_iter().find(|layout| {
            let (across, down) = if layout.beside { (count, 1) } else { (1, count) };
            let width = across * layout.size.board_columns() + (across - 1) * GAP;
            width <= columns && layout.lines(down) < rows
        })
    }

    fn lines(&self, down: usize) -> usize {
        down * (TEXT_LINES + self.size.board_lines())
    }
}

/// One program's game, replayed move by move.
pub struct Panel<'a> {
    contestant: &'a Contestant,
    game: Option<Game>,
    moves: std::str::Chars<'a>,
    move_number: usize,
    last: char,
}

impl<'a> Panel<'a> {
    /// Shows the first board, or no board where no game was played.
    pub fn new(contestant: &'a Contestant) -> Panel<'a> {
        let outcome = contestant.played.as_ref().ok();
        Panel {
            contestant,
            game: outcome.and_then(|outcome| outcome.seed()).map(Game::new),
            moves: outcome.map_or("", |outcome| outcome.moves_text()).chars(),
            move_number: 0,
            last: ' ',
        }
    }

    /// Plays the next recorded move; false when there is none.
    pub fn step(&mut self) -> bool {
        for letter in self.moves.by_ref() {
            // The last recorded choice may be no move; the game's ending says so.
            let Some(direction) = Move::from_text(letter.encode_utf8(&mut [0; 4])) else { continue };
            // A choice without effect is none of the moves that the result counts.
            self.move_number += usize::from(self.game.as_mut().is_some_and(|game| game.play(direction)));
            self.last = letter;
            return true;
        }
        false
    }

    fn finished(&self) -> bool {
        self.moves.as_str().is_empty()
    }

    /// Lines of exactly the width of the board.
    fn lines(&self, size: TileSize) -> Vec<String> {
        let width = size.board_columns();
        let name = Stream::Stdout.style().bold().apply_to(ending(&self.contestant.name, width)).to_string();
        let mut lines = vec![fitted(&name, width)];
        match &self.game {
            Some(game) => {
                let moved = format!("move {:>4} {}", self.move_number, self.last);
                lines.push(fitted(&format!("{moved}  score {:>6}", game.score()), width));
                lines.extend(board_lines(&game.board().cells(), Stream::Stdout, size).lines().map(str::to_owned));
            }
            None => lines.extend(vec![" ".repeat(width); 1 + size.board_lines()]),
        }
        let closing = if self.finished() { self.contestant.closing() } else { String::new() };
        lines.push(fitted(&closing, width));
        lines
    }
}

/// All panels as text, always with the same number of lines.
pub fn frame(panels: &[Panel<'_>], layout: Layout) -> String {
    let columns: Vec<Vec<String>> = panels.iter().map(|panel| panel.lines(layout.size)).collect();
    if !layout.beside {
        return columns.concat().into_iter().map(|line| line + "\n").collect();
    }
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let row = |row: usize| {
        let cells: Vec<&str> = columns.iter().map(|lines| lines[row].as_str()).collect();
        cells.join(&" ".repeat(GAP)) + "\n"
    };
    (0..rows).map(row).collect()
}

/// The last `width` columns of a path: its directories say less than its name.
fn ending(path: &str, width: usize) -> String {
    if measure_text_width(path) <= width {
        return path.to_owned();
    }
    let mut rest = path.chars();
    while measure_text_width(rest.as_str()) + 3 > width && rest.next().is_some() {}
    format!("...{}", rest.as_str())
}

/// The text in exactly `width` columns.
fn fitted(text: &str, width: usize) -> String {
    let text = truncate_str(text, width, "...");
    let blank = width.saturating_sub(measure_text_width(&text));
    format!("{text}{}", " ".repeat(blank))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Outcome;
    use crate::environment::game2048::{Baseline, GameLimits, play};
    use crate::seed::Seed;

    fn outcome(baseline: Baseline) -> Outcome {
        let seed = Seed::root(7);
        let Ok(outcome) = play(&mut baseline.player(seed), seed, &GameLimits { freeze_after: 4, moves_max: 10_000 });
        outcome
    }

    fn contestants() -> [Contestant; 2] {
        let played = Contestant { name: "greedy.py".into(), played: Ok(outcome(Baseline::Greedy)), budget_fuel: 1e9 };
        let name = "a/very/long/path/to/a/program/that/is/broken.py".into();
        let broken = Contestant { name, played: Err("rejected: no function".into()), budget_fuel: 1e9 };
        [played, broken]
    }

    #[test]
    fn two_panels_lie_beside_each_other_where_they_fit() {
        let layout = |columns, rows| Layout::fit(2, columns, rows).map(|layout| (layout.size, layout.beside));
        assert_eq!(layout(200, 50), Some((TileSize::Large, true)));
        assert_eq!(layout(200, 12), Some((TileSize::Small, true)));
        assert_eq!(layout(80, 24), Some((TileSize::Large, true)));
        assert_eq!(layout(75, 24), Some((TileSize::Small, true)));
        assert_eq!(layout(59, 24), Some((TileSize::Small, false)));
        assert_eq!(layout(20, 24), None);
        assert_eq!(layout(80, 5), None);
        assert_eq!(Layout::fit(1, 80, 24), Some(Layout { size: TileSize::Large, beside: true }));
    }

    #[test]
    fn the_last_move_has_the_number_of_moves_that_the_result_tells() {
        let played = Contestant { name: "cycle.py".into(), played: Ok(outcome(Baseline::Cycle)), budget_fuel: 1e9 };
        let mut panel = Panel::new(&played);
        while panel.step() {}
        let outcome = played.played.as_ref().unwrap();
        assert!(outcome.moves_text().len() > outcome.moves() as usize, "choices without effect are replayed");
        assert_eq!(panel.move_number, outcome.moves() as usize);
    }

    #[test]
    fn every_frame_has_the_same_shape_and_the_last_shows_the_end() {
        let contestants = contestants();
        let expected = contestants[0].played.as_ref().unwrap();
        for layout in [Layout { size: TileSize::Large, beside: true }, Layout::PLAIN] {
            let mut panels: Vec<Panel<'_>> = contestants.iter().map(Panel::new).collect();
            let shape = |text: &str| text.lines().map(measure_text_width).collect::<Vec<_>>();
            let first = shape(&frame(&panels, layout));
            assert!(first.iter().all(|width| *width == first[0]), "{first:?}");
            assert!(!frame(&panels, layout).contains("game_over"));
            while panels[0].step() {
                assert_eq!(shape(&frame(&panels, layout)), first);
            }
            let last = frame(&panels, layout);
            for words in [format!("score {:>6}", expected.score), expected.max_tile().to_string(), "game_over".into()] {
                assert!(last.contains(&words), "{words} in {last}");
            }
            assert!(last.contains("rejected: no function") && last.contains("is/broken.py"), "{last}");
        }
    }
}
