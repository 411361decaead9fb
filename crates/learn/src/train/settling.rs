//! The end of a run: held-out games choose its best programs, and other held-out games estimate the score of the best.

use crate::arena::{Arena, Evaluation};
use crate::evaluation::{HeldOut, SELECTION};
use crate::metrics::Event;
use crate::plural::counted;
use crate::seed::Seed;

use super::checkpoint::TrainerState;
use super::divided::{gather_evaluations, own_indices};
use super::hall_of_fame::Member;
use super::{Run, TrainError};

/// Held-out games that the score of the best program is estimated from.
const REPORT_GAMES: usize = 32;

impl Run<'_> {
    /// Ranks the best programs of the run on some held-out boards and measures the first of them on others.
    pub(super) fn settle(
        &self,
        arena: &Arena,
        state: &mut TrainerState,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), TrainError> {
        let hall = &mut state.hall_of_fame;
        hall.nominate(&state.elites);
        if hall.members().is_empty() {
            return Ok(());
        }
        let programs = counted(hall.members().len(), "program");
        observer(Event::Message(&format!("settling the best of {programs}: up to {SELECTION} held-out games each")));
        let held_out = HeldOut::salted(&self.config.train.board_salt);
        hall.settle(&held_out, &mut |members, boards| {
            let (mut done, total) = (0, own_indices(self.peers, members.len()).count());
            let mut played = || {
                done += 1;
                observer(Event::Settling { done, total });
            };
            self.play_members(arena, members, boards, &mut played)
        })?;
        let best = &hall.members()[..hall.members().len().min(1)];
        let best = self.play_members(arena, best, held_out.report(REPORT_GAMES), &mut || ())?;
        if let Some(best) = best.first() {
            hall.report(best);
        }
        Ok(())
    }

    /// Plays the programs on these boards, distributed over the processes. `played` is called for each program of this
    /// process when its games have ended.
    fn play_members(
        &self,
        arena: &Arena,
        members: &[Member],
        boards: &[Seed],
        played: &mut dyn FnMut(),
    ) -> Result<Vec<Evaluation>, TrainError> {
        let own = || own_indices(self.peers, members.len());
        let programs = own().map(|index| (arena.program(&members[index].source, boards[0].into()), boards));
        let evaluations = arena.evaluate_all(programs, &mut |_, _| played())?;
        Ok(gather_evaluations(self.peers, own().zip(evaluations).collect())?.into_values().collect())
    }
}
