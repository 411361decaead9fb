//! The batch of an update: sampled token ids with their advantages, divided into parts that fit into memory.

use std::cmp::Reverse;
use std::ops::Range;

use super::loss::{bonus_weight, token_weight};
use super::{Division, ImportanceWeights, LearnError};
use crate::config::{GrpoConfig, RolloutConfig};
use crate::groups::Groups;
use crate::parallel::Peers;
use crate::policy::{Adapters, Decoder, Dropout, Policy, TokenBatch, TokenRow, trim_memory};
use crate::prompt::Prompt;
use crate::rollout::{Trajectory, TurnTokens};
use crate::seed::{Purpose, Seed};

/// The advantages of a completion: one, or one for each of its turns.
#[derive(Debug, Clone, PartialEq)]
pub struct Advantages(Vec<f32>);

impl From<f32> for Advantages {
    fn from(advantage: f32) -> Self {
        Advantages(vec![advantage])
    }
}

impl From<Vec<f32>> for Advantages {
    fn from(turns: Vec<f32>) -> Self {
        Advantages(turns)
    }
}

/// One completion with its prompt.
#[derive(Debug, Clone)]
struct Row {
    /// Token ids of prompt and completion.
    ids: Vec<u32>,
    /// Number of tokens of the prompt.
    prompt: usize,
    /// Places in `ids` of what the policy was told between turns. These tokens are in no loss and no statistics.
    told: Vec<Range<usize>>,
    /// Log-probability of each token when it was sampled, in nats. This and the next have a number for each sampled token.
    sampled: Vec<f32>,
    advantage: Vec<f32>,
    /// Weight of each of its tokens in the loss; 0 for a demonstration.
    weight: f64,
    /// Weight of the negative log-likelihood of each of its tokens; 0 except for a demonstration.
    imitation: f64,
}

impl Row {
    /// All turns of a completion.
    fn new(prompt: &Prompt, trajectory: &Trajectory<'_>, Advantages(advantages): &Advantages, weight: f64) -> Self {
        let mut row = Row {
            ids: prompt.ids.clone(),
            prompt: prompt.ids.len(),
            told: Vec::new(),
            sampled: Vec::new(),
            advantage: Vec::new(),
            weight,
            imitation: 0.0,
        };
        for (number, TurnTokens { told, completion }) in trajectory.turns().iter().enumerate() {
            let from = row.ids.len();
            row.ids.extend_from_slice(told);
            row.told.extend((!told.is_empty()).then_some(from..row.ids.len()));
            row.ids.extend_from_slice(&completion.ids);
            row.sampled.extend_from_slice(&completion.logprobs);
            let advantage = if advantages.len() > 1 { advantages[number] } else { advantages[0] };
            row.advantage.extend(completion.ids.iter().map(|_| advantage));
        }
        row
    }

    /// Number of tokens that were sampled.
    fn length(&self) -> usize {
        self.sampled.len()
    }

    fn tokens(&self) -> TokenRow<'_> {
        TokenRow { ids: &self.ids, prompt: self.prompt, told: &self.told }
    }

    fn is_used(&self) -> bool {
        self.weight > 0.0 || self.imitation > 0.0
    }
}

/// A completion from an earlier step that the update imitates, with its prompt.
#[derive(Debug, Clone, Copy)]
pub struct Demonstration<'a> {
    pub prompt: &'a [u32],
    /// Token ids of the completion, including the one that ends it.
    pub completion: &'a [u32],
}

/// The completions of a step, as token ids and numbers, with the settings of the update.
#[derive(Debug, Clone)]
pub struct Batch {
    pub(super) config: GrpoConfig,
    /// Temperature of sampling, at which tokens are also scored.
    pub(super) temperature: f64,
    pub(super) division: Division,
    /// The processes that compute its parts.
    pub(super) peers: Peers,
    /// Weight of the entropy of each token in the loss; none if it is that of its surrogate.
    pub(super) bonus: Option<f64>,
    /// The completions in their order, then the demonstrations.
    rows: Vec<Row>,
    /// Log-probabilities under the reference, in nats, for each row.
    pub(super) reference: Option<Vec<Vec<f32>>>,
    /// Log-probabilities under the policy before the first update, in nats, for each row, if servers sampled.
    old: Option<Vec<Vec<f32>>>,
    /// The correction for the difference between servers and trainer, if servers sampled.
    pub(super) correction: Option<ImportanceWeights>,
    /// Indices of the rows of each part.
    parts: Vec<Vec<usize>>,
    /// Whether the decoder reads a common beginning of the prompts of a part only once.
    shares_beginnings: bool,
    dropout: Option<Seed>,
    /// Whether the policy has been updated since it sampled the batch.
    off_policy: bool,
}

/// Rows that pass through the model together. `N` is the number of their completion tokens.
#[derive(Debug)]
pub(super) struct Part {
    /// Indices of the rows in the batch.
    pub rows: Vec<usize>,
    pub tokens: TokenBatch,
    /// `(N,)`: token ids of the completions, which the model predicts, without what the policy was told.
    pub targets: Vec<u32>,
    /// `(N,)`: log-probabilities when they were sampled, in nats.
    pub sampled: Vec<f32>,
    /// `(N,)`: log-probabilities under the reference, in nats, if there is one.
    pub reference: Option<Vec<f32>>,
    /// `(N,)`: log-probabilities under the policy before the first update, in nats, if servers sampled.
    pub old: Option<Vec<f32>>,
    /// `(N,)`: advantage of the token's completion or turn.
    pub advantage: Vec<f32>,
    /// `(N,)`: weight in the loss; 0 for tokens of a demonstration.
    pub weight: Vec<f32>,
    /// `(N,)`: weight of the negative log-likelihood; 0 for all other tokens.
    pub imitation: Vec<f32>,
    /// `(N,)`: 1 if the surrogate counts at this token, 0 if not; none if it counts at all tokens.
    pub kept: Option<Vec<f32>>,
    /// Number of sampled tokens of each completion.
    pub lengths: Vec<usize>,
}

impl Batch {
    /// Combines completions, of one turn or several, with their advantages. The token ids that were sampled are scored as they are, without
    /// decoding and tokenizing them again.
    ///
    /// # Panics
    /// If there is not one prompt per group, or not one advantage per completion or turn.
    pub fn new<'a>(
        prompts: &[Prompt],
        completions: Groups<impl Into<Trajectory<'a>>>,
        advantages: Groups<impl Into<Advantages>>,
        rollout: &RolloutConfig,
        config: &GrpoConfig,
    ) -> Self {
        let asked = Groups::repeat(completions.size(), prompts);
        let trajectories: Groups<Trajectory<'_>> = completions.map(Into::into);
        let episodes = asked.zip(trajectories).zip(advantages.map(Into::into)).into_items();
        let kept = |trajectory: &Trajectory<'_>| {
            let masked = config.mask_truncated_completions && trajectory.is_truncated();
            !masked && trajectory.sampled() > 0
        };
        // As in TRL, completions that are left out count where completions are averaged, and not where tokens are.
        let sampled = episodes.iter().filter(|((_, trajectory), _)| trajectory.sampled() > 0).count();
        let learnt = episodes.iter().filter(|((_, trajectory), _)| kept(trajectory));
        let tokens: usize = learnt.map(|((_, trajectory), _)| trajectory.sampled()).sum();
        let weight = token_weight(config.loss_type, tokens, sampled, rollout.max_completion_length);
        let row = |((prompt, trajectory), advantages): &((&Prompt, Trajectory<'_>), Advantages)| {
            let weight = if kept(trajectory) { weight(trajectory.sampled()) } else { 0.0 };
            Row::new(prompt, trajectory, advantages, weight)
        };
        let rows: Vec<Row> = episodes.iter().map(row).collect();
        let batch = Batch {
            config: config.clone(),
            temperature: rollout.temperature,
            division: Division::from(config),
            peers: Peers::alone(),
            bonus: bonus_weight(config.loss_type, tokens),
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

    /// Arranges rows in the way that this decoder reads fastest.
    pub(super) fn for_decoder(mut self, decoder: &Decoder) -> Self {
        self.shares_beginnings = decoder.shares_beginnings();
        self.arranged()
    }

    fn arranged(mut self) -> Self {
        self.parts = arrange(&self.rows, self.division.micro_batch, self.shares_beginnings);
        self
    }

    /// Marks the batch as off policy: from the first update on, the ratio is relative to the log-probabilities that the
    /// sampler recorded.
    pub fn off_policy(mut self) -> Self {
        self.off_policy = true;
        self
    }

    /// Whether the ratio is relative to earlier log-probabilities: those of the sampler, or with a correction those of
    /// the policy before the first update. Otherwise it is 1 by construction. In the first update of an off-policy
    /// batch with a correction it is 1 too, because the correction already weighs how far the policy has moved.
    pub(super) fn has_ratio(&self) -> bool {
        self.off_policy && self.correction.is_none() || self.config.num_iterations > 1
    }

    /// Whether the policy's own log-probabilities have to be computed before the first update.
    pub(super) fn needs_old(&self) -> bool {
        self.correction.is_some() && self.config.num_iterations > 1
    }

    /// Adds the policy's own log-probabilities before the first update, in nats, for each row.
    pub(super) fn with_old(mut self, old: Vec<Vec<f32>>) -> Self {
        self.old = Some(old);
        self
    }

    /// Turns on dropout in front of the adapters, if `policy` has it, with masks from `seed`.
    pub fn with_dropout(mut self, policy: &Policy, seed: Seed) -> Self {
        self.dropout = (policy.dropout() > 0.0).then_some(seed);
        self
    }

    /// The adapters of a part in update number `iteration` of the rollout. The dropout masks of a row do not depend on
    /// the part that it is in.
    pub(super) fn adapters(&self, part: &Part, iteration: usize) -> Adapters {
        let Some(seed) = self.dropout else { return Adapters::On };
        let update = seed.child(Purpose::Dropout, iteration as u64);
        Adapters::Thinned(Dropout::new(part.rows.iter().map(|row| update.child(Purpose::Dropout, *row as u64))))
    }

    /// Has its parts computed by these processes, which must all have the same batch. Does not change any result.
    pub fn among(mut self, peers: &Peers) -> Self {
        self.peers = peers.clone();
        self
    }

    /// Divides the batch in another way than the configuration asks for.
    pub fn divided(mut self, division: Division) -> Self {
        self.division = division;
        self.arranged()
    }

    /// Runs `attempt` on the batch in parts by `division`, and in smaller ones each time the device runs out of memory. Returns
    /// its result and the division that fitted.
    pub(super) fn in_parts_that_fit<T>(
        &self,
        division: Division,
        decoder: &Decoder,
        mut attempt: impl FnMut(&Batch) -> Result<T, LearnError>,
    ) -> Result<(T, Division), LearnError> {
        let smaller = |division: Division| {
            let _ = trim_memory(decoder.device());
            division.smaller(&self.config, decoder.config().vocab_size)
        };
        division.until_it_fits(smaller, |division| attempt(&self.clone().divided(division).for_decoder(decoder)))
    }

    /// Adds `weight` times the mean negative log-likelihood of the tokens of `demonstrations` to the loss.
    /// Demonstrations have no advantage, entropy bonus or KL penalty, and only their own statistics.
    ///
    /// # Panics
    /// If the batch has log-probabilities of the reference already, because those must cover all rows.
    pub fn with_demonstrations(mut self, demonstrations: &[Demonstration<'_>], weight: f64) -> Self {
        assert!(self.reference.is_none(), "demonstrations come before the reference");
        let tokens: usize = demonstrations.iter().map(|demonstration| demonstration.completion.len()).sum();
        self.rows.extend(demonstrations.iter().map(|demonstration| Row {
            ids: [demonstration.prompt, demonstration.completion].concat(),
            prompt: demonstration.prompt.len(),
            told: Vec::new(),
            sampled: vec![0.0; demonstration.completion.len()],
            advantage: vec![0.0; demonstration.completion.len()],
            weight: 0.0,
            imitation: weight / tokens.max(1) as f64,
        }));
        self.arranged()
    }

    /// Adds log-probabilities under the reference, in nats, for each row.
    ///
    /// # Panics
    /// If there is not one for each token of each completion in the loss.
    pub fn with_reference(mut self, reference: Vec<Vec<f32>>) -> Self {
        assert_eq!(reference.len(), self.rows.len(), "one list a completion");
        for row in self.parts.iter().flatten() {
            assert_eq!(reference[*row].len(), self.rows[*row].length(), "one number a token");
        }
        self.reference = Some(reference);
        self
    }

    /// Whether any advantage is not zero. Otherwise there is nothing to learn, and bonuses and penalties alone must not
    /// change the policy.
    pub fn has_signal(&self) -> bool {
        let advantages = self.parts.iter().flatten().flat_map(|row| &self.rows[*row].advantage);
        advantages.into_iter().any(|advantage| *advantage != 0.0)
    }

    /// Number of completions, including those that are left out of the loss, and of demonstrations.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn completion_length(&self, row: usize) -> usize {
        self.rows[row].length()
    }

    /// The parts with the indices of their rows, in the order in which their gradients are added.
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
            lengths: indices.iter().map(|row| self.rows[*row].length()).collect(),
        };
        for index in indices {
            let row = &self.rows[*index];
            part.targets.extend(row.tokens().predicted().map(|at| row.ids[at]));
            part.sampled.extend_from_slice(&row.sampled);
            part.advantage.extend_from_slice(&row.advantage);
            part.weight.extend(std::iter::repeat_n(row.weight as f32, row.length()));
            part.imitation.extend(std::iter::repeat_n(row.imitation as f32, row.length()));
            for (all, known) in [(&mut part.reference, &self.reference), (&mut part.old, &self.old)] {
                if let (Some(all), Some(known)) = (all, known) {
                    all.extend_from_slice(&known[*index]);
                }
            }
        }
        part
    }
}

/// Divides the rows that are in the loss into parts: the indices of the rows of each.
fn arrange(rows: &[Row], micro_batch: usize, shares_beginnings: bool) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..rows.len()).filter(|row| rows[*row].is_used()).collect();
    // Rows of similar length in one part need little padding.
    order.sort_by_key(|row| Reverse(rows[*row].ids.len()));
    if shares_beginnings {
        // Rows with the same prompt in one part share its computation.
        order.sort_by_key(|row| &rows[*row].ids[..rows[*row].prompt]);
    }
    let mut parts: Vec<Vec<usize>> = order.chunks(micro_batch).map(<[usize]>::to_vec).collect();
    // The largest part comes first, so that memory runs out at once or never, and parts that are computed at the same
    // time take about equally long.
    parts.sort_by_key(|part| Reverse(part.iter().map(|row| rows[*row].ids.len()).sum::<usize>()));
    parts
}
