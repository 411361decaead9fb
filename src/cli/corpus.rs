//! `grpo-2048 corpus`: what did the built-in model read before it was ever rewarded?

use clap::Args;

use super::{CliError, output};
use crate::corpus::{self, Mix, Style};
use crate::seed::{Purpose, Seed};

/// Print programs of the corpus that the built-in model learnt from
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  grpo-2048 corpus --count 5\n  grpo-2048 corpus --style chance --count 1000 --json"
)]
pub struct CorpusArgs {
    /// Programs to write
    #[arg(long, value_name = "N", default_value_t = 3)]
    count: usize,
    /// Root of all chance
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Only programs of this style, without mistakes
    #[arg(long, value_name = "STYLE", value_parser = style)]
    style: Option<Style>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

fn style(name: &str) -> Result<Style, String> {
    let names = || Style::ALL.map(Style::name).join(", ");
    Style::ALL.into_iter().find(|style| style.name() == name).ok_or_else(|| format!("expected one of {}", names()))
}

impl CorpusArgs {
    /// Writes and prints.
    pub fn run(self) -> Result<(), CliError> {
        let mix = self.style.map_or_else(Mix::default, Mix::only);
        let mut rng = Seed::root(self.seed).child(Purpose::Corpus, 0).rng();
        for _ in 0..self.count {
            let sample = corpus::program(&mut rng, &mix);
            let (asked, style) = (sample.asked.name(), sample.style.name());
            output::print(&match self.json {
                true => {
                    let object = serde_json::json!({
                        "asked": asked, "style": style, "mistaken": sample.mistaken, "source": sample.source,
                    });
                    format!("{object}\n")
                }
                false => {
                    let mistaken = if sample.mistaken { ", with a mistake" } else { "" };
                    format!("# asked for {asked}, wrote {style}{mistaken}\n{}\n", sample.source)
                }
            })?;
        }
        Ok(())
    }
}
