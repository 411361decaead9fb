//! The number format of weights and of the products of the layers.

use candle_core::{DType, Device};
use grpo_tensor::device::compute_capability;

use super::PolicyError;
use grpo_config as config;

/// Lowest compute capability of a GPU that multiplies bf16 in hardware (Ampere).
const BF16_FROM: (i32, i32) = (8, 0);

/// Format of frozen weights and of the layers' products.
///
/// Values of which small differences matter stay in f32: logits, softmax, log-probabilities, norms, rotations, trained
/// variables with their gradients and moments, low-rank terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits.
    F32,
    /// 16 bits with the exponent of f32.
    Bf16,
    /// 16 bits with 5 bits of exponent, so that the loss must be scaled to keep small gradients.
    F16,
}

impl Precision {
    /// The format that a setting names, on this device: "auto" is f32 on the CPU, bf16 on a GPU that multiplies it in
    /// hardware, and f16 on an older one.
    pub fn of(asked: config::PrecisionChoice, device: &Device) -> Result<Self, PolicyError> {
        let capability = compute_capability(device)?;
        match (asked, capability) {
            (config::PrecisionChoice::Auto, capability) => Ok(Precision::automatic(device.is_cpu(), capability)),
            (config::PrecisionChoice::Bf16, Some(found)) if found < BF16_FROM => Err(PolicyError::argument(
                "model.precision",
                format!("bf16 on a GPU of compute capability {}.{}", found.0, found.1),
                "f16 or f32, or a GPU of compute capability 8.0 or above",
            )),
            (config::PrecisionChoice::F32, _) => Ok(Precision::F32),
            (config::PrecisionChoice::Bf16, _) => Ok(Precision::Bf16),
            (config::PrecisionChoice::F16, _) => Ok(Precision::F16),
        }
    }

    /// Sets whether a GPU may compute f32 products in TF32, for all products from now on.
    pub(super) fn set_products(self, asked: config::Tf32, device: &Device) {
        if !device.is_cpu() {
            candle_core::cuda::set_gemm_reduced_precision_f32(self.takes_tf32(asked));
        }
    }

    fn takes_tf32(self, asked: config::Tf32) -> bool {
        match asked {
            config::Tf32::Auto => self != Precision::F32,
            config::Tf32::On => true,
            config::Tf32::Off => false,
        }
    }

    fn automatic(on_cpu: bool, capability: Option<(i32, i32)>) -> Self {
        match capability {
            _ if on_cpu => Precision::F32,
            Some(found) if found >= BF16_FROM => Precision::Bf16,
            Some(_) => Precision::F16,
            None => Precision::F32,
        }
    }

    /// Its name, as in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::Bf16 => "bf16",
            Precision::F16 => "f16",
        }
    }

    /// Its name in a model's `config.json`.
    pub fn torch_name(self) -> &'static str {
        match self {
            Precision::F32 => "float32",
            Precision::Bf16 => "bfloat16",
            Precision::F16 => "float16",
        }
    }

    /// Bytes of one number.
    pub fn bytes(self) -> usize {
        self.format().size_in_bytes()
    }

    /// Whether the loss must be scaled to keep gradients within the format's range.
    pub fn scales_loss(self) -> bool {
        self == Precision::F16
    }

    pub(super) fn format(self) -> DType {
        match self {
            Precision::F32 => DType::F32,
            Precision::Bf16 => DType::BF16,
            Precision::F16 => DType::F16,
        }
    }
}

impl std::fmt::Display for Precision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_decides_unless_the_user_does() {
        assert_eq!(Precision::automatic(true, None), Precision::F32);
        assert_eq!(Precision::automatic(false, Some((9, 0))), Precision::Bf16);
        assert_eq!(Precision::automatic(false, Some((8, 0))), Precision::Bf16);
        assert_eq!(Precision::automatic(false, Some((7, 5))), Precision::F16);
        let of = |asked| Precision::of(asked, &Device::Cpu).unwrap();
        assert_eq!(of(config::PrecisionChoice::Auto), Precision::F32);
        assert_eq!(of(config::PrecisionChoice::Bf16), Precision::Bf16);
        assert_eq!(of(config::PrecisionChoice::F16), Precision::F16);
    }

    #[test]
    fn products_of_f32_are_rounded_where_layers_round_more_or_the_user_says_so() {
        use config::Tf32::{Auto, Off, On};
        assert!(Precision::Bf16.takes_tf32(Auto) && Precision::F16.takes_tf32(Auto) && Precision::F32.takes_tf32(On));
        assert!(!Precision::F32.takes_tf32(Auto) && !Precision::Bf16.takes_tf32(Off));
    }
}
