//! Products of some rows with some panels of a packed weight, whose sums stay in registers from the first input to the
//! last.
//!
//! Intrinsics are used where possible, because the compiler vectorises such loops for some lengths and not for others.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::ops::Range;

use crate::rows::soon;

/// Columns of a panel: the f32 numbers of one AVX-512 register.
pub(crate) const PANEL: usize = 16;

/// Where results are written.
#[derive(Clone, Copy)]
pub(crate) struct Out(pub *mut f32);

// Safety: no two threads write the same columns, and nobody reads before all have written.
unsafe impl Send for Out {}
unsafe impl Sync for Out {}

/// Where the panels are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distance {
    /// In memory: the next panels are prefetched.
    Far,
    /// In the L1 cache.
    Near,
}

/// Consecutive panels, and the rows that are multiplied with them.
#[derive(Clone, Copy)]
pub(crate) struct Tiles<'a> {
    /// Rows with at least as many numbers as the panels have inputs.
    pub x: &'a [f32],
    /// Numbers from one row of `x` to the next.
    pub stride: usize,
    /// `(in, 16)` each.
    pub panels: &'a [f32],
    /// Number of panels.
    pub count: usize,
    pub distance: Distance,
    /// Initial values of the sums, as many as the panels have columns; `None` accumulates into `out`.
    pub bias: Option<&'a [f32]>,
    /// The panels' first column in the first row. No panel begins beyond the last column.
    pub out: Out,
    /// Numbers in a row of the result.
    pub outputs: usize,
    /// Columns to write; the last panel may be wider.
    pub width: usize,
}

/// A function that multiplies some rows with panels, with the instructions of one kind of machine.
pub(crate) type Multiply = unsafe fn(Tiles<'_>, Range<usize>);

/// The functions that this machine can run, with their names, the widest instructions first. Only these may be called.
pub(crate) fn ways() -> impl Iterator<Item = (&'static str, Multiply)> {
    #[cfg(target_arch = "x86_64")]
    let named = {
        let fused = is_x86_feature_detected!("fma");
        [
            (fused && is_x86_feature_detected!("avx512f")).then_some(("avx512", avx512 as Multiply)),
            (fused && is_x86_feature_detected!("avx2")).then_some(("avx2", avx2 as Multiply)),
        ]
    };
    #[cfg(not(target_arch = "x86_64"))]
    let named: [Option<(&'static str, Multiply)>; 0] = [];
    named.into_iter().flatten().chain([("plain", plain as Multiply)])
}

/// Multiplies with the widest instructions that the machine has.
pub(crate) fn multiply(tiles: Tiles<'_>, rows: Range<usize>) {
    let (_, widest) = ways().next().expect("the plain way");
    // Safety: the machine has these instructions.
    unsafe { widest(tiles, rows) };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,fma")]
fn avx512(tiles: Tiles<'_>, rows: Range<usize>) {
    // With few rows reading memory takes the time, and one panel after the other is the fastest order to read.
    match tiles.distance {
        Distance::Far if rows.len() <= 8 => tiles.multiply::<__m512, 8, 1>(rows),
        _ => tiles.multiply::<__m512, 10, 2>(rows),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(tiles: Tiles<'_>, rows: Range<usize>) {
    tiles.multiply::<[__m256; 2], 6, 1>(rows);
}

fn plain(tiles: Tiles<'_>, rows: Range<usize>) {
    tiles.multiply::<[f32; PANEL], 4, 1>(rows);
}

/// One row of a panel in registers.
pub(crate) trait Lanes: Copy {
    fn of(values: &[f32; PANEL]) -> Self;
    /// `self + x * weights`.
    fn add_product(self, x: f32, weights: Self) -> Self;
    fn write(self, to: &mut [f32; PANEL]);
}

#[cfg(target_arch = "x86_64")]
// Safety of all three calls: only `multiply` uses this implementation, where the machine has the instructions.
impl Lanes for __m512 {
    #[inline(always)]
    fn of(values: &[f32; PANEL]) -> Self {
        unsafe { _mm512_loadu_ps(values.as_ptr()) }
    }

    #[inline(always)]
    fn add_product(self, x: f32, weights: Self) -> Self {
        unsafe { _mm512_fmadd_ps(_mm512_set1_ps(x), weights, self) }
    }

    #[inline(always)]
    fn write(self, to: &mut [f32; PANEL]) {
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), self) };
    }
}

#[cfg(target_arch = "x86_64")]
// Safety of all three calls: as above.
impl Lanes for [__m256; 2] {
    #[inline(always)]
    fn of(values: &[f32; PANEL]) -> Self {
        unsafe { [_mm256_loadu_ps(values.as_ptr()), _mm256_loadu_ps(values[PANEL / 2..].as_ptr())] }
    }

    #[inline(always)]
    fn add_product(self, x: f32, weights: Self) -> Self {
        unsafe {
            let x = _mm256_set1_ps(x);
            [_mm256_fmadd_ps(x, weights[0], self[0]), _mm256_fmadd_ps(x, weights[1], self[1])]
        }
    }

    #[inline(always)]
    fn write(self, to: &mut [f32; PANEL]) {
        unsafe {
            _mm256_storeu_ps(to.as_mut_ptr(), self[0]);
            _mm256_storeu_ps(to[PANEL / 2..].as_mut_ptr(), self[1]);
        }
    }
}

/// For other machines. `add_product` rounds once where there is a fused instruction.
impl Lanes for [f32; PANEL] {
    #[inline(always)]
    fn of(values: &[f32; PANEL]) -> Self {
        *values
    }

    #[inline(always)]
    fn add_product(self, x: f32, weights: Self) -> Self {
        let fused = cfg!(target_arch = "aarch64");
        std::array::from_fn(|lane| crate::rows::add_product(fused, self[lane], x, weights[lane]))
    }

    #[inline(always)]
    fn write(self, to: &mut [f32; PANEL]) {
        *to = self;
    }
}

impl Tiles<'_> {
    /// Multiplies all panels, `ABREAST` at a time, with up to `MOST` rows (at most 10). The registers must hold `MOST
    /// * ABREAST` sums, the weights of `ABREAST` panels and a number of a row.
    #[inline(always)]
    fn multiply<L: Lanes, const MOST: usize, const ABREAST: usize>(&self, rows: Range<usize>) {
        let mut panel = 0;
        while panel + ABREAST <= self.count {
            self.columns::<L, MOST, ABREAST>(panel, rows.clone());
            panel += ABREAST;
        }
        for panel in panel..self.count {
            self.columns::<L, MOST, 1>(panel, rows.clone());
        }
    }

    /// Multiplies the panels from `panel` on with all rows, in as few tiles as possible, of about the same height.
    #[inline(always)]
    fn columns<L: Lanes, const MOST: usize, const ABREAST: usize>(&self, panel: usize, rows: Range<usize>) {
        let mut row = rows.start;
        while row < rows.end {
            let left = rows.end - row;
            let ahead = row == rows.start && self.distance == Distance::Far;
            let height = left.div_ceil(left.div_ceil(MOST)).min(MOST);
            match height {
                1 => self.tile::<L, 1, ABREAST>(panel, row, ahead),
                2 => self.tile::<L, 2, ABREAST>(panel, row, ahead),
                3 => self.tile::<L, 3, ABREAST>(panel, row, ahead),
                4 => self.tile::<L, 4, ABREAST>(panel, row, ahead),
                5 => self.tile::<L, 5, ABREAST>(panel, row, ahead),
                6 => self.tile::<L, 6, ABREAST>(panel, row, ahead),
                7 => self.tile::<L, 7, ABREAST>(panel, row, ahead),
                8 => self.tile::<L, 8, ABREAST>(panel, row, ahead),
                9 => self.tile::<L, 9, ABREAST>(panel, row, ahead),
                _ => self.tile::<L, 10, ABREAST>(panel, row, ahead),
            }
            row += height;
        }
    }

    /// Multiplies `HEIGHT` rows from `row` on. `ahead`: whether the following panels are prefetched.
    #[inline(always)]
    fn tile<L: Lanes, const HEIGHT: usize, const ABREAST: usize>(&self, panel: usize, row: usize, ahead: bool) {
        let size = self.panels.len() / self.count;
        let inputs = size / PANEL;
        let x: [&[f32]; HEIGHT] = std::array::from_fn(|index| &self.x[(row + index) * self.stride..][..inputs]);
        let panels: [&[[f32; PANEL]]; ABREAST] =
            std::array::from_fn(|index| &self.panels[(panel + index) * size..][..size].as_chunks().0[..inputs]);
        // A loop, because the compiler calls closures of `from_fn` that are so large, and registers go through memory then.
        let mut sums = [[L::of(&[0.0; PANEL]); ABREAST]; HEIGHT];
        for (row, sums) in (row..).zip(&mut sums) {
            for (panel, sum) in (panel..).zip(sums) {
                *sum = match self.bias {
                    Some(bias) => L::of(&bias[panel * PANEL..].as_chunks().0[0]),
                    None => self.so_far(row, panel),
                };
            }
        }
        for place in 0..inputs {
            if ahead {
                for panel in panels {
                    soon(panel.as_ptr().wrapping_add(ABREAST * inputs + place).cast());
                }
            }
            // Safety: the panels and the rows have that many inputs.
            let weights: [L; ABREAST] =
                std::array::from_fn(|index| L::of(unsafe { panels[index].get_unchecked(place) }));
            for index in 0..HEIGHT {
                let x = unsafe { *x[index].get_unchecked(place) };
                for beside in 0..ABREAST {
                    sums[index][beside] = sums[index][beside].add_product(x, weights[beside]);
                }
            }
        }
        for (row, sums) in (row..).zip(sums) {
            for (panel, sum) in (panel..).zip(sums) {
                self.write(row, panel, sum);
            }
        }
    }

    /// The sums that `out` already holds.
    #[inline(always)]
    fn so_far<L: Lanes>(&self, row: usize, panel: usize) -> L {
        let (out, width) = self.place(row, panel);
        // Safety: an earlier slice of the inputs has written these sums, within the rows and columns that
        // `Packed::forward` has reserved, and nobody else writes them.
        unsafe {
            if width == PANEL {
                return L::of(&*out.cast());
            }
            let mut sums = [0.0; PANEL];
            std::ptr::copy_nonoverlapping(out, sums.as_mut_ptr(), width);
            L::of(&sums)
        }
    }

    #[inline(always)]
    fn write<L: Lanes>(&self, row: usize, panel: usize, sum: L) {
        let (out, width) = self.place(row, panel);
        // Safety: as above.
        unsafe {
            if width == PANEL {
                return sum.write(&mut *out.cast());
            }
            let mut numbers = [0.0; PANEL];
            sum.write(&mut numbers);
            std::ptr::copy_nonoverlapping(numbers.as_ptr(), out, width);
        }
    }

    /// The address of a panel's numbers in a row of the result, and how many columns the panel has there.
    #[inline(always)]
    fn place(&self, row: usize, panel: usize) -> (*mut f32, usize) {
        (self.out.0.wrapping_add(row * self.outputs + panel * PANEL), PANEL.min(self.width - panel * PANEL))
    }
}
