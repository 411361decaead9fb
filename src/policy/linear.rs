//! Linear maps, with the low-rank adapter that may sit on them.

use candle_core::{Result, Tensor};

/// Whether the forward pass goes through the adapters. Without adapters both are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adapters {
    /// The policy: base weights and adapters.
    On,
    /// The base model alone, bit for bit.
    Off,
}

/// A low-rank term `scale * B A x`.
#[derive(Debug, Clone)]
pub(super) struct Lora {
    /// `(r, in)`.
    pub a: Tensor,
    /// `(out, r)`.
    pub b: Tensor,
    /// `lora_alpha / r`.
    pub scale: f64,
}

/// `x W^T + bias`, plus the adapter's term.
#[derive(Debug, Clone)]
pub(super) struct Linear {
    /// `(out, in)`.
    pub weight: Tensor,
    /// `(out,)`.
    pub bias: Option<Tensor>,
    pub lora: Option<Lora>,
}

impl Linear {
    /// * `x`: `(N, in)`. Returns `(N, out)`.
    pub fn forward(&self, x: &Tensor, adapters: Adapters) -> Result<Tensor> {
        let mut y = x.matmul(&self.weight.t()?)?;
        if let Some(bias) = &self.bias {
            y = y.broadcast_add(bias)?;
        }
        match &self.lora {
            Some(lora) if adapters == Adapters::On => {
                let low = x.matmul(&lora.a.t()?)?.matmul(&lora.b.t()?)?;
                y + (low * lora.scale)?
            }
            _ => Ok(y),
        }
    }

    /// The weight as sampling uses it: detached, adapter added in.
    pub fn merged(&self) -> Result<Tensor> {
        let weight = self.weight.detach();
        match &self.lora {
            Some(lora) => weight + (lora.b.detach().matmul(&lora.a.detach())? * lora.scale)?,
            None => Ok(weight),
        }
    }
}
