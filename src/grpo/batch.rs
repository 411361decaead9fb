//! What an update learns from: sampled ids with their advantages, cut into parts that fit through the model.

use std::cmp::Reverse;

use super::{Division, ImportanceWeights, token_weight};
use crate::config::{GrpoConfig, RolloutConfig};
use crate::groups::Groups;
use crate::parallel::Peers;
use crate::policy::Dropout;
use crate::policy::{Adapters, Decoder, TokenBatch, TokenRow};
use crate::prompt::Prompt;
use crate::rollout::{Completion, FinishReason};
use crate::seed::{Purpose, Seed};

/// One completion behind its prompt.
#[derive(Debug, Clone)]
struct Row {
    /// Prompt and completion.
    ids: Vec<u32>,
    /// Tokens of the prompt.
    prompt: usize,
    sampled: Vec<f32>,
    advantage: f32,
    /// Weight of each of its tokens in the loss; 0 for a demonstration.
    weight: f64,
    /// Weight of the negative log-likelihood of each of its tokens; 0 for what was sampled in this step.
    imitation: f64,
}

impl Row {
    fn completion(&self) -> &[u32] {
        &self.ids[self.prompt..]
    }

    fn tokens(&self) -> TokenRow<'_> {
        TokenRow { ids: &self.ids, prompt: self.prompt }
    }

    fn is_used(&self) -> bool {
        self.weight > 0.0 || self.imitation > 0.0
    }
}

/// A completion from an earlier step that is worth imitating, behind its prompt.
#[derive(Debug, Clone, Copy)]
pub struct Demonstration<'a> {
    /// Token ids of the prompt.
    pub prompt: &'a [u32],
    /// Token ids of the completion, the one that ends it included.
    pub completion: &'a [u32],
}

/// The completions of a step as an update sees them.
#[derive(Debug, Clone)]
pub struct Batch {
    pub(super) config: GrpoConfig,
    pub(super) temperature: f64,
    pub(super) division: Division,
    /// Who works on its parts.
    pub(super) peers: Peers,
    /// In the order of the completions.
    rows: Vec<Row>,
    /// Log-probabilities under the reference, in the order of the completions.
    reference: Option<Vec<Vec<f32>>>,
    /// Those under the policy before the first update, where they are not the sampler's.
    old: Option<Vec<Vec<f32>>>,
    /// What makes up for a foreign sampler.
    pub(super) correction: Option<ImportanceWeights>,
    /// Rows of each part.
    parts: Vec<Vec<usize>>,
    /// Whether rows of a part are read behind what their prompts begin with, once.
    shares_beginnings: bool,
    /// Chance of dropout.
    dropout: Option<Seed>,
    /// Whether the policy has moved since it was sampled.
    off_policy: bool,
}

/// Rows that pass through the model together. `N` is the number of completion tokens.
#[derive(Debug)]
pub(super) struct Part {
    /// Positions of the rows in the batch.
    pub rows: Vec<usize>,
    pub tokens: TokenBatch,
    /// `(N,)`: the tokens that are predicted.
    pub targets: Vec<u32>,
    /// `(N,)`: log-probabilities when they were sampled.
    pub sampled: Vec<f32>,
    /// `(N,)`: log-probabilities under the reference, if there is one.
    pub reference: Option<Vec<f32>>,
    /// `(N,)`: those under the policy before the first update, where they are known and not the sampler's.
    pub old: Option<Vec<f32>>,
    /// `(N,)`: the completion's advantage.
    pub advantage: Vec<f32>,
    /// `(N,)`: weight in the loss; 0 for tokens of a demonstration.
    pub weight: Vec<f32>,
    /// `(N,)`: weight of the negative log-likelihood; 0 for all other tokens.
    pub imitation: Vec<f32>,
    /// `(N,)`: 1 where the surrogate counts, 0 where it does not; none where all count.
    pub kept: Option<Vec<f32>>,
    /// Tokens of each completion.
    pub lengths: Vec<usize>,
}

impl Batch {
    /// Puts together what was sampled and what it was worth. The ids that were sampled are the ids that are scored.
    ///
    /// # Panics
    /// When there is not one prompt a group, or not one advantage a completion.
    pub fn new(
        prompts: &[Prompt],
        completions: Groups<&Completion>,
        advantages: Groups<f32>,
        rollout: &RolloutConfig,
        config: &GrpoConfig,
    ) -> Self {
        let asked = Groups::repeat(completions.size(), prompts);
        let episodes = asked.zip(completions).zip(advantages).into_items();
        let kept = |completion: &Completion| {
            let masked = config.mask_truncated_completions && completion.finish == FinishReason::Length;
            !masked && !completion.ids.is_empty()
        };
        let in_loss = episodes.iter().filter(|((_, completion), _)| kept(completion));
        let lengths: Vec<usize> = in_loss.map(|((_, completion), _)| completion.ids.len()).collect();
        let weight = token_weight(config.loss_type, &lengths, rollout.max_completion_length);
        let row = |((prompt, completion), advantage): ((&Prompt, &Completion), f32)| Row {
            weight: if kept(completion) { weight(completion.ids.len()) } else { 0.0 },
            prompt: prompt.ids.len(),
            ids: [prompt.ids.as_slice(), &completion.ids].concat(),
            sampled: completion.logprobs.clone(),
            advantage,
            imitation: 0.0,
        };
        let rows: Vec<Row> = episodes.into_iter().map(row).collect();
        let batch = Batch {
            config: config.clone(),
            temperature: rollout.temperature,
            division: Division::from(config),
            peers: Peers::alone(),
            rows,
            reference: None,
            old: None,
            correction: ImportanceWeights::of(rollout),
            parts: Vec::new(),
            shares_beginnings: false,
            dropout: None,
            off_policy: false,
        };
        batch.arranged()
    }

    /// Lays rows out as this decoder reads them best.
    pub(super) fn for_decoder(mut self, decoder: &Decoder) -> Self {
        self.shares_beginnings = decoder.shares_beginnings();
        self.arranged()
    }

    fn arranged(mut self) -> Self {
        self.parts = arrange(&self.rows, self.division.micro_batch, self.shares_beginnings);
        self
    }

    /// Says that the policy has moved since it was sampled: the ratio is then taken to the log-probabilities that the
    /// sampler recorded, from the first update on.
    pub fn off_policy(mut self) -> Self {
        self.off_policy = true;
        self
    }

    /// Whether the ratio is taken to log-probabilities of before: the sampler's, or where its are corrected for, the
    /// policy's own. Otherwise it is 1 by construction. What a correction weighs is how far the policy has moved as well.
    pub(super) fn has_ratio(&self) -> bool {
        self.off_policy && self.correction.is_none() || self.config.num_iterations > 1
    }

    /// Whether the policy's own log-probabilities have to be taken before the first update.
    pub(super) fn needs_old(&self) -> bool {
        self.correction.is_some() && self.config.num_iterations > 1
    }

    /// Adds the policy's own log-probabilities before the first update, in the order of the completions.
    pub(super) fn with_old(mut self, old: Vec<Vec<f32>>) -> Self {
        self.old = Some(old);
        self
    }

    /// Has the adapters thinned by dropout, which without this they are not.
    pub fn with_dropout(mut self, seed: Seed) -> Self {
        self.dropout = Some(seed);
        self
    }

    /// How a part is trained in the given update of the rollout. What is dropped of a row does not depend on the part
    /// that it is in.
    pub(super) fn adapters(&self, part: &Part, iteration: usize) -> Adapters {
        let Some(seed) = self.dropout else { return Adapters::On };
        let update = seed.child(Purpose::Dropout, iteration as u64);
        Adapters::Thinned(Dropout::new(part.rows.iter().map(|row| update.child(Purpose::Dropout, *row as u64))))
    }

    /// Has its parts worked on by these processes, all of which have the same batch. Changes no number.
    pub fn among(mut self, peers: &Peers) -> Self {
        self.peers = peers.clone();
        self
    }

    /// Cuts the batch in another way than the configuration asks for.
    pub fn divided(mut self, division: Division) -> Self {
        self.division = division;
        self.arranged()
    }

    /// Adds `weight` times the mean negative log-likelihood of the tokens of `demonstrations` to the loss. They take no
    /// part in anything else: no advantage, no bonus, no penalty, no statistics but their own.
    ///
    /// # Panics
    /// When the reference is there already: it has to be taken of all rows.
    pub fn with_demonstrations(mut self, demonstrations: &[Demonstration<'_>], weight: f64) -> Self {
        assert!(self.reference.is_none(), "demonstrations come before the reference");
        let tokens: usize = demonstrations.iter().map(|demonstration| demonstration.completion.len()).sum();
        self.rows.extend(demonstrations.iter().map(|demonstration| Row {
            ids: [demonstration.prompt, demonstration.completion].concat(),
            prompt: demonstration.prompt.len(),
            sampled: vec![0.0; demonstration.completion.len()],
            advantage: 0.0,
            weight: 0.0,
            imitation: weight / tokens.max(1) as f64,
        }));
        self.arranged()
    }

    /// Adds log-probabilities under the reference, in the order of the completions, then the demonstrations.
    ///
    /// # Panics
    /// When they are not one for each token of each completion that counts.
    pub fn with_reference(mut self, reference: Vec<Vec<f32>>) -> Self {
        assert_eq!(reference.len(), self.rows.len(), "one list a completion");
        for row in self.parts.iter().flatten() {
            assert_eq!(reference[*row].len(), self.rows[*row].completion().len(), "one number a token");
        }
        self.reference = Some(reference);
        self
    }

    /// Whether any completion is better or worse than its group. Without that there is nothing to learn, and bonuses
    /// and penalties alone must not move the policy.
    pub fn has_signal(&self) -> bool {
        self.parts.iter().flatten().any(|row| self.rows[*row].advantage != 0.0)
    }

    /// Completions, those that are left out of the loss included, and demonstrations.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are neither completions nor demonstrations.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Tokens of one completion.
    pub(super) fn completion_length(&self, row: usize) -> usize {
        self.rows[row].completion().len()
    }

    /// Whether log-probabilities under the reference are there.
    pub(super) fn has_reference(&self) -> bool {
        self.reference.is_some()
    }

    /// The parts, in the order in which their gradients are added up.
    pub(super) fn parts(&self) -> impl ExactSizeIterator<Item = (&[usize], Part)> {
        self.parts.iter().map(|rows| (rows.as_slice(), self.part(rows)))
    }

    fn part(&self, indices: &[usize]) -> Part {
        let rows: Vec<TokenRow<'_>> = indices.iter().map(|row| self.rows[*row].tokens()).collect();
        let mut part = Part {
            rows: indices.to_vec(),
            tokens: TokenBatch::new(&rows, self.shares_beginnings),
            targets: Vec::new(),
            sampled: Vec::new(),
            reference: self.reference.as_ref().map(|_| Vec::new()),
            old: self.old.as_ref().map(|_| Vec::new()),
            advantage: Vec::new(),
            weight: Vec::new(),
            imitation: Vec::new(),
            kept: None,
            lengths: indices.iter().map(|row| self.rows[*row].completion().len()).collect(),
        };
        for index in indices {
            let row = &self.rows[*index];
            part.targets.extend_from_slice(row.completion());
            part.sampled.extend_from_slice(&row.sampled);
            part.advantage.extend(row.completion().iter().map(|_| row.advantage));
            part.weight.extend(row.completion().iter().map(|_| row.weight as f32));
            part.imitation.extend(row.completion().iter().map(|_| row.imitation as f32));
            for (all, known) in [(&mut part.reference, &self.reference), (&mut part.old, &self.old)] {
                if let (Some(all), Some(known)) = (all, known) {
                    all.extend_from_slice(&known[*index]);
                }
            }
        }
        part
    }
}

/// Cuts the rows that are used into parts.
fn arrange(rows: &[Row], micro_batch: usize, shares_beginnings: bool) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..rows.len()).filter(|row| rows[*row].is_used()).collect();
    // Like lengths together waste little padding.
    order.sort_by_key(|row| Reverse(rows[*row].ids.len()));
    if shares_beginnings {
        // Like prompts together are read once.
        order.sort_by_key(|row| &rows[*row].ids[..rows[*row].prompt]);
    }
    let mut parts: Vec<Vec<usize>> = order.chunks(micro_batch).map(<[usize]>::to_vec).collect();
    // The largest part comes first, so that memory runs out at once or never, and parts that are worked on at once take
    // equally long.
    parts.sort_by_key(|part| Reverse(part.iter().map(|row| rows[*row].ids.len()).sum::<usize>()));
    parts
}
