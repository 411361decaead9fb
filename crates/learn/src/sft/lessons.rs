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
use super::left_out::{LeftOut, Unread};

/// Wrong programs of a task whose repairs are read, at most.
const REPAIRS_MOST: usize = 16;
/// Tasks whose programs are judged together: as many as keep all workers busy, and few enough that their programs fit into memory.
const TASKS_AT_ONCE: usize = 256;
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

/// A task, by its number among all.
struct Asked<'a> {
    number: usize,
    task: &'a Task,
}

/// What is read of one task if its reference, the first of its programs, passes.
struct Draft<'a> {
    prompt: &'a Prompt,
    first: Example,
    /// The others are mutants of the first.
    sources: Vec<String>,
    cases: Vec<Case>,
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
    /// Makes the lessons of all tasks. `on_task` is called with the number of tasks that are done, as that grows.
    ///
    /// # Errors
    /// [`SftError::NoLessons`] if there are none to train on, or none to measure the loss on.
    pub fn new(source: &LessonSource<'_>, on_task: &mut dyn FnMut(usize)) -> Result<Lessons, SftError> {
        let tasks = source.arena.environment().tasks().map_or(&[][..], Tasks::tasks);
        let (mut lessons, mut left_out) = (Vec::new(), Vec::new());
        let asked = tasks.iter().enumerate().map(|(number, task)| Asked { number, task });
        let asked: Vec<Asked<'_>> = asked.filter(|asked| !asked.task.is_honeypot).collect();
        for some in asked.chunks(TASKS_AT_ONCE) {
            for (Asked { task, .. }, lesson) in some.iter().zip(source.lessons(some, on_task)?) {
                match lesson {
                    Ok(lesson) => lessons.push(lesson),
                    Err(why) => left_out.push(LeftOut { id: task.id.clone(), why }),
                }
            }
        }
        let found = lessons.len();
        let evaluated = lessons.iter().any(|lesson| lesson.split == Split::HeldOut);
        let (mut trained, mut held_out) = (Vec::new(), Vec::new());
        for (number, lesson) in lessons.into_iter().enumerate() {
            let kept = if evaluated { lesson.split == Split::HeldOut } else { number % HELD_OUT_ONE_IN == 1 };
            if kept { held_out.push(lesson) } else { trained.push(lesson) }
        }
        if trained.is_empty() || held_out.is_empty() {
            return Err(SftError::NoLessons { found, tasks: tasks.len(), left_out });
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
    /// The lessons of some tasks, or why there is none. All their programs are judged together, so that no worker waits for
    /// those of one task. `on_task` is called after each program, with the number of tasks that would be done if they were judged
    /// in their order.
    fn lessons(
        &self,
        asked: &[Asked<'_>],
        on_task: &mut dyn FnMut(usize),
    ) -> Result<Vec<Result<Lesson, Unread>>, SftError> {
        let drafts: Vec<Option<Draft<'_>>> = asked.iter().map(|asked| self.draft(asked)).collect::<Result<_, _>>()?;
        let programs = drafts.iter().flatten().flat_map(|draft| {
            draft.sources.iter().map(|source| (self.arena.program(source, draft.cases[0]), draft.cases.as_slice()))
        });
        let mut numbers = asked.iter().zip(&drafts).flat_map(|(asked, draft)| {
            let count = draft.as_ref().map_or(0, |draft| draft.sources.len());
            std::iter::repeat_n(asked.number, count)
        });
        let mut on_evaluated = |_, _: &Evaluation| on_task(numbers.next().map_or(0, |number| number + 1));
        let mut evaluations = self.arena.evaluate_all(programs, &mut on_evaluated)?.into_iter();
        let mut lesson = |task: &Task, draft: Option<Draft<'_>>| match draft {
            Some(draft) => {
                let own: Vec<Evaluation> = evaluations.by_ref().take(draft.sources.len()).collect();
                self.lesson(task, draft, &own)
            }
            None => Ok(Err(Unread::Unsuited)),
        };
        asked.iter().zip(drafts).map(|(asked, draft)| lesson(asked.task, draft)).collect()
    }

    /// What a task gives to judge; `None` where its reference is [`Unread::Unsuited`].
    fn draft(&self, asked: &Asked<'_>) -> Result<Option<Draft<'_>>, SftError> {
        let Some(prompt) = self.prompts.of_task(asked.number as u32) else { return Ok(None) };
        let Some(reference) = asked.task.reference_from(&prompt.prefill) else { return Ok(None) };
        let Some(first) = Example::new(prompt, &reference, self.policy)? else { return Ok(None) };
        let mut sources = vec![reference.to_string()];
        if self.prompts.turns().is_some() {
            let mutants = program::mutants(&reference).into_iter();
            sources.extend(mutants.filter(|source| source.starts_with(&prompt.prefill)));
        }
        Ok(Some(Draft { prompt, first, sources, cases: Case::all(prompt.task, &[]) }))
    }

    /// The lesson of a task, by what came of its programs.
    fn lesson(
        &self,
        task: &Task,
        draft: Draft<'_>,
        evaluations: &[Evaluation],
    ) -> Result<Result<Lesson, Unread>, SftError> {
        if !evaluations[0].plays() {
            // Nothing is known of a reference that was judged in another order.
            if task.reference.as_ref() != draft.sources.first() {
                return Ok(Err(Unread::Unsuited));
            }
            return Ok(Err(Unread::Fails(reason(&evaluations[0]))));
        }
        let repairs = match self.prompts.turns() {
            Some(format) => self.repairs(&draft, format, evaluations)?,
            None => Vec::new(),
        };
        Ok(Ok(Lesson { split: task.split, first: draft.first, repairs }))
    }

    /// The reference as the answer to what is told of it with one token changed, of those that fail, spread over its length.
    fn repairs(
        &self,
        draft: &Draft<'_>,
        format: &TurnFormat,
        evaluations: &[Evaluation],
    ) -> Result<Vec<Example>, SftError> {
        let (environment, tokenizer) = (self.arena.environment(), self.policy.tokenizer());
        let Draft { prompt, sources, cases, .. } = draft;
        let programs = sources.iter().zip(evaluations);
        let failed: Vec<(&String, &Evaluation)> = programs.filter(|(_, evaluation)| !evaluation.plays()).collect();
        let every = failed.len().div_ceil(REPAIRS_MOST).max(1);
        let repair = |&(source, evaluation): &(&String, &Evaluation)| {
            let text = feedback(environment, cases, evaluation, self.feedback);
            let written = tokenizer.encode_further(&prompt.answer(source));
            let told = format.suffix(prompt, &written, &text, tokenizer);
            Example::new(&prompt.continued(&written, &told), &sources[0], self.policy).transpose()
        };
        failed.iter().step_by(every).filter_map(repair).collect()
    }
}

/// Why a program fails: by its first test that does, where it has come to any.
fn reason(evaluation: &Evaluation) -> String {
    let failed = evaluation.games.iter().filter_map(Outcome::tests).find_map(|tests| tests.failed.as_ref());
    failed.map(|failed| failed.reason.clone()).or_else(|| evaluation.reason()).unwrap_or_default()
}
