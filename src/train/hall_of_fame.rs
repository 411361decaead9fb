//! The best distinct programs of a run, ranked by what they scored in training and settled on held-out boards.

use serde::{Deserialize, Serialize};

use super::scoring::Episode;

/// Programs kept.
const SIZE: usize = 6;

/// One program that played well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Digest of the program, comments and spacing aside.
    pub program: String,
    /// Its text.
    pub source: String,
    /// Step that first wrote it; the first is 1.
    pub step: usize,
    /// Style of the prompt it answered.
    pub style: String,
    /// Mean score in the training games of that step.
    pub mean_score: f64,
    /// Best tile in those games.
    pub max_tile: u32,
    /// Mean score on held-out boards, once settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_mean_score: Option<f64>,
}

/// The best so far, best first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HallOfFame {
    members: Vec<Member>,
}

impl HallOfFame {
    /// Lets a step's episode in if it is new and good enough. Earlier programs win ties.
    pub fn consider(&mut self, step: usize, style: &str, episode: &Episode) {
        let Ok(program) = &episode.program else { return };
        let mean_score = episode.evaluation.mean_score();
        let digest = hex(&program.digest());
        let rank = self.members.partition_point(|member| member.mean_score >= mean_score);
        if rank >= SIZE || mean_score <= 0.0 || self.members.iter().any(|member| member.program == digest) {
            return;
        }
        let member = Member {
            program: digest,
            source: program.source().to_owned(),
            step,
            style: style.to_owned(),
            mean_score,
            max_tile: episode.evaluation.max_tile(),
            held_out_mean_score: None,
        };
        self.members.insert(rank, member);
        self.members.truncate(SIZE);
    }

    /// Records the held-out means, in the order of [`members`](Self::members), and ranks by them.
    pub fn settle(&mut self, held_out: &[f64]) {
        for (member, &mean) in self.members.iter_mut().zip(held_out) {
            member.held_out_mean_score = Some(mean);
        }
        self.members
            .sort_by(|a, b| b.held_out_mean_score.unwrap_or(0.0).total_cmp(&a.held_out_mean_score.unwrap_or(0.0)));
    }

    /// The programs, best first.
    pub fn members(&self) -> &[Member] {
        &self.members
    }
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
