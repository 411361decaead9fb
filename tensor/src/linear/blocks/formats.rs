//! The formats of quantised blocks: where a file keeps the parts of a block, and where they are kept in memory.
//!
//! All formats share one formula: a number is `scale * (code - centre)`, or `scale * code` plus an offset. The low
//! bits of the codes are in one plane, their high bits in another. Inputs of a block that share scale and offset are a
//! run. Blocks with a single run store scale and offset as f16; larger blocks store them as f16 times a small integer
//! of each run.
//!
//! In memory a block belongs to 16 outputs, and each part holds these 16 side by side, in this order: scales and
//! offsets (f16), integers of all runs for the scale, then for the offset (a byte each), low plane, high plane. A byte
//! of a plane holds neighbouring inputs.
//!
//! Source: `ggml-quants.c` of llama.cpp.

use candle_core::quantized::GgmlDType;

use super::PANEL;

/// The format of a weight.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// 16-bit numbers with 5 bits of exponent.
    F16,
    /// 16-bit numbers with the exponent of f32.
    Bf16,
    /// Blocks of this format.
    Of(&'static Format),
}

/// Some bits of all codes of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plane {
    /// Offset in a block of a file.
    at: usize,
    /// Bits per code.
    pub width: usize,
    /// Codes that lie in consecutive bytes of a file; the codes after them share these bytes.
    stride: usize,
}

/// Layout of a block.
#[derive(Debug)]
pub(crate) struct Format {
    pub name: GgmlDType,
    pub inputs: usize,
    /// Inputs that share a scale.
    pub run: usize,
    pub low: Plane,
    /// Width 0 if there is none.
    pub high: Plane,
    /// The code that stands for 0; 0 in formats with offsets.
    pub centre: u32,
    /// Position of the scale in a block of a file.
    scale: usize,
    /// Position of the offset, if there is one.
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
    /// `None` for a format that cannot stay in blocks.
    pub(super) fn of(format: GgmlDType) -> Option<Self> {
        let formats = [Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K];
        match format {
            GgmlDType::F16 => Some(Kind::F16),
            GgmlDType::BF16 => Some(Kind::Bf16),
            _ => formats.into_iter().find(|known| known.name == format).map(Kind::Of),
        }
    }

    pub(super) fn inputs(self) -> usize {
        if let Kind::Of(format) = self { format.inputs } else { 1 }
    }

    /// Bytes of a block of 16 outputs.
    pub(super) fn bytes(self) -> usize {
        if let Kind::Of(format) = self { format.bytes() } else { 2 * PANEL }
    }

    /// Bytes of a file's block, which belongs to one output.
    pub(super) fn stored_bytes(self) -> usize {
        if let Kind::Of(format) = self { format.stored } else { 2 }
    }

    /// Copies a file's block to its place among the 16.
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

    /// Bytes of the f16 scales and offsets of a block of 16 outputs.
    pub fn halves(&self) -> usize {
        2 * PANEL * (1 + usize::from(self.has_offset()))
    }

    /// Bytes of the runs' integers, either for scales or for offsets.
    pub fn factors(&self) -> usize {
        if self.runs() > 1 { PANEL * self.runs() } else { 0 }
    }

    /// Bytes before the planes.
    pub fn head(&self) -> usize {
        self.halves() + self.factors() * (1 + usize::from(self.has_offset()))
    }

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
            // Larger blocks subtract the offset, so its sign is flipped.
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
        // Codes of 8 bits are signed in the file; flipping the sign bit makes them count from the smallest.
        let flip = if self.low.width == 8 { 0x80 } else { 0 };
        let (low, high) = planes.split_at_mut(self.plane(self.low));
        for (plane, bytes, flip) in [(self.low, low, flip), (self.high, high, 0)] {
            for input in 0..if plane.width > 0 { self.inputs } else { 0 } {
                let bit = input * plane.width;
                bytes[bit / 8 * PANEL + lane] |= (plane.code(stored, input) ^ flip) << (bit % 8);
            }
        }
    }

    /// The integers by which scale and offset of a run are multiplied.
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
    /// An input's bits in a file's block.
    fn code(self, stored: &[u8], input: usize) -> u8 {
        let (group, place) = (input / self.stride, input % self.stride);
        let in_byte = 8 / self.width;
        let byte = stored[self.at + group / in_byte * self.stride + place];
        byte >> (self.width * (group % in_byte)) & (u8::MAX >> (8 - self.width))
    }
}
