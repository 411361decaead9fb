//! `grpo-2048 corpus`: what did the built-in model read before it was ever rewarded?

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::cli::said::{CliError, output};
use crate::corpus::{self, Mix, Style};
use crate::seed::{Purpose, Seed};

/// Print programs of the corpus that the built-in model learnt from
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 corpus --count 5
  grpo-2048 corpus --style chance --count 1000 --json")]
pub struct CorpusArgs {
    /// Programs to write
    #[arg(long, value_name = "N", default_value_t = 3, help_heading = "Programs")]
    count: usize,
    /// Root of all chance
    #[arg(long, value_name = "S", default_value_t = 0, help_heading = "Programs")]
    seed: u64,
    /// Only programs of this style, without mistakes
    #[arg(long, value_name = "STYLE", value_parser = style_names(), help_heading = "Programs")]
    style: Option<Style>,
    /// One JSON object a line
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Takes the name of a style; the parser suggests the nearest one for a misspelt name.
fn style_names() -> impl TypedValueParser<Value = Style> {
    let names = PossibleValuesParser::new(Style::ALL.map(Style::name));
    names.map(|name| Style::ALL.into_iter().find(|style| style.name() == name).expect("one of the names"))
}

impl CorpusArgs {
    pub fn run(self) -> Result<(), CliError> {
        let mix = self.style.map_or_else(Mix::default, Mix::only);
        let mut rng = Seed::root(self.seed).child(Purpose::Corpus, 0).rng();
        for _ in 0..self.count {
            let sample = corpus::program(&mut rng, &mix);
            let (asked, style) = (sample.asked.name(), sample.style.name());
            let is_read = output::print_to_reader(&match self.json {
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
            if !is_read {
                break;
            }
        }
        Ok(())
    }
}
