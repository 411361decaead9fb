//! AdamW with f32 moments, gradient clipping by the global norm, the loss scale, which keeps gradients within the range of f16,
//! and a state that can be saved.

use std::collections::BTreeMap;
use std::path::Path;

use candle_core::{DType, Device, Tensor, Var};

use super::LearnError;
use super::gradients::Gradients;
use crate::config::GrpoConfig;
use crate::files;
use crate::policy::{
    AdamWRates, Moved, PolicyError, Precision, adamw, device_adamw, device_square_sums, sum_of_squares,
};

/// Name of the loss scale in the saved state.
const LOSS_SCALE: &str = "loss_scale";
/// Initial factor of the loss.
const FIRST_LOSS_SCALE: f64 = 65_536.0;
/// Number of updates in a row without an overflow after which the factor is doubled.
const GROWTH_UPDATES: u32 = 100;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamW {
    /// Decay rate of the mean of gradients.
    pub beta1: f64,
    /// Decay rate of the mean of squared gradients.
    pub beta2: f64,
    /// Added to the root of the mean of squared gradients.
    pub epsilon: f64,
    /// Decoupled weight decay of matrices. Vectors (norms, biases) are not decayed, as in the Hugging Face trainer.
    pub weight_decay: f64,
    /// Gradients with a larger global norm are scaled down to it.
    pub max_grad_norm: f64,
}

impl From<&GrpoConfig> for AdamW {
    fn from(config: &GrpoConfig) -> Self {
        AdamW {
            beta1: config.adam_beta1,
            beta2: config.adam_beta2,
            epsilon: config.adam_epsilon,
            weight_decay: config.weight_decay,
            max_grad_norm: config.max_grad_norm,
        }
    }
}

/// First and second moment of one variable's gradient, in f32, on the variable's device.
#[derive(Debug)]
struct Moments {
    mean: Tensor,
    square: Tensor,
}

/// The factor that the loss is multiplied by before the backward pass, and gradients are divided by after it, so that
/// small gradients do not underflow in f16. It is a power of two, so that neither operation rounds.
///
/// Source: Micikevicius et al. 2018, section 3.2.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LossScale {
    factor: f64,
    /// Number of updates since the last overflow or change.
    updates: u32,
}

impl Default for LossScale {
    fn default() -> Self {
        LossScale { factor: FIRST_LOSS_SCALE, updates: 0 }
    }
}

impl LossScale {
    /// To be called after an update with finite gradients.
    fn grow(&mut self) {
        self.updates += 1;
        if self.updates == GROWTH_UPDATES {
            *self = LossScale { factor: 2.0 * self.factor, updates: 0 };
        }
    }

    /// To be called after gradients that are not finite. False if the factor falls below 1, so that it cannot be the
    /// cause.
    fn shrink(&mut self) -> bool {
        *self = LossScale { factor: self.factor / 2.0, updates: 0 };
        self.factor >= 1.0
    }

    /// Factor and number of updates, for a checkpoint.
    fn to_state(self) -> [f64; 2] {
        [self.factor, f64::from(self.updates)]
    }

    /// From the numbers of a checkpoint; none if they are invalid.
    fn from_state(state: &[f64]) -> Option<Self> {
        let &[factor, updates] = state else { return None };
        let sound = factor.is_finite() && factor > 0.0 && (0.0..f64::from(GROWTH_UPDATES)).contains(&updates);
        sound.then_some(LossScale { factor, updates: updates as u32 })
    }
}

/// The optimiser of a policy's trained variables.
///
/// Source: Loshchilov and Hutter 2019, algorithm 2, in the form of PyTorch's `AdamW`.
#[derive(Debug)]
pub struct Optimizer {
    settings: AdamW,
    updates: u32,
    moments: BTreeMap<String, Moments>,
    /// The scale of the loss, if gradients pass through f16.
    loss_scale: Option<LossScale>,
    /// Whether fused kernels compute the step, and not tensor operations.
    fused: bool,
}

impl Optimizer {
    /// An optimiser with zero moments.
    pub fn new(trainable: &BTreeMap<String, Var>, settings: impl Into<AdamW>) -> Result<Self, LearnError> {
        let zeros = |var: &Var| Tensor::zeros(var.shape(), DType::F32, var.device());
        let moments = trainable
            .iter()
            .map(|(name, var)| Ok((name.clone(), Moments { mean: zeros(var)?, square: zeros(var)? })))
            .collect::<Result<_, LearnError>>()?;
        Ok(Optimizer { settings: settings.into(), updates: 0, moments, loss_scale: None, fused: true })
    }

    /// Sets the number format of the layers that gradients pass through. For f16 the loss is scaled by a dynamic
    /// factor.
    pub fn in_precision(mut self, precision: Precision) -> Self {
        self.loss_scale = precision.scales_loss().then(LossScale::default);
        self
    }

    /// Whether fused kernels compute the step: on a GPU one launch updates all variables. Otherwise each variable is
    /// updated by tensor operations, with the same result up to rounding.
    pub fn fused(mut self, fused: bool) -> Self {
        self.fused = fused;
        self
    }

    /// The factor that the loss must be multiplied by before the backward pass.
    pub fn loss_scale(&self) -> f64 {
        self.loss_scale.map_or(1.0, |scale| scale.factor)
    }

    /// Makes one update with gradients of the loss times [`Optimizer::loss_scale`]. Returns the global norm of the
    /// unscaled gradient before clipping, or none if the gradient left the range of f16; then only the loss scale has
    /// changed.
    ///
    /// Returns an error and changes nothing if a variable has no gradient or a gradient is not finite.
    pub fn apply(
        &mut self,
        trainable: &BTreeMap<String, Var>,
        gradients: &Gradients,
        learning_rate: f64,
    ) -> Result<Option<f64>, LearnError> {
        let missing = |name: &&String| !gradients.contains_key(*name) || !self.moments.contains_key(*name);
        let names: Vec<String> = trainable.keys().filter(missing).cloned().collect();
        if !names.is_empty() {
            return Err(LearnError::MissingGradients { names });
        }
        let plain = |name: &String| gradients[name].to_dtype(DType::F32)?.contiguous();
        let all = trainable.keys().map(|name| Ok((name.clone(), plain(name)?)));
        let gradients = all.collect::<candle_core::Result<Gradients>>()?;
        let factor = self.loss_scale();
        let norm = match self.global_norm(&gradients) {
            Ok(norm) => norm / factor,
            Err(error @ LearnError::NotFiniteGradients { .. }) => {
                let scaled_too_far = self.loss_scale.as_mut().is_some_and(LossScale::shrink);
                return if scaled_too_far { Ok(None) } else { Err(error) };
            }
            Err(error) => return Err(error),
        };
        self.updates += 1;
        let AdamW { beta1, beta2, epsilon, max_grad_norm, .. } = self.settings;
        let corrected = |beta: f64| 1.0 - beta.powi(self.updates as i32);
        let rates = AdamWRates {
            scale: (max_grad_norm / (norm + 1e-6)).min(1.0) / factor,
            beta1,
            beta2,
            rate: learning_rate / corrected(beta1),
            root_correction: corrected(beta2).sqrt(),
            epsilon,
        };
        self.step(trainable, &gradients, &rates, learning_rate)?;
        if let Some(scale) = &mut self.loss_scale {
            scale.grow();
        }
        Ok(Some(norm))
    }

    fn step(
        &self,
        trainable: &BTreeMap<String, Var>,
        gradients: &Gradients,
        rates: &AdamWRates,
        learning_rate: f64,
    ) -> candle_core::Result<()> {
        let moved = trainable.iter().map(|(name, var)| {
            let Moments { mean, square } = &self.moments[name];
            let decay = if var.rank() > 1 { self.settings.weight_decay } else { 0.0 };
            let keep = 1.0 - learning_rate * decay;
            Moved { value: var.as_tensor(), gradient: &gradients[name], mean, square, keep }
        });
        let moved: Vec<Moved<'_>> = moved.collect();
        let full = trainable.values().all(|var| var.dtype() == DType::F32);
        if self.fused && full && device_adamw(&moved, rates)? {
            return Ok(());
        }
        for (var, moved) in trainable.values().zip(&moved) {
            if self.fused && var.device().is_cpu() && var.dtype() == DType::F32 {
                adamw(moved, rates)?;
            } else {
                step_by_tensors(var, moved, rates)?;
            }
        }
        Ok(())
    }

    fn global_norm(&self, gradients: &Gradients) -> Result<f64, LearnError> {
        let at_once = if self.fused { device_square_sums(&gradients.values().collect::<Vec<_>>())? } else { None };
        let squares = match at_once {
            Some(squares) => squares,
            None => gradients.values().map(sum_of_squares).collect::<candle_core::Result<_>>()?,
        };
        let named = gradients.keys().zip(&squares);
        let names: Vec<String> =
            named.filter(|(_, squares)| !squares.is_finite()).map(|(name, _)| name.clone()).collect();
        if names.is_empty() {
            Ok(squares.iter().sum::<f64>().sqrt())
        } else {
            Err(LearnError::NotFiniteGradients { names })
        }
    }

    /// A copy of the state without the settings, by name: `exp_avg.{variable}`, `exp_avg_sq.{variable}`, `step`, and
    /// `loss_scale` if there is one.
    pub fn state(&self) -> Result<BTreeMap<String, Tensor>, LearnError> {
        let mut state = BTreeMap::new();
        for (name, Moments { mean, square }) in &self.moments {
            state.insert(format!("exp_avg.{name}"), mean.copy()?);
            state.insert(format!("exp_avg_sq.{name}"), square.copy()?);
        }
        state.insert("step".into(), Tensor::new(&[self.updates], &Device::Cpu)?);
        if let Some(scale) = self.loss_scale {
            state.insert(LOSS_SCALE.into(), Tensor::new(&scale.to_state(), &Device::Cpu)?);
        }
        Ok(state)
    }

    /// Restores a state that [`Optimizer::state`] returned for the same variables.
    pub fn load_state(&mut self, state: &BTreeMap<String, Tensor>) -> Result<(), LearnError> {
        let take = |name: String, like: &Tensor| {
            let expected = format!("a tensor of shape {:?}", like.dims());
            match state.get(&name) {
                Some(found) if found.dims() == like.dims() => {
                    Ok(found.to_device(like.device())?.to_dtype(like.dtype())?.copy()?)
                }
                Some(found) => Err(LearnError::State { name, found: format!("shape {:?}", found.dims()), expected }),
                None => Err(LearnError::State { name, found: "nothing".into(), expected }),
            }
        };
        let updates = take("step".into(), &Tensor::new(&[self.updates], &Device::Cpu)?)?;
        let mut moments = BTreeMap::new();
        for (name, Moments { mean, square }) in &self.moments {
            let mean = take(format!("exp_avg.{name}"), mean)?;
            let square = take(format!("exp_avg_sq.{name}"), square)?;
            moments.insert(name.clone(), Moments { mean, square });
        }
        // A run that is resumed in another precision starts with a new loss scale, or needs none.
        if let (Some(scale), Some(saved)) = (&mut self.loss_scale, state.get(LOSS_SCALE)) {
            let saved = saved.to_vec1::<f64>()?;
            *scale = LossScale::from_state(&saved).ok_or_else(|| LearnError::State {
                name: LOSS_SCALE.into(),
                found: format!("{saved:?}"),
                expected: "a power of two, and the updates since it was changed".into(),
            })?;
        }
        self.updates = updates.to_vec1::<u32>()?[0];
        self.moments = moments;
        Ok(())
    }

    /// Writes the state as a safetensors file.
    pub fn save(&self, path: &Path) -> Result<(), LearnError> {
        let state = self.state()?;
        check_finite(&state)?;
        let failed = |source| PolicyError::File { path: path.to_owned(), source };
        Ok(files::write_tensors(state.iter(), None, path).map_err(failed)?)
    }

    /// Reads a state that [`Optimizer::save`] wrote for the same variables.
    pub fn restore(&mut self, path: &Path) -> Result<(), LearnError> {
        let unreadable =
            |error: candle_core::Error| LearnError::File { path: path.to_owned(), message: error.to_string() };
        let tensors = candle_core::safetensors::load(path, &Device::Cpu).map_err(unreadable)?;
        let state = tensors.into_iter().collect();
        check_finite(&state)?;
        self.load_state(&state)
    }
}

/// Refuses moments that are not finite, because one update would turn the weights into NaN.
fn check_finite(state: &BTreeMap<String, Tensor>) -> Result<(), LearnError> {
    for (name, tensor) in state {
        // The product with 0 is 0 for a finite number and NaN otherwise.
        if (tensor.to_dtype(DType::F32)? * 0.0)?.sum_all()?.to_scalar::<f32>()? != 0.0 {
            return Err(LearnError::State {
                name: name.clone(),
                found: "numbers that are not finite".into(),
                expected: "finite ones; training has diverged".into(),
            });
        }
    }
    Ok(())
}

/// The step of one variable by tensor operations, for variables that are not f32 on the CPU.
fn step_by_tensors(var: &Var, moved: &Moved<'_>, rates: &AdamWRates) -> candle_core::Result<()> {
    let AdamWRates { scale, beta1, beta2, rate, root_correction, epsilon } = *rates;
    let gradient = (moved.gradient * scale)?;
    let mean = ((moved.mean * beta1)? + (&gradient * (1.0 - beta1))?)?;
    let square = ((moved.square * beta2)? + (gradient.sqr()? * (1.0 - beta2))?)?;
    let root = ((square.sqrt()? / root_correction)? + epsilon)?;
    let value = ((var.as_detached_tensor().to_dtype(DType::F32)? * moved.keep)? - ((&mean * rate)? / root)?)?;
    moved.mean.slice_set(&mean, 0, 0)?;
    moved.square.slice_set(&square, 0, 0)?;
    var.set(&value.to_dtype(var.dtype())?)
}

#[cfg(test)]
mod tests;
