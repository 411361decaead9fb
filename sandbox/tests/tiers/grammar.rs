//! The table of what generated programs are made of, read from `grammar.txt`: one row for each construct.
//!
//! Takes a text; gives rows of pieces. Does not know how a row is filled in.

/// What an expression gives, or `do` for statements and `top` for the statements of a module.
pub type Kind = &'static str;

/// A piece of a row, between two holes or in one.
#[derive(Debug, Clone)]
pub enum Piece {
    /// As it stands.
    Text(&'static str),
    /// An expression. In it these names of the row are known, too.
    Expression { kind: Kind, with: Vec<(char, Kind)>, strict: bool },
    /// A name that belongs to the row.
    Local(char),
    /// A fresh variable, known after the row.
    New(char, Kind),
    /// A variable of the function at hand, to be bound anew.
    Rebound(char, Kind),
    /// A variable from anywhere, whose object is changed.
    Changed(char, Kind),
    /// A name that may hide a variable of outside.
    Hiding(char),
    /// One of these.
    Choice(Vec<Vec<Piece>>),
    /// Statements, in a loop or not.
    Block { with: Vec<(char, Kind)>, looped: bool },
    /// The body of a function, which returns this.
    Body { with: Vec<(char, Kind)>, gives: Kind },
    /// What the function at hand returns.
    Returned,
}

/// One construct.
#[derive(Debug)]
pub struct Row {
    pub kind: Kind,
    /// How often it is taken, against the other rows of the kind.
    pub weight: u32,
    /// Only programs with this trait have it.
    pub flavour: Option<&'static str>,
    pub text: &'static str,
    pub pieces: Vec<Piece>,
    /// Variables that must exist: kind, and whether the row binds them.
    pub needs: Vec<(Kind, bool)>,
    /// No expression in it.
    pub leaf: bool,
}

pub struct Grammar {
    pub rows: Vec<Row>,
}

impl Grammar {
    pub fn read() -> Grammar {
        let text = include_str!("grammar.txt");
        let starts = line_starts(text);
        let rows = starts.iter().enumerate().map(|(n, &start)| {
            let end = starts.get(n + 1).copied().unwrap_or(text.len());
            Row::read(&text[start..end])
        });
        Grammar { rows: rows.collect() }
    }

    pub fn of(&self, kind: Kind) -> impl Iterator<Item = (usize, &Row)> {
        self.rows.iter().enumerate().filter(move |(_, row)| row.kind == kind)
    }
}

/// Where rows begin: lines that are neither comments, nor empty, nor indented.
fn line_starts(text: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if !line.starts_with([' ', '#', '\n']) {
            starts.push(at);
        }
        at += line.len();
    }
    starts
}

impl Row {
    /// `kind*weight?flavour template`; a template of several lines begins on the next.
    fn read(text: &'static str) -> Row {
        let (head, template) =
            text.split_once([' ', '\n']).unwrap_or_else(|| panic!("a row without a template: {text}"));
        let template = template.split("\n#").next().unwrap_or(template);
        let (head, flavour) = head.split_once('?').map_or((head, None), |(head, flavour)| (head, Some(flavour)));
        let (kind, weight) = head.split_once('*').map_or((head, 4), |(kind, weight)| (kind, weight.parse().unwrap()));
        // Rows live as long as the process.
        let template: &'static str = template.trim_matches(['\n', ' ']).replace("\n    ", "\n").leak();
        let mut reader = Reader { left: template, row: template };
        let pieces = reader.pieces(false);
        let mut row = Row { kind, weight, flavour, text: template, pieces, needs: Vec::new(), leaf: true };
        let (mut needs, mut leaf) = (Vec::new(), true);
        visit(&row.pieces, &mut |piece| match piece {
            Piece::Rebound(_, kind) => needs.push((*kind, true)),
            Piece::Changed(_, kind) => needs.push((*kind, false)),
            Piece::Expression { .. } => leaf = false,
            _ => (),
        });
        (row.needs, row.leaf) = (needs, leaf);
        row
    }

    /// Whether it may stand where an assignment expression may not.
    pub fn strict(&self) -> bool {
        !self.text.contains(":=")
    }
}

fn visit(pieces: &[Piece], each: &mut impl FnMut(&Piece)) {
    for piece in pieces {
        each(piece);
        if let Piece::Choice(choices) = piece {
            choices.iter().for_each(|pieces| visit(pieces, each));
        }
    }
}

/// Reads templates: `$int` an expression, `$x` a name of the row, `$[a¦b]` a choice, and what `grammar.txt` tells.
struct Reader {
    left: &'static str,
    row: &'static str,
}

impl Reader {
    fn pieces(&mut self, nested: bool) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut depth = 0;
        loop {
            let stop =
                self.left.find(|c| c == '$' || nested && matches!(c, '[' | ']' | '¦')).unwrap_or(self.left.len());
            let (text, left) = self.left.split_at(stop);
            if !text.is_empty() {
                pieces.push(Piece::Text(text));
            }
            self.left = left;
            match left.chars().next() {
                None => return pieces,
                Some('$') => {
                    self.left = &left[1..];
                    pieces.push(self.hole());
                }
                Some(c @ ('[' | ']')) if c == '[' || depth > 0 => {
                    depth += if c == '[' { 1 } else { -1 };
                    pieces.push(Piece::Text(self.take(1)));
                }
                Some('¦') if depth > 0 => panic!("brackets that do not close: {}", self.row),
                Some(_) => return pieces,
            }
        }
    }

    fn hole(&mut self) -> Piece {
        if self.skip("[") {
            return self.choice();
        }
        let mark = ["=", "~", "^", "%"].into_iter().find(|mark| self.skip(mark));
        let word = self.word();
        let name = word.chars().next().filter(|_| word.len() == 1);
        match (mark, name) {
            (Some("%"), Some(name)) => Piece::Hiding(name),
            (Some(mark), Some(name)) => {
                let kind = if self.skip(":") { self.word() } else { panic!("a variable without a kind: {}", self.row) };
                match mark {
                    "=" => Piece::New(name, kind),
                    "~" => Piece::Rebound(name, kind),
                    _ => Piece::Changed(name, kind),
                }
            }
            (None, Some(name)) => Piece::Local(name),
            (None, None) => self.named(word),
            (Some(_), None) => panic!("a mark without a name: {}", self.row),
        }
    }

    fn named(&mut self, word: &'static str) -> Piece {
        match word {
            "block" | "loop" => Piece::Block { with: self.with(), looped: word == "loop" },
            "body" => {
                let gives =
                    if self.skip(":") { self.word() } else { panic!("a body that gives nothing: {}", self.row) };
                Piece::Body { gives, with: self.with() }
            }
            "returned" => Piece::Returned,
            kind => {
                let with = self.with();
                Piece::Expression { kind, with, strict: self.skip("!") }
            }
        }
    }

    fn choice(&mut self) -> Piece {
        let mut choices = Vec::new();
        loop {
            choices.push(self.pieces(true));
            if !self.skip("¦") {
                break;
            }
        }
        assert!(self.skip("]"), "a choice without an end: {}", self.row);
        Piece::Choice(choices)
    }

    /// `@(x:int y:str)`.
    fn with(&mut self) -> Vec<(char, Kind)> {
        if !self.skip("@(") {
            return Vec::new();
        }
        let (inside, left) = self.left.split_once(')').unwrap_or_else(|| panic!("names without an end: {}", self.row));
        self.left = left;
        let pair = |pair: &'static str| {
            let (name, kind) = pair.split_once(':').unwrap_or_else(|| panic!("a name without a kind: {}", self.row));
            (name.chars().next().unwrap(), kind)
        };
        inside.split(' ').map(pair).collect()
    }

    fn word(&mut self) -> &'static str {
        let end = self.left.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(self.left.len());
        assert!(end > 0, "a hole without a name: {}", self.row);
        self.take(end)
    }

    fn take(&mut self, bytes: usize) -> &'static str {
        let (taken, left) = self.left.split_at(bytes);
        self.left = left;
        taken
    }

    fn skip(&mut self, prefix: &str) -> bool {
        match self.left.strip_prefix(prefix) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }
}
