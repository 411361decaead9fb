//! Lessons of tasks: a task's reference as the answer to its prompt and, where there are several turns, as the answer to what
//! is told of a program that fails.
//!
//! The programs that fail are the references with one token changed, judged like those of a policy, as is each reference itself:
//! one that fails its own tests teaches nothing.

use rand::Rng;

use crate::arena::{Arena, Evaluation};
use crate::config::Feedback;
use crate::environment::tasks::{Split, Task, Tasks};
use crate::environment::{Case, Outcome};
use crate::feedback::feedback;
use crate::policy::Policy;
use crate::program;
use crate::prompt::{Prompt, PromptSet, TurnFormat};
use crate::seed::{Purpose, Seed};

use super::SftError;
use super::batches::Example;

/// Wrong programs of a task whose repairs are read, at most.
const REPAIRS_MOST: usize = 16;
/// Of tasks none of which is for evaluation, one in so many is not trained on, so that a loss can be measured.
const HELD_OUT_ONE_IN: usize = 8;

/// What a model reads of tasks.
#[derive(Debug)]
pub struct Lessons {
    trained: Vec<Lesson>,
    held_out: Vec<Lesson>,
    /// The tasks that none is of.
    pub left_out: Vec<LeftOut>,
}

/// A task of which nothing is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub id: String,
    pub why: Unread,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    /// There is no reference, or one that does not begin like the prompt's program or is too long for the model.
    Unsuited,
    /// The reference fails its own tests, for this reason.
    Fails(String),
}

/// A program, and what came of it.
struct Judged<'a> {
    source: &'a str,
    evaluation: &'a Evaluation,
}

/// What is read of one task.
#[derive(Debug)]
struct Lesson {
    split: Split,
    first: Example,
    repairs: Vec<Example>,
}

pub struct LessonSource<'a> {
    /// The tasks, and what judges programs for them.
    pub arena: &'a Arena,
    /// The prompts of the tasks. Repairs are read if they are for several turns.
    pub prompts: &'a PromptSet,
    pub policy: &'a Policy,
    /// What is told of a program that fails.
    pub feedback: Feedback,
}

impl Lessons {
    /// Makes the lessons of all tasks. `on_task` is called with the number of tasks that are done, after each.
    ///
    /// # Errors
    /// [`SftError::NoLessons`] if there are none to train on, or none to measure the loss on.
    pub fn new(source: &LessonSource<'_>, on_task: &mut dyn FnMut(usize)) -> Result<Lessons, SftError> {
        let tasks = source.arena.environment().tasks().map_or(&[][..], Tasks::tasks);
        let (mut lessons, mut left_out) = (Vec::new(), Vec::new());
        for (number, task) in tasks.iter().enumerate().filter(|(_, task)| !task.is_honeypot) {
            match source.lesson(number as u32, task)? {
                Ok(lesson) => lessons.push(lesson),
                Err(why) => left_out.push(LeftOut { id: task.id.clone(), why }),
            }
            on_task(number + 1);
        }
        let found = lessons.len();
        let evaluated = lessons.iter().any(|lesson| lesson.split == Split::HeldOut);
        let (mut trained, mut held_out) = (Vec::new(), Vec::new());
        for (number, lesson) in lessons.into_iter().enumerate() {
            let kept = if evaluated { lesson.split == Split::HeldOut } else { number % HELD_OUT_ONE_IN == 1 };
            if kept { held_out.push(lesson) } else { trained.push(lesson) }
        }
        if trained.is_empty() || held_out.is_empty() {
            return Err(SftError::NoLessons { found, tasks: tasks.len() });
        }
        Ok(Lessons { trained, held_out, left_out })
    }

    fn all(&self) -> impl Iterator<Item = &Lesson> {
        self.trained.iter().chain(&self.held_out)
    }

    /// Token ids of what is read before a program, and of the program, of every example.
    pub fn examples(&self) -> impl Iterator<Item = (&[u32], &[u32])> {
        self.all().flat_map(|Lesson { first, repairs, .. }| [first].into_iter().chain(repairs)).map(Example::parts)
    }

    /// Number of tasks whose references are read.
    pub fn references(&self) -> usize {
        self.all().count()
    }

    /// Number of conversations of repair.
    pub fn repairs(&self) -> usize {
        self.all().map(|lesson| lesson.repairs.len()).sum()
    }

    /// A digest of all that is read, in hex.
    pub fn digest(&self) -> String {
        let mut digest = blake3::Hasher::new();
        for (prompt, answer) in self.examples() {
            for part in [prompt, answer] {
                digest.update(&(part.len() as u64).to_le_bytes());
                for id in part {
                    digest.update(&id.to_le_bytes());
                }
            }
        }
        digest.finalize().to_hex().to_string()
    }

    /// Examples of about `tokens` tokens in all, drawn by `seed`: of each task as many as of any other, and as many repairs as
    /// first programs.
    pub(super) fn batch(&self, seed: Seed, tokens: usize) -> Vec<Example> {
        drawn(&self.trained, seed, tokens)
    }

    /// The same of tasks that are not trained on.
    pub(super) fn held_out(&self, seed: Seed, tokens: usize) -> Vec<Example> {
        drawn(&self.held_out, seed, tokens)
    }
}

fn drawn(lessons: &[Lesson], seed: Seed, tokens: usize) -> Vec<Example> {
    let mut rng = seed.child(Purpose::Corpus, 0).rng();
    let (mut examples, mut total) = (Vec::new(), 0);
    while total < tokens {
        let Lesson { first, repairs, .. } = &lessons[rng.random_range(0..lessons.len())];
        let repaired = !repairs.is_empty() && rng.random::<bool>();
        let example = if repaired { &repairs[rng.random_range(0..repairs.len())] } else { first };
        total += example.tokens();
        examples.push(example.clone());
    }
    examples
}

impl LessonSource<'_> {
    /// The lesson of a task, or why there is none.
    fn lesson(&self, number: u32, task: &Task) -> Result<Result<Lesson, Unread>, SftError> {
        let Some((reference, prompt)) = task.reference.as_deref().zip(self.prompts.of_task(number)) else {
            return Ok(Err(Unread::Unsuited));
        };
        if !reference.starts_with(&prompt.prefill) {
            return Ok(Err(Unread::Unsuited));
        }
        let Some(first) = Example::new(prompt, reference, self.policy)? else { return Ok(Err(Unread::Unsuited)) };
        let mut sources = vec![reference.to_owned()];
        if self.prompts.turns().is_some() {
            let mutants = program::mutants(reference).into_iter();
            sources.extend(mutants.filter(|source| source.starts_with(&prompt.prefill)));
        }
        let cases = Case::all(prompt.task, &[]);
        let programs = sources.iter().map(|source| (self.arena.program(source, cases[0]), cases.as_slice()));
        let evaluations = self.arena.evaluate_all(programs, &mut |_, _| ())?;
        if !evaluations[0].plays() {
            return Ok(Err(Unread::Fails(reason(&evaluations[0]))));
        }
        let programs = sources.iter().zip(&evaluations).map(|(source, evaluation)| Judged { source, evaluation });
        let failed: Vec<Judged<'_>> = programs.filter(|program| !program.evaluation.plays()).collect();
        let repairs = match self.prompts.turns() {
            Some(format) => self.repairs(reference, prompt, format, &failed)?,
            None => Vec::new(),
        };
        Ok(Ok(Lesson { split: task.split, first, repairs }))
    }

    /// The reference as the answer to what is told of it with one token changed, of those that have `failed`, spread over its
    /// length.
    fn repairs(
        &self,
        reference: &str,
        prompt: &Prompt,
        format: &TurnFormat,
        failed: &[Judged<'_>],
    ) -> Result<Vec<Example>, SftError> {
        let (environment, tokenizer) = (self.arena.environment(), self.policy.tokenizer());
        let cases = Case::all(prompt.task, &[]);
        let every = failed.len().div_ceil(REPAIRS_MOST).max(1);
        let repair = |Judged { source, evaluation }: &Judged<'_>| {
            let text = feedback(environment, &cases, evaluation, self.feedback);
            let written = tokenizer.encode_further(&prompt.answer(source));
            let told = format.suffix(prompt, &written, &text, tokenizer);
            Example::new(&prompt.continued(&written, &told), reference, self.policy).transpose()
        };
        failed.iter().step_by(every).filter_map(repair).collect()
    }
}

/// Why a program fails: by its first test that does, where it has come to any.
fn reason(evaluation: &Evaluation) -> String {
    let failed = evaluation.games.iter().filter_map(Outcome::tests).find_map(|tests| tests.failed.as_ref());
    failed.map(|failed| failed.reason.clone()).or_else(|| evaluation.reason()).unwrap_or_default()
}
