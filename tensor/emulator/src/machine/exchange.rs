//! What lanes tell each other.

use super::warp::{Surroundings, Warp, lanes};
use crate::ptx::instruction::{LANES, Operand, Operation, Shuffle, Vote};
use crate::{DeviceFault, fault};

impl Warp {
    pub(super) fn exchange(
        &mut self,
        operation: &Operation,
        active: u32,
        around: &Surroundings<'_>,
    ) -> Result<(), DeviceFault> {
        match operation {
            Operation::WarpBarrier(None) => return Ok(()),
            Operation::WarpBarrier(Some(mask)) => {
                self.named(*mask, active, around)?;
            }
            Operation::ActiveMask(into) => {
                self.put(*into, active, &[u64::from(active); LANES]);
                return Ok(());
            }
            Operation::Vote { what, into, of: (predicate, held), mask } => {
                let named = self.named(*mask, active, around)?;
                let votes = self.holding(*predicate, *held) & active & named;
                let result = match what {
                    Vote::Ballot => u64::from(votes),
                    Vote::Any => u64::from(votes != 0),
                    Vote::All => u64::from(votes == active & named),
                };
                self.put(*into, active, &[result; LANES]);
            }
            Operation::Shuffle { how, into, inside, operands: [a, b, c], mask } => {
                self.named(*mask, active, around)?;
                let [a, b, c] = [a, b, c].map(|operand| self.fetch(*operand, around));
                let from: [(usize, bool); LANES] = std::array::from_fn(|lane| source(*how, lane, b[lane], c[lane]));
                if let Some(lane) = lanes(active).find(|lane| active >> from[*lane].0 & 1 == 0) {
                    return Err(fault!("lane {lane} takes a number from lane {}, which gives none", from[lane].0));
                }
                self.put(*into, active, &from.map(|(from, _)| a[from]));
                if let Some(inside) = inside {
                    self.put(*inside, active, &from.map(|(_, inside)| u64::from(inside)));
                }
            }
            _ => {}
        }
        self.epoch += 1;
        Ok(())
    }

    /// Lanes that take part; all of them are here.
    fn named(&self, mask: Operand, active: u32, around: &Surroundings<'_>) -> Result<u32, DeviceFault> {
        let masks = self.fetch(mask, around);
        let named = lanes(active).next().map_or(0, |lane| masks[lane] as u32);
        if lanes(active).any(|lane| masks[lane] as u32 != named) {
            return Err(fault!("lanes of a warp name different lanes"));
        }
        match active & !named {
            0 => Ok(named),
            _ => Err(fault!("lanes {active:#x} take part, and only {named:#x} are named")),
        }
    }
}

/// The lane that another takes a number from, and whether it lies inside its segment.
///
/// Source: PTX ISA, `shfl.sync`.
fn source(how: Shuffle, lane: usize, b: u64, c: u64) -> (usize, bool) {
    let (lane, offset) = (lane as i64, (b & 0x1f) as i64);
    let (clamp, segments) = ((c & 0x1f) as i64, (c >> 8 & 0x1f) as i64);
    let most = (lane & segments) | (clamp & !segments);
    let least = lane & segments;
    let (from, inside) = match how {
        Shuffle::Up => (lane - offset, lane - offset >= most),
        Shuffle::Down => (lane + offset, lane + offset <= most),
        Shuffle::Butterfly => (lane ^ offset, (lane ^ offset) <= most),
        Shuffle::Index => (least | (offset & !segments), (least | (offset & !segments)) <= most),
    };
    if inside { (from as usize, true) } else { (lane as usize, false) }
}
