//! Trains the built-in model's tokenizer: byte-pair merges within a line, learnt from programs of the grammar.
//!
//! Tokens are kept short. If they grew to whole lines, the model would choose from a menu of lines instead of spelling
//! programs, and could not even make a spelling mistake.

use std::collections::HashSet;

use tokenizers::decoders::fuse::Fuse;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::normalizers::NFC;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::processors::template::TemplateProcessing;
use tokenizers::{AddedToken, SplitDelimiterBehavior, Tokenizer, TokenizerBuilder};

/// Pads the rows of a batch to one width.
pub const PAD: &str = "<|pad|>";
/// Ends a completion.
pub const END: &str = "<|end|>";
/// Represents characters that do not occur in the corpus.
pub const UNKNOWN: &str = "<|unk|>";

#[derive(Debug, Clone)]
pub struct VocabularyOptions {
    /// Number of tokens, including special ones and single characters.
    pub size: usize,
    /// Longest token, in characters.
    pub token_chars: usize,
    /// Special tokens of prompts, beside those of this module.
    pub prompt_tokens: Vec<String>,
}

/// Trains a tokenizer on `texts`. The same texts give the same tokenizer.
pub fn train<'a>(
    texts: impl Iterator<Item = &'a str> + Send,
    options: &VocabularyOptions,
) -> tokenizers::Result<Tokenizer> {
    let alphabet: HashSet<char> = (' '..='~').chain(['\n']).collect();
    let special = [PAD, END, UNKNOWN].into_iter().chain(options.prompt_tokens.iter().map(String::as_str));
    let mut trainer = BpeTrainer::builder()
        .vocab_size(options.size)
        .max_token_length(Some(options.token_chars))
        .initial_alphabet(alphabet)
        .special_tokens(special.map(|token| AddedToken::from(token, true)).collect())
        .show_progress(false)
        .build();
    let lines = Split::new(SplitPattern::String("\n".into()), SplitDelimiterBehavior::MergedWithPrevious, false)?;
    let mut tokenizer = TokenizerBuilder::<BPE, NFC, Split, TemplateProcessing, Fuse>::new()
        .with_model(BPE::builder().unk_token(UNKNOWN.into()).build()?)
        .with_pre_tokenizer(Some(lines))
        .with_decoder(Some(Fuse::new()))
        .build()?;
    tokenizer.train(&mut trainer, texts)?;
    Ok(tokenizer.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mix, program};
    use grpo_base::seed::{Purpose, Seed};

    fn texts(seed: u64, count: usize) -> Vec<String> {
        let mut rng = Seed::root(seed).child(Purpose::Corpus, 0).rng();
        (0..count).map(|_| program(&mut rng, &Mix::default()).source).collect()
    }

    fn trained() -> Tokenizer {
        let options = VocabularyOptions { size: 400, token_chars: 12, prompt_tokens: vec!["<|program|>".into()] };
        train(texts(1, 300).iter().map(String::as_str), &options).unwrap()
    }

    #[test]
    fn training_twice_gives_the_same_file() {
        assert_eq!(trained().to_string(false).unwrap(), trained().to_string(false).unwrap());
    }

    #[test]
    fn a_program_survives_encoding_and_decoding_also_after_the_file_is_read_back() {
        let tokenizer: Tokenizer = trained().to_string(true).unwrap().parse().unwrap();
        for text in texts(2, 500) {
            let encoding = tokenizer.encode(text.as_str(), false).unwrap();
            assert_eq!(tokenizer.decode(encoding.get_ids(), true).unwrap(), text);
            assert!(encoding.get_tokens().iter().all(|token| token.len() <= 12 && !token.trim_end().contains('\n')));
        }
    }

    #[test]
    fn special_tokens_come_first_and_are_read_from_text() {
        let tokenizer = trained();
        let ids = tokenizer.encode("<|program|>def strategy(board", false).unwrap().get_ids().to_vec();
        assert_eq!(ids[0], 3);
        assert_eq!(tokenizer.token_to_id(PAD), Some(0));
        assert_eq!(tokenizer.token_to_id(END), Some(1));
    }
}
