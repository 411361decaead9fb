//! A batch on a machine, put together.

use std::collections::VecDeque;

use candle_core::{DType, Device, Result};

use super::batch::{Batch, Flight, Prefilled};
use super::machine::Machine;
use super::step::{Buffers, Shapes, Step};
use super::weights::{Weights, alike};
use super::{CHUNK, DeviceBatch, Drawing, Drawn, Rows, kernels};
use crate::policy::kernels::RopeTable;
use crate::policy::sampling::Snapshot;
use crate::policy::{Decoder, DecoderConfig};

/// A batch and the chunks in flight.
struct Queue<M: Machine> {
    batch: Batch<M>,
    flights: VecDeque<Flight<M>>,
}

impl<M: Machine> Rows for Queue<M> {
    fn rows(&self) -> usize {
        self.batch.rows()
    }

    fn enqueue(&mut self, count: usize, uniforms: &[f64]) -> Result<()> {
        let flight = self.batch.enqueue(count, uniforms)?;
        self.flights.push_back(flight);
        Ok(())
    }

    fn collect(&mut self) -> Result<Option<Drawn>> {
        self.flights.pop_front().map(|flight| self.batch.collect(flight)).transpose()
    }

    fn keep(&mut self, live: &[usize]) -> Result<Vec<usize>> {
        assert!(self.flights.is_empty(), "a chunk is still on its way");
        self.batch.keep(live)
    }
}

/// Whether the kernels can run this model, with sequences of so many tokens.
pub(super) fn supported(config: &DecoderConfig, weights: &Snapshot, dtype: DType, slots: usize) -> bool {
    config.is_plain(slots)
        && config.head_dim.is_multiple_of(kernels::HEAD_STEP)
        && config.head_dim <= kernels::LARGEST_HEAD
        && config.vocab_size <= kernels::LARGEST_VOCABULARY
        && matches!(dtype, DType::F32 | DType::BF16 | DType::F16)
        && alike(weights)
}

/// A batch on `machine`: prompts that have been fed, repeated; `dtype` is the type of weights, activations and cache.
pub(super) fn start<M: Machine + 'static>(
    machine: M,
    (decoder, weights): (&Decoder, &Snapshot),
    prompts: &Prefilled,
    drawing: Drawing,
    dtype: DType,
) -> Result<DeviceBatch> {
    let capacity = prompts.slots + drawing.longest;
    let shapes = Shapes {
        model: decoder.config().clone(),
        heads: decoder.config().heads(),
        dtype,
        rows: prompts.first.len() * drawing.copies,
        capacity,
        chunk: CHUNK,
        inverse_temperature: (1.0 / drawing.temperature) as f32,
    };
    let rope = RopeTable::new(decoder.config(), capacity, &Device::Cpu)?;
    let weights = Weights::adopt(&machine, decoder, weights, dtype)?;
    let buffers = Buffers::new(&machine, &shapes, rope.rows(), weights.low_width())?;
    let batch = Batch::begin(Step { machine, weights, buffers, shapes }, prompts, (drawing.copies, drawing.record))?;
    Ok(DeviceBatch { rows: Box::new(Queue { batch, flights: VecDeque::new() }) })
}
