//! Synthetic 2048 strategies, which the built-in model is pretrained on.
//!
//! Takes a random generator and a [`Mix`]; gives Python source. A small grammar writes players from blind ones to two
//! moves of lookahead, in varied and sometimes careless code as by many authors, so that a model trained on them is
//! diverse and has something left to learn. Does not know tensors, prompts or the sandbox.

mod board_code;
mod choice;
mod judgement;
mod mistakes;
mod search;
mod simple;
mod style;
mod terms;
pub mod vocabulary;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
pub use style::Style;

/// How often each style is written, and how often a program contains a mistake.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix {
    /// Relative frequency of each style; a style that is not listed is never written.
    pub weights: Vec<(Style, f64)>,
    /// Share of programs in which a deliberate mistake is tried, 0 to 1, over all styles. About a fifth of these have no place
    /// for the one that is drawn, and stay as they are.
    pub error_rate: f64,
    /// Share of programs, 0 to 1, whose style is drawn at random rather than the requested one, so that every request
    /// may lead to every kind of player.
    pub wander: f64,
}

impl Default for Mix {
    /// Mostly players that search, because their programs are long and need the practice.
    fn default() -> Self {
        let weight = |style: Style| match style {
            Style::Short => 0.5,
            Style::Legal => 0.8,
            _ => 1.0,
        };
        Mix { weights: Style::ALL.map(|style| (style, weight(style))).to_vec(), error_rate: 0.06, wander: 0.12 }
    }
}

impl Mix {
    /// Programs of one style, without mistakes.
    pub fn only(style: Style) -> Self {
        Mix { weights: vec![(style, 1.0)], error_rate: 0.0, wander: 0.0 }
    }

    /// Probability that a mistake is tried in a program of `style`, such that the whole mix has a share of `error_rate`.
    fn mistake_probability(&self, style: Style) -> f64 {
        let total: f64 = self.weights.iter().map(|(_, weight)| weight).sum();
        let mean: f64 = self.weights.iter().map(|(style, weight)| weight * style.proneness()).sum::<f64>() / total;
        (self.error_rate * style.proneness() / mean).min(1.0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorpusProgram {
    pub asked: Style,
    /// The style in which the program is written.
    pub style: Style,
    /// Python source, which begins with [`HEADER`] unless a mistake changes that, and ends in a newline.
    pub source: String,
    /// Whether it contains a deliberate mistake; some mistakes leave a program that still plays.
    pub mistaken: bool,
}

/// The beginning of every program, with which a prompt ends. The argument list stays open, for state in default
/// values.
pub const HEADER: &str = "def strategy(board";

/// Writes the next program.
///
/// # Panics
/// When the mix has no style with a positive weight: a bug of the caller.
pub fn program(rng: &mut ChaCha8Rng, mix: &Mix) -> CorpusProgram {
    let asked = choice::proportional(rng, &mix.weights);
    let style = if rng.random_bool(mix.wander) { choice::proportional(rng, &mix.weights) } else { asked };
    let (arguments, body) = match style {
        Style::Short => simple::short(rng),
        Style::Legal => (String::new(), simple::legal(rng)),
        _ => search::program(rng, style),
    };
    let right = format!("{arguments}):\n{body}");
    let body = match rng.random_bool(mix.mistake_probability(style)) {
        true => mistakes::make(rng, &right),
        false => right.clone(),
    };
    let mistaken = body != right;
    CorpusProgram { asked, style, source: format!("{HEADER}{body}"), mistaken }
}

#[cfg(test)]
mod tests {
    use super::*;
    use grpo_base::seed::{Purpose, Seed};

    fn samples(mix: &Mix, count: usize) -> Vec<CorpusProgram> {
        let mut rng = Seed::root(11).child(Purpose::Corpus, 0).rng();
        (0..count).map(|_| program(&mut rng, mix)).collect()
    }

    /// The line of README.md.
    #[test]
    fn the_line_of_the_page_works() {
        use crate as grpo_corpus;

        let mut rng = Seed::root(11).child(Purpose::Corpus, 0).rng();
        let program = grpo_corpus::program(&mut rng, &grpo_corpus::Mix::default());
        assert!(program.source.contains("def strategy(board"), "{}", program.source);
    }

    #[test]
    fn the_same_seed_writes_the_same_programs() {
        assert_eq!(samples(&Mix::default(), 200), samples(&Mix::default(), 200));
    }

    #[test]
    fn programs_are_distinct_and_every_style_occurs() {
        let samples = samples(&Mix::default(), 2000);
        let distinct: std::collections::BTreeSet<_> = samples.iter().map(|sample| &sample.source).collect();
        assert!(distinct.len() > 1600, "{} of 2000 distinct", distinct.len());
        for style in Style::ALL {
            assert!(samples.iter().any(|sample| sample.style == style), "{style:?}");
        }
    }

    #[test]
    fn mistakes_are_tried_at_the_rate_asked_for_and_mostly_in_short_programs() {
        let samples = samples(&Mix::default(), 8000);
        let mistaken = samples.iter().filter(|sample| sample.mistaken).count() as f64 / 8000.0;
        // Of those that are tried, 78 % change the program.
        assert!((mistaken - 0.06 * 0.78).abs() < 0.012, "{mistaken}");
        let simple = samples.iter().filter(|s| s.mistaken && s.style <= Style::Legal).count() as f64;
        assert!(simple / (mistaken * 8000.0) > 0.5);
        assert!(self::samples(&Mix { error_rate: 0.0, ..Mix::default() }, 500).iter().all(|sample| !sample.mistaken));
    }

    #[test]
    fn a_program_is_called_mistaken_where_a_mistake_changed_it_and_nowhere_else() {
        let mut rng = Seed::root(11).child(Purpose::Corpus, 0).rng();
        let [always, never] = [1.0, 0.0].map(|error_rate| Mix { error_rate, ..Mix::default() });
        let mut unchanged = 0;
        for _ in 0..500 {
            // The mistake is drawn last, so the same numbers write the same program without it.
            let right = program(&mut rng.clone(), &never);
            let tried = program(&mut rng, &always);
            assert_eq!(tried.mistaken, tried.source != right.source, "{}", tried.source);
            unchanged += usize::from(!tried.mistaken && tried.style == Style::Short);
        }
        assert!(unchanged > 0, "a mistake is tried in every short program, and some have no place for theirs");
    }

    #[test]
    fn a_program_without_mistakes_is_python_with_the_function_in_it() {
        for style in Style::ALL {
            for sample in samples(&Mix::only(style), 300) {
                let parsed = ruff_python_parser::parse_module(&sample.source);
                assert!(parsed.is_ok(), "{style:?}: {:?}\n{}", parsed.err(), sample.source);
                assert!(sample.source.starts_with(HEADER) && sample.source.ends_with('\n'));
                assert!(sample.source.is_ascii());
            }
        }
    }
}
