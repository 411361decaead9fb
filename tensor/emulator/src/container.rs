//! A container of the same kernels for several GPUs (fatbin): machine code for some, PTX for the others. This GPU takes
//! the PTX.

use crate::{DeviceFault, fault};

const MAGIC: u32 = 0xba55_ed50;
/// Bytes before the first entry.
const HEADER: usize = 16;
/// The kind of an entry that is PTX.
const PTX: u16 = 1;
/// Flags of an entry that is compressed, in either way.
const COMPRESSED: u64 = 0x2000 | 0x8000;

/// The entries of a container; none where `image` is something else.
///
/// # Safety
///
/// `image` is a whole container, or has at least four bytes.
pub unsafe fn content<'a>(image: *const u8) -> Option<&'a [u8]> {
    // Safety: as the caller promises; a container says its own length.
    unsafe {
        let is_container = image.cast::<u32>().read_unaligned() == MAGIC;
        let length = || image.add(8).cast::<u64>().read_unaligned() as usize;
        is_container.then(|| std::slice::from_raw_parts(image.add(HEADER), length()))
    }
}

/// The PTX among the entries.
pub fn ptx(mut entries: &[u8]) -> Result<String, DeviceFault> {
    let number = |entry: &[u8], at: usize, bytes: usize| {
        let word = entry.get(at..at + bytes).ok_or_else(|| fault!("a container without PTX"))?;
        Ok::<_, DeviceFault>(word.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    loop {
        let (kind, header) = (number(entries, 0, 2)?, number(entries, 4, 4)? as usize);
        let end = header + number(entries, 8, 8)? as usize;
        let payload = entries.get(header..end).ok_or_else(|| fault!("a container that ends too early"))?;
        if kind == u64::from(PTX) {
            return match number(entries, 40, 8)? & COMPRESSED {
                0 => Ok(String::from_utf8_lossy(payload).trim_end_matches('\0').to_owned()),
                _ => Err(fault!("compressed PTX, which this GPU does not read")),
            };
        }
        entries = &entries[end..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry with a header of `header` bytes.
    fn entry(kind: u16, header: u32, flags: u64, payload: &[u8]) -> Vec<u8> {
        let mut all = vec![0; header as usize];
        all[..2].copy_from_slice(&kind.to_le_bytes());
        all[4..8].copy_from_slice(&header.to_le_bytes());
        all[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
        all[40..48].copy_from_slice(&flags.to_le_bytes());
        [&all, payload].concat()
    }

    #[test]
    fn the_text_among_the_kernels_for_several_gpus_is_read() {
        let machine_code = entry(2, 80, 0x11, b"\x7fELF");
        let entries = [machine_code.clone(), entry(PTX, 112, 0x11, b".version 9.0\0\0\0\0")].concat();
        let header = [&MAGIC.to_le_bytes()[..], &[1, 0, 16, 0], &(entries.len() as u64).to_le_bytes()].concat();
        let whole = [header, entries.clone()].concat();
        // Safety: a whole container, and text of four bytes and more.
        let (found, none) = unsafe { (content(whole.as_ptr()), content(c".version".as_ptr().cast())) };
        assert_eq!((found, none), (Some(&entries[..]), None));
        assert_eq!(ptx(&entries).unwrap(), ".version 9.0");
        let refused = |entries: &[u8]| ptx(entries).unwrap_err().0;
        assert_eq!(refused(&machine_code), "a container without PTX");
        assert_eq!(refused(&entry(PTX, 112, 0x8011, b"")), "compressed PTX, which this GPU does not read");
        assert_eq!(refused(&entries[..entries.len() - 1]), "a container that ends too early");
    }
}
