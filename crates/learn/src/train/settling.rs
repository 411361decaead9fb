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

/// Boards that are played after `first` others of the same kind.
#[derive(Clone, Copy)]
struct Boards<'a> {
    first: usize,
    seeds: &'a [Seed],
}

impl Run<'_> {
    /// Ranks the best programs of the run on some held-out boards and measures the first of them on others. Returns
    /// whether it did: where a process is asked to stop, the candidates stay as they were, for a run that goes on.
    pub(super) fn settle(
        &self,
        arena: &Arena,
        state: &mut TrainerState,
        observer: &mut dyn FnMut(Event<'_>),
    ) -> Result<bool, TrainError> {
        let hall = &mut state.hall_of_fame;
        hall.nominate(&state.elites);
        // All processes take the first one's candidates. `readmit` has read earlier ones from the run's directory, which another
        // machine may not have.
        *hall = self.peers.gather_values(hall.clone())?.swap_remove(0);
        if hall.members().is_empty() {
            return Ok(true);
        }
        let programs = counted(hall.members().len(), "program");
        observer(Event::Message(&format!("settling the best of {programs}: up to {SELECTION} held-out games each")));
        let held_out = HeldOut::salted(&self.config.train.board_salt);
        let candidates = hall.clone();
        // `Err(None)`: a process was asked to stop.
        let settled: Result<(), Option<TrainError>> = hall.settle(&mut |members, boards| {
            if self.stopping().map_err(Some)? {
                return Err(None);
            }
            let (mut done, total) = (0, own_indices(self.peers, members.len()).count());
            let mut played = || {
                done += 1;
                observer(Event::Settling { done, total });
            };
            let boards = Boards { first: boards.start, seeds: &held_out.selection(boards.end)[boards.start..] };
            self.play_members(arena, members, boards, &mut played).map_err(Some)
        });
        match settled {
            Ok(()) => {}
            Err(None) => {
                *hall = candidates;
                return Ok(false);
            }
            Err(Some(error)) => return Err(error),
        }
        let best = &hall.members()[..hall.members().len().min(1)];
        let best =
            self.play_members(arena, best, Boards { first: 0, seeds: held_out.report(REPORT_GAMES) }, &mut || ())?;
        if let Some(best) = best.first() {
            hall.report(best);
        }
        Ok(true)
    }

    /// Plays the programs on these boards, distributed over the processes. `played` is called for each program of this
    /// process when its games have ended.
    fn play_members(
        &self,
        arena: &Arena,
        members: &[Member],
        boards: Boards<'_>,
        played: &mut dyn FnMut(),
    ) -> Result<Vec<Evaluation>, TrainError> {
        let own = || own_indices(self.peers, members.len());
        let programs = own().map(|index| (arena.program(&members[index].source, boards.seeds[0].into()), boards.seeds));
        let evaluations = arena.evaluate_from(boards.first, programs, &mut |_, _| played())?;
        Ok(gather_evaluations(self.peers, own().zip(evaluations).collect())?.into_values().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::arena::Workers;
    use crate::config::Config;
    use crate::environment::Ending;
    use crate::environment::game2048::prompts::briefing;
    use crate::environment::game2048::unplayed;
    use crate::fixture::tiny_policy;
    use crate::parallel::Peers;
    use crate::prompt::{PromptKind, PromptSet};
    use crate::reward::Rule;
    use crate::train::hall_of_fame::HallOfFame;

    #[test]
    fn a_run_that_is_asked_to_stop_while_it_settles_keeps_its_candidates_for_later() {
        let arena = Arena::stand_in(|_, seed| unplayed(seed, Ending::GameOver), Workers::Inline).unwrap();
        let (config, stop, peers) = (Config::preset("builtin").unwrap(), AtomicBool::new(false), Peers::alone());
        let mut policy = tiny_policy();
        // Nothing is asked of the policy any more.
        let mut briefing = briefing().unwrap();
        briefing.requests.clear();
        let prompts = PromptSet::load(PromptKind::Raw, policy.tokenizer(), &briefing).unwrap();
        let run = Run {
            config: &config,
            policy: &mut policy,
            servers: None,
            arena: &arena,
            rule: Rule::new(&config.reward, arena.environment()),
            prompts: &prompts,
            allowance: None,
            stop: &stop,
            peers: &peers,
            measure: &|_| BTreeMap::new(),
        };
        let member = |direction: &str| Member {
            program: direction.to_owned(),
            source: format!("def strategy(board):\n    return '{direction}'\n"),
            mean_score: 1.0,
            ..Member::default()
        };
        let members = serde_json::to_value(["W", "A"].map(member)).unwrap();
        let candidates: HallOfFame = serde_json::from_value(members).unwrap();
        let mut state = TrainerState { hall_of_fame: candidates.clone(), ..TrainerState::default() };
        let mut ask = |event: Event<'_>| {
            if matches!(event, Event::Settling { .. }) {
                stop.store(true, Ordering::SeqCst);
            }
        };
        assert!(!run.settle(&arena, &mut state, &mut ask).unwrap());
        assert_eq!(state.hall_of_fame, candidates);
        stop.store(false, Ordering::SeqCst);
        assert!(run.settle(&arena, &mut state, &mut |_| ()).unwrap());
        let settled = state.hall_of_fame.members().iter().map(|member| member.held_out_games);
        assert_eq!(settled.collect::<Vec<_>>(), [Some(SELECTION); 2]);
    }
}
