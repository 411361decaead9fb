//! A batch of sequences on a GPU: starts from prompts that are in the cache, and brings drawn tokens to the host.

use std::collections::VecDeque;

use candle_core::{DType, Device, Result, Tensor};

use super::kernels::{FillCache, MoveRows, NOT_FINITE, THREADS};
use super::machine::{Machine, Memory};
use super::step::{Buffers, CHUNK, Shapes, Step};
use super::view::{DecoderView, WeightLayout};
use super::weights::Weights;
use crate::RopeTable;

/// How many tokens a batch draws, and at which temperature.
#[derive(Debug, Clone, Copy)]
pub struct Drawing {
    /// Sequences per prompt.
    pub copies: usize,
    /// Tokens that a sequence may grow by.
    pub longest: usize,
    /// Divisor of the logits.
    pub temperature: f64,
    /// Whether a step is recorded and replayed, if the machine can.
    pub record: bool,
}

/// Tokens of one chunk on the host.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// For each row a token for each place of the chunk; `None` if the logits were not finite.
    pub tokens: Vec<Vec<Option<u32>>>,
    /// Their log-probabilities, in nats.
    pub logprobs: Vec<Vec<f32>>,
}

/// A batch on some machine.
pub(super) trait Rows {
    fn rows(&self) -> usize;
    fn enqueue(&mut self, count: usize, uniforms: &[f64]) -> Result<()>;
    fn collect(&mut self) -> Result<Option<Drawn>>;
    fn keep(&mut self, live: &[usize]) -> Result<Vec<usize>>;
}

/// Prompts that tensor operations have fed to the model.
pub struct Prefilled {
    /// Logits of the next token, `(prompts, vocab_size)`.
    pub logits: Tensor,
    /// Rotated keys and values of each layer, `(prompts, key heads, slots or more, width)`.
    pub keys_values: Vec<(Tensor, Tensor)>,
    /// Slot of each prompt's first token.
    pub first: Vec<usize>,
    /// Slots written.
    pub slots: usize,
}

/// A chunk of tokens that the GPU may still be working on.
struct Flight<M: Machine> {
    pending: M::Pending,
    rows: usize,
    count: usize,
}

/// A batch that decodes.
struct Batch<M: Machine> {
    step: Step<M>,
    rows: usize,
    /// Slots written; the GPU keeps its own count.
    slots: usize,
    /// The recorded step for the present number of rows.
    recording: Option<M::Recording>,
    /// Whether a step has run for the present number of rows. The first launch of a kernel may load code, which must
    /// not be recorded.
    warm: bool,
    /// Whether steps are recorded; false once the machine has answered that it cannot record.
    records: bool,
    first: Vec<u32>,
    /// Chunks that have not been collected, the oldest first.
    flights: VecDeque<Flight<M>>,
}

/// Starts a batch on `machine`, with each prompt repeated and the weights in this layout.
pub(super) fn start<M: Machine + 'static>(
    machine: M,
    view: &DecoderView,
    layout: WeightLayout,
    prompts: &Prefilled,
    drawing: Drawing,
) -> Result<Box<dyn Rows>> {
    let (capacity, dtype) = (prompts.slots + drawing.longest, view.embedding.dtype());
    let shapes = Shapes {
        model: view.sizes.clone(),
        layers: view.layers.len(),
        dtype,
        rows: prompts.first.len() * drawing.copies,
        capacity,
        inverse_temperature: (1.0 / drawing.temperature) as f32,
    };
    let rope = RopeTable::new(&view.sizes.angles, capacity, &Device::Cpu)?;
    let weights = Weights::adopt(&machine, view, layout)?;
    let buffers = Buffers::new(&machine, &shapes, rope.rows(), weights.joint_width())?;
    Ok(Box::new(Batch::begin(Step { machine, weights, buffers, shapes }, prompts, drawing)?))
}

impl<M: Machine> Batch<M> {
    /// Starts with copies of each prompt, next to each other.
    fn begin(step: Step<M>, prompts: &Prefilled, drawing: Drawing) -> Result<Self> {
        let Shapes { rows, capacity, dtype, ref model, .. } = step.shapes;
        let heads = model.heads;
        let of: Vec<u32> = (0..rows).map(|row| (row / drawing.copies) as u32).collect();
        let first: Vec<u32> = of.iter().map(|prompt| prompts.first[*prompt as usize] as u32).collect();
        let machine = &step.machine;
        let of_prompt = machine.zeros(rows * 4)?;
        machine.write(&of_prompt, &words(&of))?;
        for ((keys, values), (from_keys, from_values)) in step.buffers.cache.iter().zip(&prompts.keys_values) {
            for (to, from) in [(keys, from_keys), (values, from_values)] {
                let from = machine.adopt(&from.to_dtype(dtype)?.contiguous()?)?;
                let from_capacity = prompts.keys_values[0].0.dim(2)?;
                let params = FillCache {
                    to: to.address(),
                    from: from.address(),
                    of: of_prompt.address(),
                    key_heads: heads.keys as u32,
                    capacity: capacity as u32,
                    from_capacity: from_capacity as u32,
                    head: heads.width as u32,
                    slots: prompts.slots as u32,
                    padding: 0,
                };
                step.typed("fill_cache", [rows, heads.keys, 1], THREADS, &params)?;
            }
        }
        let ids = Tensor::from_vec(of, rows, prompts.logits.device())?;
        let logits = prompts.logits.to_dtype(DType::F32)?.index_select(&ids, 0)?;
        machine.copy(&step.buffers.logits, 0, &machine.adopt(&logits)?, rows * model.vocab_size * 4)?;
        machine.write(&step.buffers.first, &words(&first))?;
        machine.write(&step.buffers.slot, &words(&[prompts.slots as u32]))?;
        Ok(Batch {
            step,
            rows,
            slots: prompts.slots,
            recording: None,
            warm: false,
            records: drawing.record,
            first,
            flights: VecDeque::new(),
        })
    }

    fn token(&mut self) -> Result<()> {
        if self.warm && self.records && self.recording.is_none() {
            let (step, rows) = (&self.step, self.rows);
            self.recording = step.machine.record(&mut || step.token(rows))?;
            self.records = self.recording.is_some();
        }
        self.warm = true;
        match &self.recording {
            // Safety: the recording uses memory of `self.step`, which lives as long as the recording.
            Some(recording) => unsafe { self.step.machine.replay(recording) },
            None => self.step.token(self.rows),
        }
    }

    /// Copies the cache and the logits of row `from` over those of row `to`, for each pair.
    fn move_rows(&self, moves: &[(usize, usize)]) -> Result<()> {
        let Shapes { capacity, dtype, ref model, .. } = self.step.shapes;
        let heads = model.heads;
        let machine = &self.step.machine;
        let list = |part: fn(&(usize, usize)) -> usize| -> Result<M::Memory> {
            let rows: Vec<u32> = moves.iter().map(|pair| part(pair) as u32).collect();
            let memory = machine.zeros(rows.len() * 4)?;
            machine.write(&memory, &words(&rows))?;
            Ok(memory)
        };
        let (from, to) = (list(|(from, _)| *from)?, list(|(_, to)| *to)?);
        let params = |cache: &M::Memory| MoveRows {
            cache: cache.address(),
            from: from.address(),
            to: to.address(),
            key_heads: heads.keys as u32,
            capacity: capacity as u32,
            head: heads.width as u32,
            slots: self.slots as u32,
        };
        let Buffers { cache, logits, .. } = &self.step.buffers;
        for memory in cache.iter().flat_map(|(keys, values)| [keys, values]) {
            self.step.typed("move_rows", [moves.len(), heads.keys, 1], THREADS, &params(memory))?;
        }
        // Logits are copied as one head of one slot that is as wide as the vocabulary.
        let row = MoveRows { key_heads: 1, capacity: 1, head: model.vocab_size as u32, slots: 1, ..params(logits) };
        let kernel = super::kernels::name("move_rows", DType::F32)?;
        debug_assert!(dtype.size_in_bytes() <= 4);
        // Safety: `logits` holds a row of f32 for every row named, and the lists live until the end of this function;
        // the machine reuses freed memory only in the order of its queue.
        unsafe { machine.launch(&kernel, [moves.len(), 1, 1], THREADS, &row) }
    }
}

impl<M: Machine> Rows for Batch<M> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn enqueue(&mut self, count: usize, uniforms: &[f64]) -> Result<()> {
        assert!(count <= CHUNK && uniforms.len() == count * self.rows, "uniforms of a chunk");
        assert!(self.slots + count <= self.step.shapes.capacity, "the cache is full");
        let spread = uniforms.chunks(count.max(1)).flat_map(|row| {
            row.iter().copied().chain(std::iter::repeat_n(0.0, CHUNK - count)).flat_map(f64::to_le_bytes)
        });
        let (machine, buffers) = (&self.step.machine, &self.step.buffers);
        machine.write(&buffers.uniforms, &spread.collect::<Vec<u8>>())?;
        machine.write(&buffers.place, &words(&[0]))?;
        for _ in 0..count {
            self.token()?;
        }
        self.slots += count;
        let pending = self.step.machine.read(&self.step.buffers.drawn, 8 * self.step.shapes.rows * CHUNK)?;
        self.flights.push_back(Flight { pending, rows: self.rows, count });
        Ok(())
    }

    fn collect(&mut self) -> Result<Option<Drawn>> {
        let Some(Flight { pending, rows, count }) = self.flights.pop_front() else { return Ok(None) };
        let bytes = self.step.machine.wait(pending)?;
        let (all, _) = bytes.as_chunks::<4>();
        let (tokens, logprobs) = all.split_at(all.len() / 2);
        let token = |word: &[u8; 4]| Some(u32::from_le_bytes(*word)).filter(|token| *token != NOT_FINITE);
        let tokens = tokens.chunks(CHUNK).take(rows).map(|row| row[..count].iter().map(token).collect());
        let logprobs = logprobs.chunks(CHUNK).take(rows);
        let logprobs = logprobs.map(|row| row[..count].iter().map(|word| f32::from_le_bytes(*word)).collect());
        Ok(Some(Drawn { tokens: tokens.collect(), logprobs: logprobs.collect() }))
    }

    /// Surviving rows among the first `live.len()` stay where they are, and the others fill the gaps.
    fn keep(&mut self, live: &[usize]) -> Result<Vec<usize>> {
        assert!(self.flights.is_empty(), "a chunk is still on its way");
        let count = live.len();
        let mut order: Vec<usize> = (0..count).collect();
        let gaps = (0..count).filter(|row| live.binary_search(row).is_err());
        let moves: Vec<(usize, usize)> = live.iter().copied().filter(|row| *row >= count).zip(gaps).collect();
        for (from, to) in &moves {
            order[*to] = *from;
        }
        if !moves.is_empty() {
            self.move_rows(&moves)?;
        }
        self.first = order.iter().map(|row| self.first[*row]).collect();
        self.step.machine.write(&self.step.buffers.first, &words(&self.first))?;
        (self.rows, self.recording, self.warm) = (count, None, false);
        Ok(order)
    }
}

/// Bytes in little-endian order, which GPUs and the supported processors have.
fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
