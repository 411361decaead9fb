//! Text for a terminal: boards in tile colours, and source with line numbers.

use console::Style;

/// The stream that a text is written to, which decides whether it has colours (`NO_COLOR` and pipes are respected).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output, for results.
    Stdout,
    /// Standard error, for messages.
    Stderr,
}

impl Stream {
    /// A style that has an effect only if this stream shows colours.
    pub fn style(self) -> Style {
        match self {
            Stream::Stdout => Style::new().for_stdout(),
            Stream::Stderr => Style::new().for_stderr(),
        }
    }
}

/// The size of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TileSize {
    /// One line.
    Small,
    /// Three lines.
    Large,
}

impl TileSize {
    /// Width of a board, in characters.
    pub fn board_columns(self) -> usize {
        4 * self.size().0
    }

    /// Height of a board, in lines.
    pub fn board_lines(self) -> usize {
        4 * self.size().1
    }

    /// Its columns and lines.
    fn size(self) -> (usize, usize) {
        match self {
            TileSize::Small => (7, 1),
            TileSize::Large => (9, 3),
        }
    }
}

/// The rows of the board. Each line ends with a newline.
pub fn board_lines(board: &[[u32; 4]; 4], stream: Stream, size: TileSize) -> String {
    let (mut text, (columns, lines)) = (String::new(), size.size());
    for row in board {
        for line in 0..lines {
            for &tile in row {
                let (background, foreground) = tile_colours(tile);
                let label = match (line == lines / 2, tile) {
                    (false, _) => String::new(),
                    (true, 0) => ".".to_owned(),
                    (true, tile) => tile.to_string(),
                };
                let cell = format!("{label:^columns$}");
                text.push_str(&stream.style().on_color256(background).color256(foreground).apply_to(cell).to_string());
            }
            text.push('\n');
        }
    }
    text
}

/// `source` with a line number before each line, without characters that control the terminal. Each line ends with a
/// newline.
pub fn numbered(source: &str, stream: Stream) -> String {
    let dim = stream.style().dim();
    let shown = |line: &str| visible(&line.replace('\t', "    "));
    let lines = source.lines().zip(1..);
    lines.map(|(line, number)| format!("{} {}\n", dim.apply_to(format!("{number:>4} |")), shown(line))).collect()
}

/// Text from outside with [hidden](is_hidden) characters as escapes, so that it cannot control the terminal or look
/// like another text.
pub fn visible(text: &str) -> String {
    let shown = text.chars().map(|letter| match is_hidden(letter) {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    });
    shown.collect()
}

/// JSON as a part of a page, whose texts can neither end a script element nor look like other texts. serde_json has escaped control
/// characters.
pub fn in_page(json: &str) -> String {
    let mut shown = String::with_capacity(json.len() + json.len() / 16);
    for letter in json.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => shown.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter if is_hidden(letter) => shown.push_str(&format!("\\{}", letter.escape_default())),
            letter => shown.push(letter),
        }
    }
    shown
}

/// Whether a character is a control character, has no width, or changes the direction of text (Boucher and Anderson
/// 2021, Trojan Source).
pub fn is_hidden(letter: char) -> bool {
    let formats = matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    letter.is_control() || formats
}

/// Background and foreground in the 256-colour palette, similar to the colours of the original game.
fn tile_colours(tile: u32) -> (u8, u8) {
    match tile {
        0 => (237, 242),
        2 => (255, 238),
        4 => (230, 238),
        8 => (215, 232),
        16 => (209, 232),
        32 => (203, 232),
        64 => (196, 255),
        128 => (229, 232),
        256 => (228, 232),
        512 => (227, 232),
        1024 => (220, 232),
        2048 => (214, 232),
        _ => (91, 255),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_shows_every_tile() {
        let board = [[2, 0, 0, 0], [0, 4, 0, 0], [0, 0, 1024, 0], [0, 0, 0, 131_072]];
        for size in [TileSize::Small, TileSize::Large] {
            let text = board_lines(&board, Stream::Stdout, size);
            assert_eq!(text.lines().count(), size.board_lines());
            assert!(text.lines().all(|line| console::measure_text_width(line) == size.board_columns()), "{text}");
            assert!(["2", "4", "1024", "131072"].iter().all(|tile| text.contains(tile)), "{text}");
        }
    }

    #[test]
    fn source_cannot_steer_the_terminal() {
        let text = numbered("def strategy(board):\n\treturn '\u{1b}[2J'", Stream::Stdout);
        assert!(text.contains("   2 |     return '\\u{1b}[2J'"), "{text}");
        let turned = numbered("a = 1 # \u{202e}\u{2066}\u{200b}\u{feff}", Stream::Stdout);
        assert!(turned.contains("a = 1 # \\u{202e}\\u{2066}\\u{200b}\\u{feff}"), "{turned}");
        assert_eq!(visible("naïve 名前 \u{1f600}"), "naïve 名前 \u{1f600}");
    }
}
