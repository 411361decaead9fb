//! The programs of a search: islands of the best in each cell, and from which of them new programs are asked for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::settings::Settings;
use crate::evaluation::FailedGames;

/// Weight of what has hardly been tried, beside what has been reached (PUCT's `c`; 1 in TTT-Discover's sampler).
const EXPLORATION: f64 = 1.0;
/// The least spread of rewards that exploration is measured by, as in TTT-Discover: equal programs are asked in turn.
const LEAST_SPREAD: f64 = 1e-6;

/// A program that was written in the search, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its number, in the order of the search.
    pub id: usize,
    /// Digest of its syntax tree, in hexadecimal.
    pub digest: String,
    pub source: String,
    /// The program that its author was shown to improve; none if it was written without one.
    pub parent: Option<usize>,
    /// The island that it was written for, from 0.
    pub island: usize,
    /// The round that wrote it, from 1; 0: it is what the search began with.
    pub round: usize,
    /// What it earned on the boards of the search, or on the tests of its task.
    pub reward: f64,
    /// Mean points of a game, or share of tests passed.
    pub score: f64,
    /// The games among these that it failed in.
    #[serde(default, skip_serializing_if = "FailedGames::is_none")]
    pub failed: FailedGames,
    /// Mean fuel of a game, or of all tests.
    pub fuel: u64,
    /// How often a group was asked to improve it.
    pub asked: usize,
    /// The largest reward of it and of all programs that descend from it.
    pub reached: f64,
}

/// Programs of about the same length and cost. Only the best of a cell stays on an island (MAP-Elites: Mouret and Clune 2015).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    /// Half octaves of its length in characters.
    pub length: u32,
    /// Octaves of its fuel.
    pub fuel: u32,
}

impl Cell {
    pub fn of(candidate: &Candidate) -> Cell {
        let chars = candidate.source.len().max(1) as f64;
        Cell { length: (2.0 * chars.log2()) as u32, fuel: candidate.fuel.max(1).ilog2() }
    }
}

/// Everything that a search has found so far. It follows from the settings and the model's answers alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Database {
    /// Number of rounds that are in it.
    pub rounds: usize,
    /// Completions that were no program, failed, or repeated one that is known.
    pub failed: usize,
    pub repeated: usize,
    /// How often a group was asked to improve nothing, by island.
    #[serde(default)]
    anew: BTreeMap<usize, usize>,
    candidates: Vec<Candidate>,
    /// Numbers of the best of each cell, by island.
    islands: Vec<Vec<usize>>,
}

/// What a group of completions is asked to improve, and what else it is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lineage {
    pub island: usize,
    pub parent: Option<usize>,
    pub inspirations: Vec<usize>,
}

/// What came of asking for better programs than one, or for programs without a parent.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    /// The largest reward of it and of its descendants; or of those without a parent.
    reached: f64,
    /// How often a group was asked to improve it or one of them; or nothing.
    visits: usize,
}

#[derive(Debug, Clone)]
pub struct JudgedProgram {
    pub digest: String,
    pub source: String,
    pub reward: f64,
    pub score: f64,
    pub failed: FailedGames,
    pub fuel: u64,
}

impl Database {
    pub(super) fn new(islands: usize) -> Database {
        Database { islands: vec![Vec::new(); islands], ..Database::default() }
    }

    /// All programs, in the order of the search.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// The programs of an island, the best of each cell, best first.
    pub fn island(&self, island: usize) -> Vec<&Candidate> {
        let mut members: Vec<&Candidate> = self.islands[island].iter().map(|id| &self.candidates[*id]).collect();
        members.sort_by(|a, b| better(a, b));
        members
    }

    /// All programs, best first: by reward, then by score, then by fuel, then the earlier.
    pub fn ranked(&self) -> Vec<&Candidate> {
        let mut ranked: Vec<&Candidate> = self.candidates.iter().collect();
        ranked.sort_by(|a, b| better(a, b));
        ranked
    }

    /// What the next group of the next round is asked, after those that were asked `earlier`. To these it leaves the ancestors and
    /// descendants of what they improve while there is anything else (as in TTT-Discover, a sibling is another one).
    pub(super) fn lineage(&self, settings: &Settings, earlier: &[Lineage]) -> Lineage {
        let island = (self.rounds + earlier.len()) % self.islands.len();
        let members = self.island(island);
        let arms = self.arms(island, &members);
        let is_taken = |parent: Option<usize>, by: &Lineage| match (parent, by.parent) {
            (Some(id), Some(other)) => self.are_related(id, other),
            (None, None) => island == by.island,
            _ => false,
        };
        let is_free = |(parent, _): &&(Option<usize>, f64)| !earlier.iter().any(|by| is_taken(*parent, by));
        let free: Vec<_> = arms.iter().filter(is_free).copied().collect();
        let open = if free.is_empty() { arms } else { free };
        // The last of equals is the first in the order of the arms.
        let Some(parent) = open.into_iter().rev().max_by(|a, b| a.1.total_cmp(&b.1)).and_then(|(parent, _)| parent)
        else {
            return Lineage { island, ..Lineage::default() };
        };
        let others = members.iter().map(|member| member.id).filter(|id| *id != parent);
        Lineage { island, parent: Some(parent), inspirations: others.take(settings.inspirations).collect() }
    }

    /// What may be asked for an island of ranked `members`, each with its value: better programs than one of them, and programs
    /// without a parent, unless all began with one. A value is what was reached there, and more if it ranks high and was asked for
    /// rarely (PUCT, with the priors, counts and spread of TTT-Discover). Programs without a parent have the weight of the
    /// first rank: a model that copies what it is shown is asked for them as often as to improve its best.
    fn arms(&self, island: usize, members: &[&Candidate]) -> Vec<(Option<usize>, f64)> {
        let (outcomes, anew) = (self.outcomes(island), self.outcome_anew(island));
        let asked = anew.visits + self.inhabitants(island).iter().map(|one| one.asked).sum::<usize>();
        let rewards = || members.iter().map(|member| member.reward);
        let spread = rewards().fold(f64::MIN, f64::max) - rewards().fold(f64::MAX, f64::min);
        let scale = spread.max(LEAST_SPREAD);
        let count = members.len();
        let ranks = (count * (count + 1) / 2) as f64;
        let value = |Outcome { reached, visits }: Outcome, prior: f64| {
            reached + EXPLORATION * scale * prior * (1.0 + asked as f64).sqrt() / (1.0 + visits as f64)
        };
        let of_member = |(rank, member): (usize, &&Candidate)| {
            (Some(member.id), value(outcomes[member.id], (count - rank) as f64 / ranks))
        };
        let began_with_one = self.candidates.first().is_some_and(|first| first.round == 0);
        let of_none = (!began_with_one).then(|| (None, value(anew, 2.0 / (count + 1) as f64)));
        members.iter().enumerate().map(of_member).chain(of_none).collect()
    }

    /// What came of programs without a parent on an island. Their descendants are left out, or this would have reached as much as the
    /// best of them.
    fn outcome_anew(&self, island: usize) -> Outcome {
        let written = self.candidates.iter().filter(|one| one.island == island && one.parent.is_none());
        let reached = written.map(|one| one.reward).fold(0.0, f64::max);
        Outcome { reached, visits: self.anew.get(&island).copied().unwrap_or(0) }
    }

    /// What came of every program on an island. What its descendants reached on other islands is left out: it would draw
    /// every island back to the program that all of them began with, as would one that has settled from another island, if it
    /// counted for its ancestors.
    fn outcomes(&self, island: usize) -> Vec<Outcome> {
        let alone = |one: &Candidate| Outcome { reached: one.reward, visits: one.asked };
        let mut outcomes: Vec<Outcome> = self.candidates.iter().map(alone).collect();
        // Programs come after their parents, so that each is complete before it is counted in.
        for one in self.candidates.iter().rev().filter(|one| one.island == island) {
            if let Some(parent) = one.parent {
                let Outcome { reached, visits } = outcomes[one.id];
                let known = &mut outcomes[parent];
                *known = Outcome { reached: known.reached.max(reached), visits: known.visits + visits };
            }
        }
        outcomes
    }

    /// A program, its parent, and so on.
    fn lineage_of(&self, id: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(id), move |id| self.candidates[*id].parent)
    }

    /// Whether they are the same program, or one descends from the other.
    fn are_related(&self, first: usize, second: usize) -> bool {
        self.lineage_of(first).any(|id| id == second) || self.lineage_of(second).any(|id| id == first)
    }

    pub(super) fn note_asked(&mut self, lineage: &Lineage) {
        match lineage.parent {
            Some(parent) => self.candidates[parent].asked += 1,
            None => *self.anew.entry(lineage.island).or_default() += 1,
        }
    }

    /// Takes a program in; one that is known, whatever its names and comments, is only counted.
    pub(super) fn take_in(&mut self, judged: JudgedProgram, lineage: &Lineage, round: usize) {
        if self.candidates.iter().any(|candidate| candidate.digest == judged.digest) {
            self.repeated += 1;
            return;
        }
        let JudgedProgram { digest, source, reward, score, failed, fuel } = judged;
        let (id, island, parent) = (self.candidates.len(), lineage.island, lineage.parent);
        let (asked, reached) = (0, reward);
        let new = Candidate { id, digest, source, parent, island, round, reward, score, failed, fuel, asked, reached };
        self.candidates.push(new);
        let mut ancestor = parent;
        while let Some(id) = ancestor {
            let known = &mut self.candidates[id];
            known.reached = known.reached.max(reward);
            ancestor = known.parent;
        }
        self.settle_in(island, id);
    }

    /// Takes in the program that the search begins with, on every island.
    pub(super) fn begin_with(&mut self, judged: JudgedProgram) {
        self.take_in(judged, &Lineage::default(), 0);
        (1..self.islands.len()).for_each(|island| self.settle_in(island, 0));
    }

    /// Gives a program its cell on an island, if it is better than what has it.
    fn settle_in(&mut self, island: usize, id: usize) {
        let candidates = &self.candidates;
        let cell = |id: usize| Cell::of(&candidates[id]);
        match self.islands[island].iter_mut().find(|elite| cell(**elite) == cell(id)) {
            Some(elite) if better(&candidates[id], &candidates[*elite]).is_lt() => *elite = id,
            Some(_) => {}
            None => self.islands[island].push(id),
        }
    }

    /// The best program of each island settles on the next one too.
    pub(super) fn migrate(&mut self) {
        let count = self.islands.len();
        let best: Vec<Option<usize>> =
            (0..count).map(|island| self.island(island).first().map(|best| best.id)).collect();
        for (island, id) in best.into_iter().enumerate() {
            if let Some(id) = id {
                self.settle_in((island + 1) % count, id);
            }
        }
    }

    /// The programs of every island, the best of each cell, best first.
    pub(super) fn islands(&self) -> Vec<Vec<&Candidate>> {
        (0..self.islands.len()).map(|island| self.island(island)).collect()
    }

    /// All programs that were written for an island or have settled there, in the order of the search.
    pub(super) fn inhabitants(&self, island: usize) -> Vec<&Candidate> {
        let members = &self.islands[island];
        self.candidates.iter().filter(|one| one.island == island || members.contains(&one.id)).collect()
    }
}

/// The better one first: by reward, then by score, then by fuel, then by age. A reward has the digits of 32 bits, so that scores
/// which differ behind the seventh earn the same.
fn better(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    let by_worth = b.reward.total_cmp(&a.reward).then(b.score.total_cmp(&a.score));
    by_worth.then(a.fuel.cmp(&b.fuel)).then(a.id.cmp(&b.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the first group of the next round is asked that is of this island.
    fn asked(database: &Database, island: usize) -> Lineage {
        // Groups of other islands come before it, which take nothing of this one.
        let earlier: Vec<_> = (0..island).map(|other| on(other, None)).collect();
        database.lineage(&settings(), &earlier)
    }

    /// The programs that `groups` groups of a round are asked to improve.
    fn asked_of_all(database: &Database, groups: usize) -> Vec<Option<usize>> {
        let mut lineages = Vec::new();
        (0..groups).for_each(|_| lineages.push(database.lineage(&settings(), &lineages)));
        lineages.into_iter().map(|lineage| lineage.parent).collect()
    }

    fn settings() -> Settings {
        Settings { rounds: 4, islands: 2, inspirations: 2, migration: 2, update: false, boards: 1 }
    }

    fn judged(name: &str, reward: f64, fuel: u64) -> JudgedProgram {
        let source = format!("def strategy(board):\n    return '{name}'\n");
        JudgedProgram { digest: name.into(), source, reward, score: reward, failed: FailedGames::default(), fuel }
    }

    fn ids(candidates: &[&Candidate]) -> Vec<usize> {
        candidates.iter().map(|candidate| candidate.id).collect()
    }

    fn on(island: usize, parent: Option<usize>) -> Lineage {
        Lineage { island, parent, inspirations: Vec::new() }
    }

    #[test]
    fn the_best_of_a_cell_stays_and_known_programs_are_counted() {
        let mut database = Database::new(2);
        database.take_in(judged("a", 0.2, 1000), &on(0, None), 1);
        database.take_in(judged("b", 0.3, 1001), &on(0, None), 1);
        database.take_in(judged("b", 0.3, 1001), &on(1, None), 1);
        database.take_in(judged("c", 0.1, 9000), &on(0, None), 1);
        assert_eq!((ids(&database.island(0)), database.repeated), (vec![1, 2], 1));
        assert!(database.island(1).is_empty());
    }

    #[test]
    fn of_scores_that_earn_the_same_reward_the_larger_is_better_whatever_its_fuel() {
        let mut database = Database::new(1);
        for (name, score, fuel) in [("a", 2.640_000_02, 2000), ("b", 2.640_000_01, 1999), ("c", 2.640_000_02, 1998)] {
            database.take_in(JudgedProgram { score, ..judged(name, 2.64, fuel) }, &on(0, None), 1);
        }
        assert_eq!(ids(&database.ranked()), [2, 0, 1]);
        assert_eq!(ids(&database.island(0)), [2], "they share a cell");
    }

    #[test]
    fn a_descendant_makes_its_ancestors_worth_asking() {
        let mut database = Database::new(1);
        database.take_in(judged("a", 0.2, 1 << 10), &on(0, None), 1);
        database.take_in(judged("b", 0.3, 1 << 12), &on(0, None), 1);
        database.note_asked(&on(0, None));
        let first = asked(&database, 0);
        assert_eq!((first.parent, first.inspirations.as_slice()), (Some(1), &[0][..]));
        // Asked often without a better program, the other one comes up.
        (0..8).for_each(|_| [&first, &on(0, None)].into_iter().for_each(|lineage| database.note_asked(lineage)));
        assert_eq!(asked(&database, 0).parent, Some(0));
        database.take_in(judged("c", 0.9, 1 << 10), &on(0, Some(0)), 2);
        // It takes the cell of its parent, whose best descendant counts for it.
        assert_eq!(database.candidates()[0].reached, 0.9);
        assert_eq!(ids(&database.island(0)), [2, 1]);
        assert_eq!(asked(&database, 0).parent, Some(2));
    }

    #[test]
    fn groups_of_a_round_are_asked_of_different_lineages() {
        let mut database = Database::new(1);
        database.take_in(judged("a", 0.5, 1 << 10), &on(0, None), 1);
        database.take_in(judged("b", 0.4, 1 << 12), &on(0, Some(0)), 1);
        database.take_in(judged("c", 0.1, 1 << 14), &on(0, None), 1);
        database.note_asked(&on(0, None));
        assert_eq!(asked_of_all(&database, 4), [Some(0), None, Some(2), Some(0)]);
    }

    /// How many of 40 groups are asked for programs without a parent, where a program of `reward` comes of the fifth that is
    /// shown one.
    fn asked_anew(reward: f64) -> usize {
        let mut database = Database::new(1);
        database.take_in(judged("a", 0.2, 1 << 10), &on(0, None), 1);
        database.take_in(judged("b", 0.3, 1 << 12), &on(0, None), 1);
        let mut anew = 0;
        for group in 0..40 {
            let lineage = asked(&database, 0);
            anew += usize::from(lineage.parent.is_none());
            database.note_asked(&lineage);
            if group >= 5 && lineage.parent.is_some() {
                database.take_in(judged("c", reward, 1 << 14), &lineage, 2);
            }
        }
        anew
    }

    #[test]
    fn a_model_that_copies_what_it_is_shown_is_asked_for_programs_without_a_parent_too() {
        let (copies, improves) = (asked_anew(0.1), asked_anew(0.9));
        assert!((16..=24).contains(&copies), "{copies} of 40");
        assert!((1..=6).contains(&improves), "{improves} of 40");
    }

    #[test]
    fn a_search_that_began_with_a_program_goes_on_from_it() {
        let mut database = Database::new(1);
        database.begin_with(judged("initial", 0.1, 1 << 10));
        (0..50).for_each(|_| database.note_asked(&on(0, Some(0))));
        assert_eq!(asked_of_all(&database, 2), [Some(0), Some(0)]);
    }

    #[test]
    fn groups_of_a_round_are_asked_of_siblings_where_all_descend_from_one_program() {
        let mut database = Database::new(1);
        database.begin_with(judged("initial", 0.1, 1 << 10));
        database.take_in(judged("a", 0.5, 1 << 12), &on(0, Some(0)), 1);
        database.take_in(judged("b", 0.4, 1 << 14), &on(0, Some(0)), 1);
        assert_eq!(asked_of_all(&database, 2), [Some(1), Some(2)]);
    }

    #[test]
    fn a_program_is_asked_less_once_its_descendants_were() {
        let mut database = Database::new(1);
        database.begin_with(judged("initial", 0.1, 1 << 10));
        database.take_in(judged("a", 0.5, 1 << 12), &on(0, Some(0)), 1);
        database.take_in(judged("b", 0.49, 1 << 14), &on(0, Some(0)), 1);
        // The program to begin with has reached what `a` has, and was asked by each of these groups through it.
        (0..20).for_each(|_| database.note_asked(&on(0, Some(1))));
        assert_eq!(asked(&database, 0).parent, Some(2));
    }

    #[test]
    fn an_island_does_not_go_back_to_the_beginning_for_what_another_one_reached() {
        let mut database = Database::new(2);
        database.begin_with(judged("initial", 0.5, 1 << 10));
        database.take_in(judged("far", 0.9, 1 << 12), &on(0, Some(0)), 1);
        database.take_in(judged("near", 0.7, 1 << 12), &on(1, Some(0)), 1);
        assert_eq!(database.candidates()[0].reached, 0.9);
        assert_eq!(asked(&database, 1).parent, Some(2));
    }

    #[test]
    fn the_best_moves_to_the_next_island() {
        let mut database = Database::new(2);
        database.take_in(judged("a", 0.5, 1000), &on(0, None), 1);
        database.migrate();
        assert_eq!(database.island(1)[0].id, 0);
    }
}
