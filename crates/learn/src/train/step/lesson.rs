//! What the update of a step learns from.

use crate::groups::Groups;
use crate::prompt::Prompt;
use crate::seed::Seed;

use crate::train::elites::Elite;
use crate::train::episode::Episode;

pub(super) struct Lesson<'a> {
    pub step: usize,
    pub prompts: &'a [Prompt],
    pub episodes: &'a Groups<Episode>,
    /// The places of the episodes that are learnt from.
    pub learnt: Groups<usize>,
    /// One for each of these, or for each of its turns, also where the update leaves it out.
    pub advantages: Groups<Vec<f32>>,
    /// Whether the update leaves out those that were truncated.
    pub masks_truncated: bool,
    /// Correlation of rewards and shuffled rewards, in a control run.
    pub control_correlation: Option<f64>,
    pub elites: Vec<Elite>,
    pub seed: Seed,
    /// Whether the policy has been updated since it sampled some of the episodes.
    pub off_policy: bool,
}

impl Lesson<'_> {
    /// The advantages that have a part in the loss: none of episodes that the update leaves out.
    pub fn advantages_in_loss(&self) -> Groups<Vec<f32>> {
        let is_left_out = |place: usize| self.masks_truncated && self.episodes.items()[place].is_truncated();
        let all = self.learnt.clone().zip(self.advantages.clone());
        all.map(|(place, advantages)| if is_left_out(place) { Vec::new() } else { advantages })
    }
}
