//! The end of a run: its best programs are chosen in held-out games, and the best of them is told by others.

use crate::arena::{Arena, Evaluation};
use crate::evaluation::HeldOut;
use crate::metrics::{Event, counted};
use crate::seed::Seed;

use super::checkpoint::TrainerState;
use super::divided::{in_order, own_of};
use super::hall_of_fame::Member;
use super::{Run, TrainError};

/// Held-out games that settle the hall of fame, and that its best program is reported on.
const HALL_OF_FAME_GAMES: (usize, usize) = (8, 32);

impl Run<'_> {
    /// Chooses the best programs of the run on some held-out boards and reports the best of them on others.
    pub(super) fn settle(
        &self,
        arena: &Arena,
        state: &mut TrainerState,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), TrainError> {
        let hall = &mut state.hall_of_fame;
        hall.nominate(&state.elites);
        let (programs, games) = (hall.members().len(), HALL_OF_FAME_GAMES.0);
        let own = own_of(self.peers, programs).count();
        observer(Event::Message(&format!(
            "settling the best of {} in {games} held-out games each",
            counted(programs, "program")
        )));
        let mut done = 0;
        let mut played = || {
            done += 1;
            observer(Event::Settling { done, total: own });
        };
        let held_out = HeldOut::salted(&self.config.train.board_salt);
        let boards = held_out.selection(HALL_OF_FAME_GAMES.0);
        hall.settle(&self.play_members(arena, hall.members(), boards, &mut played)?);
        let best = &hall.members()[..hall.members().len().min(1)];
        let best = self.play_members(arena, best, held_out.report(HALL_OF_FAME_GAMES.1), &mut || ())?;
        if let Some(best) = best.first() {
            hall.report(best);
        }
        Ok(())
    }

    /// Games of programs on these boards, each with one of the processes; `played` hears of each program of this one whose
    /// games are over.
    fn play_members(
        &self,
        arena: &Arena,
        members: &[Member],
        boards: &[Seed],
        played: &mut dyn FnMut(),
    ) -> Result<Vec<Evaluation>, TrainError> {
        let own = || own_of(self.peers, members.len());
        let programs = own().map(|index| (arena.program(&members[index].source, boards[0].into()), boards));
        let evaluations = arena.evaluate_all(programs, &mut |_, _| played())?;
        Ok(in_order(self.peers, own().zip(evaluations))?)
    }
}
