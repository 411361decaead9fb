//! Formats of blocks: where a file keeps their parts, and where they are kept here.
//!
//! All of them are one formula: a number is `scale * (code - centre)`, or `scale * code` and an offset. Codes lie in a
//! plane of their low bits and one of their high bits. Scale and offset of a run of inputs are numbers of the block in
//! f16, in larger blocks times a small whole number of the run.
//!
//! Here a block is that of 16 outputs, and each of these parts has the 16 side by side: scales, offsets (f16 each), whole
//! numbers of all runs for the scale, for the offset (a byte each), low plane, high plane. In a plane a byte holds inputs
//! that follow each other.
//!
//! Source: `ggml-quants.c` of llama.cpp.

use candle_core::quantized::GgmlDType;

use super::PANEL;

/// What a weight is kept as.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Numbers of 16 bits with a small range.
    F16,
    /// Numbers of 16 bits with the range of f32.
    Bf16,
    /// Blocks.
    Of(&'static Format),
}

/// Some bits of all codes of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plane {
    /// Where a file has it in a block.
    at: usize,
    /// Bits of a code.
    pub width: usize,
    /// Codes that a file has in bytes that follow each other, before their neighbours in the same bytes.
    stride: usize,
}

/// How blocks are laid out.
#[derive(Debug)]
pub(crate) struct Format {
    pub name: GgmlDType,
    /// Inputs of a block.
    pub inputs: usize,
    /// Inputs that share a scale.
    pub run: usize,
    pub low: Plane,
    /// Of width 0 where there is none.
    pub high: Plane,
    /// The code that stands for 0; 0 where there are offsets.
    pub centre: u32,
    /// Where a file has the scale in a block.
    scale: usize,
    /// And the offset, if there is one.
    offset: Option<usize>,
    /// Bytes of a block in a file.
    stored: usize,
}

const fn plane(at: usize, width: usize, stride: usize) -> Plane {
    Plane { at, width, stride }
}

const NONE: Plane = plane(0, 0, 1);

pub(super) const Q4_0: &Format = &Format {
    name: GgmlDType::Q4_0,
    inputs: 32,
    run: 32,
    low: plane(2, 4, 16),
    high: NONE,
    centre: 8,
    scale: 0,
    offset: None,
    stored: 18,
};
pub(super) const Q4_1: &Format =
    &Format { name: GgmlDType::Q4_1, low: plane(4, 4, 16), centre: 0, offset: Some(2), stored: 20, ..*Q4_0 };
pub(super) const Q5_0: &Format =
    &Format { name: GgmlDType::Q5_0, low: plane(6, 4, 16), high: plane(2, 1, 1), centre: 16, stored: 22, ..*Q4_0 };
pub(super) const Q5_1: &Format =
    &Format { name: GgmlDType::Q5_1, low: plane(8, 4, 16), high: plane(4, 1, 1), stored: 24, ..*Q4_1 };
pub(super) const Q8_0: &Format =
    &Format { name: GgmlDType::Q8_0, low: plane(2, 8, 32), centre: 128, stored: 34, ..*Q4_0 };
pub(super) const Q2_K: &Format = &Format {
    name: GgmlDType::Q2K,
    inputs: 256,
    run: 16,
    low: plane(16, 2, 32),
    high: NONE,
    centre: 0,
    scale: 80,
    offset: Some(82),
    stored: 84,
};
pub(super) const Q3_K: &Format = &Format {
    name: GgmlDType::Q3K,
    low: plane(32, 2, 32),
    high: plane(0, 1, 32),
    centre: 4,
    scale: 108,
    offset: None,
    stored: 110,
    ..*Q2_K
};
pub(super) const Q4_K: &Format =
    &Format { name: GgmlDType::Q4K, run: 32, low: plane(16, 4, 32), scale: 0, offset: Some(2), stored: 144, ..*Q2_K };
pub(super) const Q5_K: &Format =
    &Format { name: GgmlDType::Q5K, low: plane(48, 4, 32), high: plane(16, 1, 32), stored: 176, ..*Q4_K };
pub(super) const Q6_K: &Format = &Format {
    name: GgmlDType::Q6K,
    low: plane(0, 4, 64),
    high: plane(128, 2, 32),
    centre: 32,
    scale: 208,
    offset: None,
    stored: 210,
    ..*Q2_K
};

impl Kind {
    /// None of a format that is not one of these.
    pub(super) fn of(format: GgmlDType) -> Option<Self> {
        let formats = [Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K];
        match format {
            GgmlDType::F16 => Some(Kind::F16),
            GgmlDType::BF16 => Some(Kind::Bf16),
            _ => formats.into_iter().find(|known| known.name == format).map(Kind::Of),
        }
    }

    /// Inputs of a block.
    pub(super) fn inputs(self) -> usize {
        if let Kind::Of(format) = self { format.inputs } else { 1 }
    }

    /// Bytes of a block of 16 outputs.
    pub(super) fn bytes(self) -> usize {
        if let Kind::Of(format) = self { format.bytes() } else { 2 * PANEL }
    }

    /// Bytes of a block of one output in a file.
    pub(super) fn stored_bytes(self) -> usize {
        if let Kind::Of(format) = self { format.stored } else { 2 }
    }

    /// Puts a block of a file to its place among 16.
    pub(super) fn put(self, lane: usize, stored: &[u8], block: &mut [u8]) {
        match self {
            Kind::Of(format) => format.put(lane, stored, block),
            _ => block[2 * lane..][..2].copy_from_slice(stored),
        }
    }
}

impl Format {
    pub fn runs(&self) -> usize {
        self.inputs / self.run
    }

    pub const fn has_offset(&self) -> bool {
        self.offset.is_some()
    }

    /// Bytes of the f16 numbers of a block of 16 outputs.
    pub fn halves(&self) -> usize {
        2 * PANEL * (1 + usize::from(self.has_offset()))
    }

    /// Bytes of the whole numbers of its runs, for scales or for offsets.
    pub fn factors(&self) -> usize {
        if self.runs() > 1 { PANEL * self.runs() } else { 0 }
    }

    /// Bytes before its planes.
    pub fn head(&self) -> usize {
        self.halves() + self.factors() * (1 + usize::from(self.has_offset()))
    }

    /// Bytes of a plane.
    pub fn plane(&self, plane: Plane) -> usize {
        PANEL * self.inputs * plane.width / 8
    }

    pub fn bytes(&self) -> usize {
        self.head() + self.plane(self.low) + self.plane(self.high)
    }

    fn put(&self, lane: usize, stored: &[u8], block: &mut [u8]) {
        let (head, planes) = block.split_at_mut(self.head());
        let mut half = |index: usize, at: usize, sign: u8| {
            head[2 * (PANEL * index + lane)..][..2].copy_from_slice(&[stored[at], stored[at + 1] ^ sign]);
        };
        half(0, self.scale, 0);
        if let Some(offset) = self.offset {
            // Larger blocks take it away.
            half(1, offset, if self.runs() > 1 { 0x80 } else { 0 });
        }
        let factors = &mut head[self.halves()..];
        for run in 0..self.factors() / PANEL {
            let (of_scale, of_offset) = self.factors_of(stored, run);
            factors[PANEL * run + lane] = of_scale as u8;
            if self.has_offset() {
                factors[self.factors() + PANEL * run + lane] = of_offset;
            }
        }
        // Two's complement counts from 0, codes from the smallest.
        let flip = if self.low.width == 8 { 0x80 } else { 0 };
        let (low, high) = planes.split_at_mut(self.plane(self.low));
        for (plane, bytes, flip) in [(self.low, low, flip), (self.high, high, 0)] {
            for input in 0..if plane.width > 0 { self.inputs } else { 0 } {
                let bit = input * plane.width;
                bytes[bit / 8 * PANEL + lane] |= (plane.code(stored, input) ^ flip) << (bit % 8);
            }
        }
    }

    /// The whole numbers that scale and offset of a run are multiplied by.
    fn factors_of(&self, stored: &[u8], run: usize) -> (i8, u8) {
        match self.name {
            GgmlDType::Q2K => ((stored[run] & 15) as i8, stored[run] >> 4),
            GgmlDType::Q3K => {
                let scales = &stored[96..108];
                let low = scales[run % 8] >> (4 * (run / 8)) & 15;
                let high = scales[8 + run % 4] >> (2 * (run / 4)) & 3;
                ((low | high << 4) as i8 - 32, 0)
            }
            GgmlDType::Q6K => (stored[192 + run] as i8, 0),
            _ => {
                let scales = &stored[4..16];
                match run {
                    0..4 => ((scales[run] & 63) as i8, scales[run + 4] & 63),
                    _ => {
                        let (both, high, offset) = (scales[run + 4], scales[run - 4] >> 6, scales[run] >> 6);
                        ((both & 15 | high << 4) as i8, both >> 4 | offset << 4)
                    }
                }
            }
        }
    }
}

impl Plane {
    /// An input's bits, as a file has them.
    fn code(self, stored: &[u8], input: usize) -> u8 {
        let (group, place) = (input / self.stride, input % self.stride);
        let in_byte = 8 / self.width;
        let byte = stored[self.at + group / in_byte * self.stride + place];
        byte >> (self.width * (group % in_byte)) & (u8::MAX >> (8 - self.width))
    }
}
