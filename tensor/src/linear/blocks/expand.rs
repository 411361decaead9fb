//! Expands blocks to numbers, 16 outputs at a time, in vector registers.
//!
//! Products of scales and codes have fewer than 24 bits and are exact in f32, so each sum is rounded once and fusing
//! it with its product changes no number.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use half::{bf16, f16};

use super::formats::{Format, Kind, Q2_K, Q3_K, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0};
use crate::linear::tile::{Lanes, PANEL};
use crate::rows::soon;

/// Bytes of a cache line.
const LINE: usize = 64;
/// Bytes between the block that is expanded and the block that is prefetched; expanding them takes longer than memory
/// takes to answer.
const AHEAD: usize = 16 << 10;

/// A function that expands blocks with the instructions of one kind of machine.
pub(crate) type Expand = unsafe fn(Kind, &[u8], &mut [[f32; PANEL]]);

/// The functions that this machine can run, with their names, the widest instructions first. Only these may be called.
pub(crate) fn ways() -> impl Iterator<Item = (&'static str, Expand)> {
    #[cfg(target_arch = "x86_64")]
    let named = {
        let fused = is_x86_feature_detected!("fma");
        let halves = fused && is_x86_feature_detected!("f16c");
        [
            (fused && is_x86_feature_detected!("avx512f")).then_some(("avx512", avx512 as Expand)),
            (halves && is_x86_feature_detected!("avx2")).then_some(("avx2", avx2 as Expand)),
        ]
    };
    #[cfg(not(target_arch = "x86_64"))]
    let named: [Option<(&'static str, Expand)>; 0] = [];
    named.into_iter().flatten().chain([("plain", plain as Expand)])
}

/// Expands with the widest instructions that the machine has.
pub(super) fn expand(kind: Kind, blocks: &[u8], out: &mut [[f32; PANEL]]) {
    let (_, widest) = ways().next().expect("the plain way");
    // Safety: the machine has these instructions.
    unsafe { widest(kind, blocks, out) };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,fma")]
fn avx512(kind: Kind, blocks: &[u8], out: &mut [[f32; PANEL]]) {
    all::<__m512>(kind, blocks, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn avx2(kind: Kind, blocks: &[u8], out: &mut [[f32; PANEL]]) {
    all::<[__m256; 2]>(kind, blocks, out);
}

fn plain(kind: Kind, blocks: &[u8], out: &mut [[f32; PANEL]]) {
    all::<[f32; PANEL]>(kind, blocks, out);
}

/// Each format is a separate instance, so that all its sizes are constants.
#[inline(always)]
fn all<L: Widen>(kind: Kind, blocks: &[u8], out: &mut [[f32; PANEL]]) {
    let halves = blocks.as_chunks().0.iter().zip(out.iter_mut());
    match kind {
        Kind::F16 => halves.for_each(|(halves, out)| L::half(halves).write(out)),
        Kind::Bf16 => halves.for_each(|(halves, out)| L::brain(halves).write(out)),
        Kind::Of(format) => match format.name {
            name if name == Q4_0.name => in_format::<L>(Q4_0, blocks, out),
            name if name == Q4_1.name => in_format::<L>(Q4_1, blocks, out),
            name if name == Q5_0.name => in_format::<L>(Q5_0, blocks, out),
            name if name == Q5_1.name => in_format::<L>(Q5_1, blocks, out),
            name if name == Q8_0.name => in_format::<L>(Q8_0, blocks, out),
            name if name == Q2_K.name => in_format::<L>(Q2_K, blocks, out),
            name if name == Q3_K.name => in_format::<L>(Q3_K, blocks, out),
            name if name == Q4_K.name => in_format::<L>(Q4_K, blocks, out),
            name if name == Q5_K.name => in_format::<L>(Q5_K, blocks, out),
            _ => in_format::<L>(Q6_K, blocks, out),
        },
    }
}

#[inline(always)]
fn in_format<L: Widen>(format: &Format, blocks: &[u8], out: &mut [[f32; PANEL]]) {
    let zero = L::of(&[0.0; PANEL]);
    let centre = L::of(&[-(format.centre as f32); PANEL]);
    for (block, out) in blocks.chunks_exact(format.bytes()).zip(out.chunks_exact_mut(format.inputs)) {
        for line in block.iter().step_by(LINE) {
            soon(std::ptr::from_ref(line).wrapping_add(AHEAD).cast());
        }
        let (halves, rest) = block.split_at(format.halves());
        let (factors, planes) = rest.split_at(format.head() - format.halves());
        let (low, high) = planes.split_at(format.plane(format.low));
        let (halves, factors) = (halves.as_chunks().0, factors.as_chunks().0);
        let (low, high) = (low.as_chunks().0, high.as_chunks().0);
        for (run, out) in out.chunks_exact_mut(format.run).enumerate() {
            let mut scale = L::half(&halves[0]);
            let mut offset = if format.has_offset() { L::half(&halves[1]) } else { zero };
            if format.runs() > 1 {
                scale = zero.plus_product(scale, L::signed(&factors[run]));
                if format.has_offset() {
                    offset = zero.plus_product(offset, L::signed(&factors[format.runs() + run]));
                }
            }
            if !format.has_offset() {
                offset = zero.plus_product(scale, centre);
            }
            for (eight, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let first = run * format.run + 8 * eight;
                for (place, out) in out.iter_mut().enumerate() {
                    let mut code = bits::<L>(low, format.low.width, first, place);
                    if format.high.width > 0 {
                        let high = bits::<L>(high, format.high.width, first, place);
                        code = L::above(code, high, format.low.width as u32);
                    }
                    offset.plus_product(scale, L::number(code)).write(out);
                }
            }
        }
    }
}

/// A plane's bits of one input: the input at `place` among the eight from `first` on.
#[inline(always)]
fn bits<L: Widen>(plane: &[[u8; PANEL]], width: usize, first: usize, place: usize) -> L::Codes {
    L::field(&plane[first * width / 8 + place * width / 8], (place * width % 8) as u32, 0xff >> (8 - width))
}

/// Vectors of 16 numbers that are made of fewer bits.
trait Widen: Lanes {
    /// A vector of 16 integers.
    type Codes: Copy;
    /// The bits of each byte from `from` on, masked by `mask`.
    fn field(bytes: &[u8; PANEL], from: u32, mask: u32) -> Self::Codes;
    /// `low` with the bits of `high` above its lowest `width` bits.
    fn above(low: Self::Codes, high: Self::Codes, width: u32) -> Self::Codes;
    fn number(codes: Self::Codes) -> Self;
    /// From signed bytes.
    fn signed(bytes: &[u8; PANEL]) -> Self;
    /// From f16.
    fn half(bytes: &[u8; 2 * PANEL]) -> Self;
    /// From bf16.
    fn brain(bytes: &[u8; 2 * PANEL]) -> Self;
    /// `self + a * b`.
    fn plus_product(self, a: Self, b: Self) -> Self;
}

#[cfg(target_arch = "x86_64")]
// Safety of all calls: only `avx512` uses this implementation, where the machine has the instructions.
impl Widen for __m512 {
    type Codes = __m512i;

    #[inline(always)]
    fn field(bytes: &[u8; PANEL], from: u32, mask: u32) -> __m512i {
        unsafe {
            let wide = _mm512_cvtepu8_epi32(_mm_loadu_si128(bytes.as_ptr().cast()));
            _mm512_and_si512(_mm512_srlv_epi32(wide, _mm512_set1_epi32(from as i32)), _mm512_set1_epi32(mask as i32))
        }
    }

    #[inline(always)]
    fn above(low: __m512i, high: __m512i, width: u32) -> __m512i {
        unsafe { _mm512_or_si512(low, _mm512_sllv_epi32(high, _mm512_set1_epi32(width as i32))) }
    }

    #[inline(always)]
    fn number(codes: __m512i) -> Self {
        unsafe { _mm512_cvtepi32_ps(codes) }
    }

    #[inline(always)]
    fn signed(bytes: &[u8; PANEL]) -> Self {
        unsafe { _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(bytes.as_ptr().cast()))) }
    }

    #[inline(always)]
    fn half(bytes: &[u8; 2 * PANEL]) -> Self {
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(bytes.as_ptr().cast())) }
    }

    #[inline(always)]
    fn brain(bytes: &[u8; 2 * PANEL]) -> Self {
        unsafe {
            let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(bytes.as_ptr().cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide))
        }
    }

    #[inline(always)]
    fn plus_product(self, a: Self, b: Self) -> Self {
        unsafe { _mm512_fmadd_ps(a, b, self) }
    }
}

#[cfg(target_arch = "x86_64")]
// Safety of all calls: only `avx2` uses this implementation, where the machine has the instructions.
impl Widen for [__m256; 2] {
    type Codes = [__m256i; 2];

    #[inline(always)]
    fn field(bytes: &[u8; PANEL], from: u32, mask: u32) -> [__m256i; 2] {
        unsafe {
            let halves = [bytes.as_ptr(), bytes[PANEL / 2..].as_ptr()];
            let (from, mask) = (_mm256_set1_epi32(from as i32), _mm256_set1_epi32(mask as i32));
            halves.map(|half| {
                let wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64(half.cast()));
                _mm256_and_si256(_mm256_srlv_epi32(wide, from), mask)
            })
        }
    }

    #[inline(always)]
    fn above(low: [__m256i; 2], high: [__m256i; 2], width: u32) -> [__m256i; 2] {
        unsafe {
            let width = _mm256_set1_epi32(width as i32);
            [0, 1].map(|half| _mm256_or_si256(low[half], _mm256_sllv_epi32(high[half], width)))
        }
    }

    #[inline(always)]
    fn number(codes: [__m256i; 2]) -> Self {
        unsafe { codes.map(|half| _mm256_cvtepi32_ps(half)) }
    }

    #[inline(always)]
    fn signed(bytes: &[u8; PANEL]) -> Self {
        unsafe {
            let halves = [bytes.as_ptr(), bytes[PANEL / 2..].as_ptr()];
            halves.map(|half| _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(half.cast()))))
        }
    }

    #[inline(always)]
    fn half(bytes: &[u8; 2 * PANEL]) -> Self {
        unsafe {
            let halves = [bytes.as_ptr(), bytes[PANEL..].as_ptr()];
            halves.map(|half| _mm256_cvtph_ps(_mm_loadu_si128(half.cast())))
        }
    }

    #[inline(always)]
    fn brain(bytes: &[u8; 2 * PANEL]) -> Self {
        unsafe {
            let halves = [bytes.as_ptr(), bytes[PANEL..].as_ptr()];
            halves.map(|half| {
                let wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(half.cast()));
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(wide))
            })
        }
    }

    #[inline(always)]
    fn plus_product(self, a: Self, b: Self) -> Self {
        unsafe { [0, 1].map(|half| _mm256_fmadd_ps(a[half], b[half], self[half])) }
    }
}

impl Widen for [f32; PANEL] {
    type Codes = [u32; PANEL];

    #[inline(always)]
    fn field(bytes: &[u8; PANEL], from: u32, mask: u32) -> [u32; PANEL] {
        bytes.map(|byte| u32::from(byte) >> from & mask)
    }

    #[inline(always)]
    fn above(low: [u32; PANEL], high: [u32; PANEL], width: u32) -> [u32; PANEL] {
        std::array::from_fn(|lane| low[lane] | high[lane] << width)
    }

    #[inline(always)]
    fn number(codes: [u32; PANEL]) -> Self {
        codes.map(|code| code as f32)
    }

    #[inline(always)]
    fn signed(bytes: &[u8; PANEL]) -> Self {
        bytes.map(|byte| f32::from(byte as i8))
    }

    #[inline(always)]
    fn half(bytes: &[u8; 2 * PANEL]) -> Self {
        let bytes = bytes.as_chunks().0;
        std::array::from_fn(|lane| f16::from_le_bytes(bytes[lane]).to_f32())
    }

    #[inline(always)]
    fn brain(bytes: &[u8; 2 * PANEL]) -> Self {
        let bytes = bytes.as_chunks().0;
        std::array::from_fn(|lane| bf16::from_le_bytes(bytes[lane]).to_f32())
    }

    #[inline(always)]
    fn plus_product(self, a: Self, b: Self) -> Self {
        std::array::from_fn(|lane| self[lane] + a[lane] * b[lane])
    }
}
