//! Kernels over the gradients and moments of all variables at once: two launches an update, however many variables
//! there are.

use candle_core::Result;

use super::kernels::{AdamW, AdamWRates, Params, Piece, SquareSums, THREADS};
use super::machine::{Machine, Memory};

/// Numbers that one block works on.
const PIECE: usize = 1 << 14;

/// Addresses of one variable, its gradient and its moments; each holds `count` f32 numbers.
pub(super) struct Slots<M: Machine> {
    pub value: M::Memory,
    pub gradient: M::Memory,
    pub mean: M::Memory,
    pub square: M::Memory,
    pub count: usize,
    /// Factor of the value by weight decay.
    pub keep: f32,
}

/// Sum of squares of each gradient, given as its memory and how many numbers it holds.
pub(super) fn square_sums<M: Machine>(machine: &M, gradients: &[(M::Memory, usize)]) -> Result<Vec<f64>> {
    let pieces: Vec<Piece> =
        gradients.iter().flat_map(|(gradient, count)| pieces([0, gradient.address(), 0, 0], *count, 1.0)).collect();
    let (table, sums) = (upload(machine, &pieces)?, machine.zeros(pieces.len() * 8)?);
    let params = SquareSums { sums: sums.address(), pieces: table.address() };
    // Safety: a piece lies within its gradient, and there is a sum for each piece.
    unsafe { machine.launch("square_sums", [pieces.len(), 1, 1], THREADS, &params)? };
    let bytes = machine.wait(machine.read(&sums, pieces.len() * 8)?)?;
    let mut sums = bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
    // Summed in the order of the pieces, whatever order the blocks ran in.
    let of_gradient = |(_, count): &(M::Memory, usize)| sums.by_ref().take(count.div_ceil(PIECE)).sum();
    Ok(gradients.iter().map(of_gradient).collect())
}

/// One update of all variables.
pub(super) fn step<M: Machine>(machine: &M, slots: &[Slots<M>], rates: &AdamWRates) -> Result<()> {
    let pieces: Vec<Piece> = slots
        .iter()
        .flat_map(|slot| {
            let addresses = [&slot.value, &slot.gradient, &slot.mean, &slot.square].map(Memory::address);
            pieces(addresses, slot.count, slot.keep)
        })
        .collect();
    let table = upload(machine, &pieces)?;
    let params = AdamW {
        pieces: table.address(),
        scale: rates.scale as f32,
        beta1: rates.beta1 as f32,
        beta2: rates.beta2 as f32,
        rate: rates.rate as f32,
        inverse_root: rates.root_correction.recip() as f32,
        epsilon: rates.epsilon as f32,
    };
    // Safety: a piece lies within the memory of its variable.
    unsafe { machine.launch("adamw", [pieces.len(), 1, 1], THREADS, &params) }
}

/// Splits a variable into pieces; an address of zero stays zero.
fn pieces(addresses: [u64; 4], count: usize, keep: f32) -> impl Iterator<Item = Piece> {
    (0..count).step_by(PIECE).map(move |first| {
        let [value, gradient, mean, square] =
            addresses.map(|address| if address == 0 { 0 } else { address + 4 * first as u64 });
        Piece { value, gradient, mean, square, count: PIECE.min(count - first) as u32, keep }
    })
}

fn upload<M: Machine, P: Params>(machine: &M, table: &[P]) -> Result<M::Memory> {
    // Safety: parameters are plain numbers without padding.
    let bytes = unsafe { std::slice::from_raw_parts(table.as_ptr().cast::<u8>(), size_of_val(table)) };
    let memory = machine.zeros(bytes.len())?;
    machine.write(&memory, bytes)?;
    Ok(memory)
}
