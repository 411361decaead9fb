//! The rotary angles of a model.

use candle_core::Device;
use grpo_tensor::{Angles, Rotations};

use crate::families::architecture::DecoderConfig;

impl DecoderConfig {
    /// The rotary angles, scaled as in Llama 3.1 or LongRoPE if the model asks for it.
    pub(crate) fn angles(&self) -> Angles {
        let base = Angles::plain(self.rope_theta, self.rotary_dim());
        if let Some(long) = &self.long_rope {
            let stretched =
                base.frequencies.iter().zip(&long.short_factor).map(|(frequency, factor)| frequency / factor);
            return Angles { frequencies: stretched.collect(), size: long.attention_factor };
        }
        let Some(scaling) = self.rope_scaling else { return base };
        let context = scaling.original_max_position_embeddings as f64;
        let stretched = base.frequencies.iter().map(|frequency| {
            let wavelength = 2.0 * std::f64::consts::PI / frequency;
            if wavelength > context / scaling.low_freq_factor {
                frequency / scaling.factor
            } else if wavelength < context / scaling.high_freq_factor {
                *frequency
            } else {
                let smooth = (context / wavelength - scaling.low_freq_factor)
                    / (scaling.high_freq_factor - scaling.low_freq_factor);
                (1.0 - smooth) * frequency / scaling.factor + smooth * frequency
            }
        });
        Angles { frequencies: stretched.collect(), ..base }
    }

    /// The tables of positions `0..length`. Layers with a sliding window may have another base, which is not scaled.
    pub(crate) fn rotations(&self, length: usize, device: &Device) -> candle_core::Result<Rotations> {
        let theta = self.sliding_window.and_then(|window| window.rope_theta);
        let sliding = theta.map(|theta| Angles::plain(theta, self.head_dim));
        Rotations::new(&self.angles(), sliding.as_ref(), length, device)
    }
}
