//! Rows of a matrix by their places.

use candle_core::{Result, Tensor};

use crate::attached::attached;
use crate::serving::on_gpu;

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
    use crate::gpu::emulated;

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
}
