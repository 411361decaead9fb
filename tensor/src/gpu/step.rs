//! One decoding step: the kernels and products that draw and feed a token for every row, in order, over buffers that
//! never move.

use candle_core::{DType, Result};

use super::kernels::{
    self, ADAPT_ROWS, ATTEND_THREADS, Adapt, AddNorm, Advance, Attend, Embed, GROUP, Params, ROTATE_THREADS, Rotate,
    SAMPLE_THREADS, Sample, SiluMul, THREADS,
};
use super::machine::{Machine, Memory, Product};
use super::view::Sizes;
use super::weights::{Adapter, LayerWeights, Maps, Matrix, Weights, address_or_none};

/// Slots of the cache that one block of `attend` goes through; a multiple of its threads.
const SPLIT: usize = 128;

/// Tokens that are drawn between two looks of the host. A larger chunk notices stops later.
pub const CHUNK: usize = 8;

/// Sizes of a batch.
#[derive(Debug, Clone)]
pub(super) struct Shapes {
    pub model: Sizes,
    pub layers: usize,
    /// Type of weights, activations and cache.
    pub dtype: DType,
    pub rows: usize,
    /// Slots of the cache.
    pub capacity: usize,
    pub inverse_temperature: f32,
}

impl Shapes {
    fn splits(&self) -> usize {
        self.capacity.div_ceil(SPLIT)
    }

    /// Bytes of one layer's keys or values.
    fn cache_bytes(&self) -> usize {
        self.rows * self.model.heads.keys * self.capacity * self.model.heads.width * self.dtype.size_in_bytes()
    }
}

/// The buffers that a step reads and writes, except the weights.
pub(super) struct Buffers<M: Machine> {
    hidden: M::Memory,
    normed: M::Memory,
    delta: M::Memory,
    qkv: M::Memory,
    query: M::Memory,
    partial: M::Memory,
    mixed: M::Memory,
    gate_up: M::Memory,
    inner: M::Memory,
    /// f32: products of `x` with weights and the first factors of their adapters, side by side.
    joint: M::Memory,
    /// f32 `(rows, vocabulary)`.
    pub logits: M::Memory,
    /// u32 `(rows,)`: tokens that are fed next.
    pub ids: M::Memory,
    /// u32 `(rows, chunk)`, then f32 `(rows, chunk)`: tokens drawn and their log-probabilities.
    pub drawn: M::Memory,
    /// f64 `(rows, chunk)`.
    pub uniforms: M::Memory,
    /// u32 `(rows,)`: slot of each row's first token.
    pub first: M::Memory,
    /// u32: slot that the next token is written to.
    pub slot: M::Memory,
    /// u32: place in the chunk.
    pub place: M::Memory,
    /// Keys and values of each layer.
    pub cache: Vec<(M::Memory, M::Memory)>,
    angles: M::Memory,
}

impl<M: Machine> Buffers<M> {
    /// Buffers filled with zeros. `angles`: cosines and sines by position; `joint`: width of the products of maps with
    /// adapters.
    pub fn new(machine: &M, shapes: &Shapes, angles: &[f32], joint: usize) -> Result<Self> {
        let Shapes { model, rows, .. } = shapes;
        let heads = model.heads;
        let of_type = |width: usize| machine.zeros(rows * width * shapes.dtype.size_in_bytes());
        let words = |count: usize| machine.zeros(count * 4);
        let bytes: Vec<u8> = angles.iter().flat_map(|angle| angle.to_le_bytes()).collect();
        let table = machine.zeros(bytes.len())?;
        machine.write(&table, &bytes)?;
        let layer = |_| Ok((machine.zeros(shapes.cache_bytes())?, machine.zeros(shapes.cache_bytes())?));
        Ok(Buffers {
            hidden: of_type(model.hidden_size)?,
            normed: of_type(model.hidden_size)?,
            delta: of_type(model.hidden_size)?,
            qkv: of_type(heads.total())?,
            query: of_type(heads.queries * heads.width)?,
            partial: words(rows * heads.queries * shapes.splits() * (heads.width + 2))?,
            mixed: of_type(heads.queries * heads.width)?,
            gate_up: of_type(2 * model.intermediate_size)?,
            inner: of_type(model.intermediate_size)?,
            joint: words(rows * joint)?,
            logits: words(rows * model.vocab_size)?,
            ids: words(*rows)?,
            drawn: words(2 * rows * CHUNK)?,
            uniforms: words(2 * rows * CHUNK)?,
            first: words(*rows)?,
            slot: words(1)?,
            place: words(1)?,
            cache: (0..shapes.layers).map(layer).collect::<Result<_>>()?,
            angles: table,
        })
    }
}

/// Destination of a product: numbers of `dtype`, whose rows begin `stride` numbers apart.
#[derive(Clone, Copy)]
struct Out {
    address: u64,
    stride: usize,
    dtype: DType,
}

/// What a product maps: `(rows, inputs)`, contiguous, in the type of the model.
struct Input<'a, M: Machine> {
    memory: &'a M::Memory,
    rows: usize,
    inputs: usize,
}

pub(super) struct Step<M: Machine> {
    pub machine: M,
    pub weights: Weights<M>,
    pub buffers: Buffers<M>,
    /// Sizes of the buffers; the rows in use may be fewer.
    pub shapes: Shapes,
}

impl<M: Machine> Step<M> {
    /// Draws a token for each of the first `rows` rows and feeds it. Afterwards the logits are those of the next
    /// token.
    pub fn token(&self, rows: usize) -> Result<()> {
        self.sample(rows)?;
        self.embed(rows)?;
        for (index, layer) in self.weights.layers.iter().enumerate() {
            let delta = if index == 0 { 0 } else { self.buffers.delta.address() };
            self.attention(index, layer, delta, rows)?;
            self.feed_forward(layer, rows)?;
        }
        let Buffers { delta, normed, logits, .. } = &self.buffers;
        self.add_norm(&self.weights.norm, delta.address(), rows)?;
        let out = Out { address: logits.address(), stride: self.shapes.model.vocab_size, dtype: DType::F32 };
        let normed = Input { memory: normed, rows, inputs: self.shapes.model.hidden_size };
        self.product(out, &normed, &self.weights.head)?;
        let params = Advance { slot: self.buffers.slot.address(), step: self.buffers.place.address() };
        self.run("advance", [1, 1, 1], 1, &params)
    }

    fn sample(&self, rows: usize) -> Result<()> {
        let Buffers { ids, drawn, logits, uniforms, place, .. } = &self.buffers;
        let params = Sample {
            ids: ids.address(),
            tokens: drawn.address(),
            logps: drawn.address() + 4 * (self.shapes.rows * CHUNK) as u64,
            logits: logits.address(),
            uniforms: uniforms.address(),
            step: place.address(),
            vocabulary: self.shapes.model.vocab_size as u32,
            chunk: CHUNK as u32,
            inverse_temperature: self.shapes.inverse_temperature,
            padding: 0,
        };
        self.run("sample", [rows, 1, 1], SAMPLE_THREADS, &params)
    }

    fn embed(&self, rows: usize) -> Result<()> {
        let params = Embed {
            hidden: self.buffers.hidden.address(),
            embedding: self.weights.embedding.address(),
            ids: self.buffers.ids.address(),
            width: self.shapes.model.hidden_size as u32,
            padding: 0,
        };
        self.typed("embed", [rows, 1, 1], THREADS, &params)
    }

    /// Norm, queries, keys and values, attention, and output map. `delta` is first added to the hidden state; an
    /// address of 0 means that there is none.
    fn attention(&self, index: usize, layer: &LayerWeights<M>, delta: u64, rows: usize) -> Result<()> {
        let heads = self.shapes.model.heads;
        let Buffers { normed, qkv, mixed, delta: out, .. } = &self.buffers;
        self.add_norm(&layer.input_norm, delta, rows)?;
        let normed = Input { memory: normed, rows, inputs: self.shapes.model.hidden_size };
        self.map(qkv, &normed, &layer.query_key_value)?;
        self.rotate(index, layer, rows)?;
        let params = self.attend_params(index);
        let groups = (heads.queries / heads.keys).div_ceil(GROUP);
        self.typed("attend", [rows * heads.keys, self.shapes.splits(), groups], ATTEND_THREADS, &params)?;
        self.typed("combine", [rows * heads.queries, 1, 1], ATTEND_THREADS, &params)?;
        self.map(out, &Input { memory: mixed, rows, inputs: heads.queries * heads.width }, &layer.output)
    }

    fn feed_forward(&self, layer: &LayerWeights<M>, rows: usize) -> Result<()> {
        let (hidden, inner_width) = (self.shapes.model.hidden_size, self.shapes.model.intermediate_size);
        let Buffers { normed, delta, gate_up, inner, .. } = &self.buffers;
        self.add_norm(&layer.inner_norm, delta.address(), rows)?;
        let normed = Input { memory: normed, rows, inputs: hidden };
        if let Some(adapter) = &layer.gate_up.adapter {
            let params = self.joint(inner, &normed, &layer.gate_up, adapter)?;
            self.typed("adapt_gate", [inner_width.div_ceil(THREADS), rows.div_ceil(ADAPT_ROWS), 1], THREADS, &params)?;
        } else {
            self.map(gate_up, &normed, &layer.gate_up)?;
            let params =
                SiluMul { inner: inner.address(), gate_up: gate_up.address(), width: inner_width as u32, padding: 0 };
            self.typed("silu_mul", [rows, inner_width.div_ceil(THREADS), 1], THREADS, &params)?;
        }
        self.map(delta, &Input { memory: inner, rows, inputs: inner_width }, &layer.down)
    }

    fn add_norm(&self, weight: &M::Memory, delta: u64, rows: usize) -> Result<()> {
        let params = AddNorm {
            normed: self.buffers.normed.address(),
            hidden: self.buffers.hidden.address(),
            delta,
            weight: weight.address(),
            width: self.shapes.model.hidden_size as u32,
            epsilon: self.shapes.model.rms_norm_eps as f32,
        };
        self.typed("add_norm", [rows, 1, 1], THREADS, &params)
    }

    fn rotate(&self, index: usize, layer: &LayerWeights<M>, rows: usize) -> Result<()> {
        let heads = self.shapes.model.heads;
        let (keys, values) = &self.buffers.cache[index];
        let norms = layer.head_norms.as_ref();
        let params = Rotate {
            query: self.buffers.query.address(),
            keys: keys.address(),
            values: values.address(),
            qkv: self.buffers.qkv.address(),
            bias: address_or_none(layer.query_key_value.bias.as_ref()),
            query_norm: address_or_none(norms.map(|(query, _)| query)),
            key_norm: address_or_none(norms.map(|(_, key)| key)),
            angles: self.buffers.angles.address(),
            first: self.buffers.first.address(),
            slot: self.buffers.slot.address(),
            queries: heads.queries as u32,
            key_heads: heads.keys as u32,
            head: heads.width as u32,
            capacity: self.shapes.capacity as u32,
            epsilon: self.shapes.model.rms_norm_eps as f32,
            padding: 0,
        };
        self.typed("rotate", [rows, heads.queries + 2 * heads.keys, 1], ROTATE_THREADS, &params)
    }

    fn attend_params(&self, index: usize) -> Attend {
        let heads = self.shapes.model.heads;
        let (keys, values) = &self.buffers.cache[index];
        Attend {
            mixed: self.buffers.mixed.address(),
            partial: self.buffers.partial.address(),
            query: self.buffers.query.address(),
            keys: keys.address(),
            values: values.address(),
            first: self.buffers.first.address(),
            slot: self.buffers.slot.address(),
            queries: heads.queries as u32,
            key_heads: heads.keys as u32,
            head: heads.width as u32,
            capacity: self.shapes.capacity as u32,
            split: SPLIT as u32,
            scale: heads.scale(),
        }
    }

    /// Maps `x` and adds the adapter's term. The kernel that follows adds the bias.
    fn map(&self, out: &M::Memory, x: &Input<'_, M>, maps: &Maps<M>) -> Result<()> {
        let Some(adapter) = &maps.adapter else {
            return self.products(
                Out { address: out.address(), stride: maps.outputs, dtype: self.shapes.dtype },
                x,
                maps,
            );
        };
        let params = self.joint(out, x, maps, adapter)?;
        self.typed("adapt", [maps.outputs.div_ceil(THREADS), x.rows.div_ceil(ADAPT_ROWS), 1], THREADS, &params)
    }

    /// Products of `x` with the weights and the adapter's first factors; returns what the kernel needs that adds the
    /// term.
    fn joint(&self, out: &M::Memory, x: &Input<'_, M>, maps: &Maps<M>, adapter: &Adapter<M>) -> Result<Adapt> {
        let (joint, parts) = (self.buffers.joint.address(), adapter.begins.len());
        self.products(Out { address: joint, stride: maps.outputs + parts * adapter.rank, dtype: DType::F32 }, x, maps)?;
        let begin = |part: usize| adapter.begins.get(part).map_or(u32::MAX, |column| *column as u32);
        Ok(Adapt {
            out: out.address(),
            joint,
            b: adapter.b.address(),
            rows: x.rows as u32,
            outputs: maps.outputs as u32,
            rank: adapter.rank as u32,
            parts: parts as u32,
            first: begin(1),
            second: begin(2),
            scale: adapter.scale as f32,
            padding: 0,
        })
    }

    /// Products of `x` with all matrices, side by side.
    fn products(&self, out: Out, x: &Input<'_, M>, maps: &Maps<M>) -> Result<()> {
        let mut column = 0;
        for matrix in &maps.matrices {
            let address = out.address + (column * out.dtype.size_in_bytes()) as u64;
            self.product(Out { address, ..out }, x, matrix)?;
            column += matrix.outputs;
        }
        Ok(())
    }

    fn product(&self, out: Out, x: &Input<'_, M>, matrix: &Matrix<M>) -> Result<()> {
        let product = Product {
            out: out.address,
            out_stride: out.stride,
            x: x.memory.address(),
            weight: matrix.memory.address(),
            transposed: matrix.transposed,
            rows: x.rows,
            inputs: x.inputs,
            outputs: matrix.outputs,
            dtype: self.shapes.dtype,
            out_dtype: out.dtype,
        };
        // Safety: buffers and weights were made with these widths and at least `rows` rows, and live as long as
        // `self`.
        unsafe { self.machine.product(&product) }
    }

    /// Runs the kernel's variant for the model's type.
    pub fn typed<P: Params>(&self, kernel: &str, grid: [usize; 3], threads: usize, params: &P) -> Result<()> {
        self.run(&kernels::name(kernel, self.shapes.dtype)?, grid, threads, params)
    }

    fn run<P: Params>(&self, kernel: &str, grid: [usize; 3], threads: usize, params: &P) -> Result<()> {
        // Safety: every address passed here belongs to a buffer or weight that lives as long as `self` and was made
        // with the sizes of `shapes`, and `grid` has no more rows than these have.
        unsafe { self.machine.launch(kernel, grid, threads, params) }
    }
}
