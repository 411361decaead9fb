//! Rows of a matrix by their places.

use candle_core::{DType, Result, Tensor};

use crate::attached::attached;
use crate::gpu::launch::Gpu;
use crate::gpu::params::{THREADS, name, params};
use crate::serving::on_gpu;

params! {
    /// Adds rows at their places.
    AddRows { sums: u64, rows: u64, ids: u64, count: u32, width: u32 }
}

/// Blocks that share the ids of [`add_rows`].
const SHARES: usize = 128;

/// The rows of `x` at these places, differentiable.
///
/// * `x`: `(N, H)`; `places`: each below `N`. Returns `(places, H)`.
///
/// On a GPU the gradient is gathered, unless a place is named twice: candle's adds row after row to zeros, with one thread
/// a column.
pub fn select_rows(x: &Tensor, places: &[u32]) -> Result<Tensor> {
    let ids = Tensor::from_slice(places, places.len(), x.device())?;
    let rows = x.dim(0)?;
    let Some(back) = inverse(places, rows).filter(|_| on_gpu(x)) else { return x.index_select(&ids, 0) };
    let back = Tensor::from_vec(back, rows, x.device())?;
    let value = x.detach().contiguous()?.index_select(&ids, 0)?;
    attached(value, &[x], move |grad| {
        let none = Tensor::zeros((1, grad.dim(1)?), grad.dtype(), grad.device())?;
        Ok([Some(Tensor::cat(&[grad, &none], 0)?.index_select(&back, 0)?), None, None])
    })
}

/// `sums` with each of `rows` added to the row that its id names, one after the other.
///
/// * `sums`: `(V, H)`, which nobody else reads; `ids`: `(N,)` u32, each below `V`; `rows`: `(N, H)`, in any format.
///
/// On a GPU the sums of different ids are computed at the same time, and those of one id in order, so that the bits are those
/// of candle's sums, which one thread a column computes.
pub fn add_rows(sums: Tensor, ids: &Tensor, rows: &Tensor) -> Result<Tensor> {
    if !on_gpu(rows) || sums.dtype() != DType::F32 {
        return sums.index_add(ids, &rows.to_dtype(sums.dtype())?, 0);
    }
    let (gpu, rows, (count, width)) = (Gpu::of(rows)?, rows.contiguous()?, rows.dims2()?);
    let params = AddRows {
        sums: gpu.address(&sums)?,
        rows: gpu.address(&rows)?,
        ids: gpu.address(ids)?,
        count: count as u32,
        width: width as u32,
    };
    let (kernel, grid) = (name("add_rows", rows.dtype())?, [SHARES.min(count), width.div_ceil(THREADS)]);
    // Safety: ids name rows of `sums`, as where the embedding was read by them, and there are as many as rows.
    unsafe { gpu.launch(&kernel, grid, &params)? };
    Ok(sums)
}

/// For each of `rows` rows its number among the places, or the number of places if it is not among them; `None` if a place
/// is named twice, or is none of a row.
fn inverse(places: &[u32], rows: usize) -> Option<Vec<u32>> {
    let none = places.len() as u32;
    let mut back = vec![none; rows];
    for (number, place) in places.iter().enumerate() {
        let slot = back.get_mut(*place as usize).filter(|slot| **slot == none)?;
        *slot = number as u32;
    }
    Some(back)
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Var};

    use super::*;
    use crate::gpu::{emulated, in_both_orders};
    use crate::tests::random;

    #[test]
    fn gradients_of_rows_on_a_gpu_are_gathered_and_those_of_rows_named_twice_are_added() {
        let x =
            Var::from_tensor(&Tensor::arange(0.0_f32, 12.0, &Device::Cpu).unwrap().reshape((4, 3)).unwrap()).unwrap();
        let slope = |places: &[u32]| {
            let rows = select_rows(&x, places).unwrap();
            let factors = Tensor::arange(1.0_f32, 1.0 + 3.0 * places.len() as f32, &Device::Cpu).unwrap();
            let sum = (rows.flatten_all().unwrap() * factors).unwrap().sum_all().unwrap();
            sum.backward().unwrap().get(&x).unwrap().to_vec2::<f32>().unwrap()
        };
        let Some((gathered, added)) = emulated(|| (slope(&[3, 0]), slope(&[3, 0, 3]))) else { return };
        let none = vec![0.0; 3];
        assert_eq!(gathered, [vec![4.0, 5.0, 6.0], none.clone(), none.clone(), vec![1.0, 2.0, 3.0]]);
        assert_eq!(added, [vec![4.0, 5.0, 6.0], none.clone(), none, vec![8.0, 10.0, 12.0]]);
        assert_eq!(inverse(&[3, 0], 4), Some(vec![1, 2, 2, 0]));
        assert_eq!([inverse(&[3, 0, 3], 4), inverse(&[4], 4)], [None, None]);
    }

    #[test]
    fn rows_are_added_on_a_gpu_as_candle_adds_them_one_after_the_other() {
        // More ids than blocks, some of them often and most never; widths that fill no block, and two.
        for (ids, width) in
            [(vec![4], 3), ((0..300).map(|i| i * i % 290).collect::<Vec<u32>>(), 1), (vec![7; 131], 300)]
        {
            for format in [DType::F32, DType::BF16, DType::F16] {
                let count = ids.len();
                let rows = random(&[count, width], 1).as_detached_tensor().to_dtype(format).unwrap();
                let sums = || random(&[290, width], 2).as_detached_tensor();
                let ids = Tensor::from_slice(&ids, count, &Device::Cpu).unwrap();
                let expected = sums().index_add(&ids, &rows.to_dtype(DType::F32).unwrap(), 0).unwrap();
                let of = |sums: &Tensor| sums.to_vec2::<f32>().unwrap();
                let Some(found) = in_both_orders(|| of(&add_rows(sums(), &ids, &rows).unwrap())) else { return };
                assert!(found.iter().all(|found| *found == of(&expected)), "{count} rows of {width} in {format:?}");
            }
        }
    }
}
