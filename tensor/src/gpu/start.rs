//! Puts a batch together on a machine.

use std::collections::VecDeque;

use candle_core::{Device, Result};

use super::batch::{Batch, Flight, Prefilled};
use super::drawing::{CHUNK, Drawing, Drawn, Rows};
use super::machine::Machine;
use super::step::{Buffers, Shapes, Step};
use super::view::{DecoderView, WeightLayout};
use super::weights::Weights;
use crate::RopeTable;

/// A batch and its chunks that have not been collected.
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
        chunk: CHUNK,
        inverse_temperature: (1.0 / drawing.temperature) as f32,
    };
    let rope = RopeTable::new(&view.sizes.angles, capacity, &Device::Cpu)?;
    let weights = Weights::adopt(&machine, view, layout)?;
    let buffers = Buffers::new(&machine, &shapes, rope.rows(), weights.joint_width())?;
    let batch = Batch::begin(Step { machine, weights, buffers, shapes }, prompts, drawing)?;
    Ok(Box::new(Queue { batch, flights: VecDeque::new() }))
}
