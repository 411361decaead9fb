//! The loss scale, which keeps gradients within the range of f16.

/// Initial factor.
const FIRST: f64 = 65_536.0;
/// Number of updates in a row without an overflow after which the factor is doubled.
const GROWTH_UPDATES: u32 = 100;

/// The factor that the loss is multiplied by before the backward pass, and gradients are divided by after it, so that
/// small gradients do not underflow in f16. It is a power of two, so that neither operation rounds.
///
/// Source: Micikevicius et al. 2018, section 3.2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LossScale {
    pub factor: f64,
    /// Number of updates since the last overflow or change.
    updates: u32,
}

impl Default for LossScale {
    fn default() -> Self {
        LossScale { factor: FIRST, updates: 0 }
    }
}

impl LossScale {
    /// To be called after an update with finite gradients.
    pub fn grow(&mut self) {
        self.updates += 1;
        if self.updates == GROWTH_UPDATES {
            *self = LossScale { factor: 2.0 * self.factor, updates: 0 };
        }
    }

    /// To be called after gradients that are not finite. False if the factor falls below 1, so that it cannot be the
    /// cause.
    pub fn shrink(&mut self) -> bool {
        *self = LossScale { factor: self.factor / 2.0, updates: 0 };
        self.factor >= 1.0
    }

    /// Factor and number of updates, for a checkpoint.
    pub fn to_state(self) -> [f64; 2] {
        [self.factor, f64::from(self.updates)]
    }

    /// From the numbers of a checkpoint; none if they are invalid.
    pub fn from_state(state: &[f64]) -> Option<Self> {
        let &[factor, updates] = state else { return None };
        let sound = factor.is_finite() && factor > 0.0 && (0.0..f64::from(GROWTH_UPDATES)).contains(&updates);
        sound.then_some(LossScale { factor, updates: updates as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_after_a_hundred_good_updates_in_a_row_and_halves_at_once() {
        let mut scale = LossScale::default();
        (0..99).for_each(|_| scale.grow());
        assert_eq!(scale.factor, 65_536.0);
        assert!(scale.shrink());
        (0..99).for_each(|_| scale.grow());
        assert_eq!(scale.factor, 32_768.0);
        assert_eq!(LossScale::from_state(&scale.to_state()), Some(scale));
        scale.grow();
        assert_eq!((scale.factor, scale.updates), (65_536.0, 0));
    }

    #[test]
    fn below_one_it_is_not_the_scale_that_is_to_blame() {
        let mut scale = LossScale::default();
        let halvings = (0..100).take_while(|_| scale.shrink()).count();
        assert_eq!(halvings, 16);
        assert_eq!(LossScale::from_state(&[0.0, 0.0]), None);
    }
}
