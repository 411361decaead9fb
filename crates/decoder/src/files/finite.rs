//! Whether the numbers of a file are finite, by their bits, as they are read.

use candle_core::quantized::GgmlDType;
use rayon::prelude::*;
use safetensors::Dtype;

/// Numbers or blocks that a thread looks at together.
const TOGETHER: usize = 1 << 14;

/// Whether no number of a tensor in a safetensors file is infinite or NaN. Numbers of 8 bits count as finite.
pub(crate) fn in_safetensors(format: Dtype, bytes: &[u8]) -> bool {
    match format {
        Dtype::F64 => all(bytes, |number| (f64::from_le_bytes(number) as f32).is_finite()),
        Dtype::F32 => all(bytes, |number| f32::from_le_bytes(number).is_finite()),
        Dtype::BF16 => all(bytes, |number| u16::from_le_bytes(number) & 0x7f80 != 0x7f80),
        Dtype::F16 => all(bytes, is_finite_half),
        _ => true,
    }
}

/// The same for a tensor in a GGUF file. In quantised blocks only the scales can be infinite or NaN.
///
/// Source: the places of the scales are those of the `block_` structures in ggml's `ggml-common.h`.
pub(crate) fn in_gguf(format: GgmlDType, bytes: &[u8]) -> bool {
    let scales: &[usize] = match format {
        GgmlDType::F32 => return in_safetensors(Dtype::F32, bytes),
        GgmlDType::F16 => return in_safetensors(Dtype::F16, bytes),
        GgmlDType::BF16 => return in_safetensors(Dtype::BF16, bytes),
        GgmlDType::Q4_0 | GgmlDType::Q5_0 | GgmlDType::Q8_0 => &[0],
        GgmlDType::Q4_1 | GgmlDType::Q5_1 | GgmlDType::Q8_1 | GgmlDType::Q4K | GgmlDType::Q5K => &[0, 2],
        GgmlDType::Q2K => &[80, 82],
        GgmlDType::Q3K => &[108],
        GgmlDType::Q6K => &[208],
        // Its scale has 32 bits, and no file has it: llama.cpp makes it of activations only.
        GgmlDType::Q8K => &[],
    };
    let size = format.type_size();
    let is_finite = |block: &[u8]| scales.iter().all(|at| is_finite_half([block[*at], block[at + 1]]));
    bytes.par_chunks(TOGETHER * size).all(|blocks| blocks.chunks_exact(size).all(is_finite))
}

fn is_finite_half(number: [u8; 2]) -> bool {
    u16::from_le_bytes(number) & 0x7c00 != 0x7c00
}

/// Whether all numbers of so many bytes are finite.
fn all<const SIZE: usize>(bytes: &[u8], is_finite: impl Fn([u8; SIZE]) -> bool + Sync) -> bool {
    // Every number of a piece is looked at, because a loop that may end early uses no vector instructions.
    let is_whole = |piece: &[u8]| piece.as_chunks().0.iter().fold(true, |whole, number| whole & is_finite(*number));
    bytes.par_chunks(TOGETHER * SIZE).all(is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::quantized::QTensor;
    use candle_core::{Device, Tensor};

    #[test]
    fn one_broken_number_among_many_is_found_in_every_format() {
        let many =
            |number: &[u8], broken: &[u8]| [number.repeat(TOGETHER + 3), broken.to_vec(), number.to_vec()].concat();
        for broken in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let half = if broken.is_nan() { 0x7e00_u16 } else { 0x7c00 };
            let brain = (broken.to_bits() >> 16) as u16;
            for (format, number, broken) in [
                (Dtype::F64, f64::from(f32::MAX).to_le_bytes().to_vec(), f64::from(broken).to_le_bytes().to_vec()),
                (Dtype::F32, f32::MAX.to_le_bytes().to_vec(), broken.to_le_bytes().to_vec()),
                (Dtype::BF16, 0xff7f_u16.to_le_bytes().to_vec(), brain.to_le_bytes().to_vec()),
                (Dtype::F16, 0xfbff_u16.to_le_bytes().to_vec(), half.to_le_bytes().to_vec()),
            ] {
                assert!(in_safetensors(format, &many(&number, &number)), "{format:?}");
                assert!(!in_safetensors(format, &many(&number, &broken)), "{format:?}");
            }
        }
        assert!(!in_safetensors(Dtype::F64, &f64::MAX.to_le_bytes()), "beyond what f32 holds");
    }

    #[test]
    fn a_broken_scale_is_found_in_every_quantised_format() {
        use GgmlDType::{Q2K, Q3K, Q4_0, Q4_1, Q4K, Q5_0, Q5_1, Q5K, Q6K, Q8_0};
        let numbers = Tensor::arange(-512_f32, 512.0, &Device::Cpu).unwrap().reshape((2, 512)).unwrap();
        for format in [Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2K, Q3K, Q4K, Q5K, Q6K] {
            let quantised = QTensor::quantize(&numbers, format).unwrap().data().unwrap().into_owned();
            assert!(in_gguf(format, &quantised), "{format:?}");
            // A scale is where a NaN of 16 bits makes numbers of the block NaN.
            let size = format.type_size();
            for at in (size..2 * size - 1).step_by(2) {
                let mut bytes = quantised.clone();
                bytes[at..at + 2].copy_from_slice(&0x7e00_u16.to_le_bytes());
                let is_broken = expanded(format, &bytes).iter().any(|number| number.is_nan());
                assert_eq!(in_gguf(format, &bytes), !is_broken, "{format:?} at {}", at - size);
            }
        }
    }

    fn expanded(format: GgmlDType, bytes: &[u8]) -> Vec<f32> {
        let stored = candle_core::quantized::ggml_file::qtensor_from_ggml(format, bytes, vec![2, 512], &Device::Cpu);
        stored.unwrap().dequantize(&Device::Cpu).unwrap().flatten_all().unwrap().to_vec1().unwrap()
    }
}
