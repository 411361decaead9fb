//! The report of an evaluation on games, and its JSON.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cli::said::output;
use crate::config::Config;
use crate::environment::{Labels, Outcome};
use crate::evaluation::{self, Halving, Sample, Single, Summary, VerdictCounts};

/// Numbers of games and their budget.
#[derive(Debug, Clone, Copy)]
pub struct Games {
    /// Selection games of each program.
    pub selection: usize,
    /// Report games of the best ones.
    pub report: usize,
    /// Budget of a game, in seconds of a reference core.
    pub game_seconds: f64,
}

/// The report, with models in the order of the command line.
pub struct EvalReport {
    pub games: Games,
    /// The salt of the boards, in hexadecimal digits; empty for published ones.
    pub salt: String,
    pub labels: Labels,
    pub models: Vec<Model>,
    pub best_of: Vec<BestOf>,
    pub baselines: Vec<Single>,
}

pub struct Model {
    pub name: String,
    pub summary: Summary,
    pub samples: Vec<Sample>,
    pub verdicts: ToldVerdicts,
}

/// How the completions of a model ended: counts of the ways to end, and advice in lines.
pub struct ToldVerdicts {
    pub counts: VerdictCounts,
    pub told: Vec<String>,
}

/// A paragraph for each model, which is wrapped on a terminal.
pub fn verdicts<'a>(models: impl Iterator<Item = (&'a str, &'a ToldVerdicts)>) -> String {
    let room = output::columns().map_or(usize::MAX, |columns| columns.saturating_sub(2));
    let paragraph = |(name, verdicts): (&str, &ToldVerdicts)| {
        let lines = verdicts.told.iter().flat_map(|line| output::wrapped(line, room));
        let lines: String = lines.map(|line| format!("  {line}\n")).collect();
        format!("\n{name}\n{lines}")
    };
    models.map(paragraph).collect()
}

/// The best of many programs of one model.
pub struct BestOf {
    pub name: String,
    /// Programs it was chosen from.
    pub samples: usize,
    /// How it was found, the program itself, and its scores on the report boards; `None` when there was no program.
    pub winner: Option<(Halving, Sample, Single)>,
}

/// What the user calls the model of `config`.
pub fn named(config: &Config) -> String {
    match (config.model.adapter.as_str(), config.model.model.as_str()) {
        ("", model) => model.to_owned(),
        (adapter, model) => format!("{model} + {adapter}"),
    }
}

impl EvalReport {
    /// Has failing count the same in all models and best programs: where scores are below 0, as the lowest score of any of
    /// them.
    pub fn share_floor(&mut self) {
        let best = self.best_of.iter().filter_map(|best| Some(&best.winner.as_ref()?.1));
        let floor = evaluation::floor(self.models.iter().flat_map(|model| &model.samples).chain(best));
        for model in self.models.iter_mut().filter(|model| evaluation::floor(&model.samples) != floor) {
            let sizes: Vec<usize> = model.summary.best_of.keys().copied().collect();
            model.summary = evaluation::summarise_on(floor, &model.samples, &sizes, self.labels);
        }
        for (_, sample, single) in self.best_of.iter_mut().filter_map(|best| best.winner.as_mut()) {
            *single = Single::new(&single.name, floor, &sample.report);
        }
    }

    /// The object of `--json`.
    pub fn json(&self) -> Value {
        json!({
            "games": self.games.selection,
            "report_games": self.games.report,
            "boards": if self.salt.is_empty() { "published" } else { &self.salt },
            "game_seconds": self.games.game_seconds,
            "models": self.models.iter().map(|model| model.json(self.labels)).collect::<Vec<_>>(),
            "best_of": self.best_of.iter().map(|best| best.json(self.labels)).collect::<Vec<_>>(),
            "baselines": self.baselines,
        })
    }
}

impl Model {
    fn json(&self, labels: Labels) -> Map<String, Value> {
        let mut object = summarised(&self.name, &self.summary);
        object.insert("verdicts".into(), json!(self.verdicts.counts.by_name()));
        object.insert("programs".into(), self.samples.iter().map(|sample| program(sample, labels)).collect());
        object
    }
}

/// An object of the name of a model and all fields of its summary.
pub fn summarised(name: &str, summary: &impl Serialize) -> Map<String, Value> {
    let mut object = Map::from_iter([("name".to_owned(), name.into())]);
    if let Value::Object(summary) = json!(summary) {
        object.extend(summary);
    }
    object
}

impl BestOf {
    fn json(&self, labels: Labels) -> Value {
        let Some((halving, sample, single)) = &self.winner else {
            return json!({ "name": self.name, "samples": self.samples, "program": null });
        };
        with_tile(
            json!({
                "name": self.name,
                "samples": self.samples,
                "mean_score": single.mean_score,
                "median_score": single.median_score,
                "max_tile": single.max_tile,
                "rungs": halving.rungs,
                "program": program(sample, labels),
            }),
            labels,
        )
    }
}

fn program(sample: &Sample, labels: Labels) -> Value {
    let scores = |games: &[Outcome]| games.iter().map(|game| game.score).collect::<Vec<_>>();
    with_tile(
        json!({
            "style": sample.style,
            "verdict": sample.selection.verdict(sample.cut),
            "reason": sample.selection.reason(),
            "plays": sample.selection.plays(),
            "mean_score": sample.score(),
            "report_score": sample.report_score(),
            "scores": scores(&sample.selection.games),
            "report_scores": scores(&sample.report),
            "endings": sample.selection.games.iter().map(|game| game.ending.name()).collect::<Vec<_>>(),
            "max_tile": sample.selection.max_tile(),
            "tokens": sample.tokens,
            "reward": sample.reward,
            "source": sample.program.as_ref().ok().map(|program| program.source()),
        }),
        labels,
    )
}

/// The object, without `max_tile` where the environment has no tiles.
fn with_tile(mut object: Value, labels: Labels) -> Value {
    if let Some(object) = object.as_object_mut().filter(|_| !labels.has_tiles()) {
        object.remove("max_tile");
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::{Evaluation, Start, Usage};
    use crate::environment::Ending;
    use crate::environment::game2048::scored;
    use crate::program::Rejection;

    fn model(selection: Evaluation) -> Model {
        let program = Err(Rejection::NoFunction { wanted: String::new() });
        let (style, turns, report) = (String::new(), Vec::new(), Vec::new());
        let (reward, surprise, tokens, cut) = (0.0, 0.0, 1, false);
        let samples = vec![Sample { style, program, reward, tokens, cut, surprise, turns, selection, report }];
        let verdicts = ToldVerdicts { counts: VerdictCounts::default(), told: Vec::new() };
        let summary = evaluation::summarise(&samples, &[1], Labels::Game);
        Model { name: String::new(), summary, samples, verdicts }
    }

    #[test]
    fn a_model_that_fails_is_no_better_than_one_that_plays_below_zero() {
        // Of both models, and of the best program of the second, which breaks off a game on the report boards.
        let means = |score: f64| {
            let games = vec![Outcome { score, ..scored(0, 2, Ending::GameOver) }];
            let plays = Evaluation { start: Start::Played, games, usage: Usage::default() };
            let fails = Evaluation::rejected(Rejection::NoFunction { wanted: String::new() });
            let models = vec![model(plays), model(fails)];
            let best = Sample { report: vec![scored(0, 2, Ending::Raised)], ..models[1].samples[0].clone() };
            let single = Single::new("best", evaluation::floor([&best]), &best.report);
            let winner = Some((Halving { winner: 0, rungs: Vec::new() }, best, single));
            let best_of = vec![BestOf { name: String::new(), samples: 1, winner }];
            let games = Games { selection: 1, report: 0, game_seconds: 1.0 };
            let (salt, baselines) = (String::new(), Vec::new());
            let mut report = EvalReport { games, salt, labels: Labels::Game, models, best_of, baselines };
            report.share_floor();
            let best = report.best_of[0].winner.as_ref().map(|(.., single)| single.mean_score.value);
            report.models.iter().map(|model| model.summary.mean_score.value).chain(best).collect::<Vec<_>>()
        };
        assert_eq!((means(-3.0), means(3.0)), (vec![-3.0; 3], vec![3.0, 0.0, 0.0]));
    }
}
