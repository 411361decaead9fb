//! What the host keeps for an instance, and the limits that it sets its memory.

use wasmtime::ResourceLimiter;

/// The host's state for an instance.
pub(crate) struct Host {
    pub(crate) memory_bytes: usize,
    /// Whether the program asked for more memory than it may have.
    pub(crate) denied: bool,
    /// The system's message, if it refused memory that the program may have.
    pub(crate) exhausted: Option<String>,
}

impl ResourceLimiter for Host {
    fn memory_growing(&mut self, _now: usize, wanted: usize, max: Option<usize>) -> wasmtime::Result<bool> {
        let granted = wanted <= self.memory_bytes && max.is_none_or(|max| wanted <= max);
        self.denied |= !granted;
        Ok(granted)
    }

    // An error here is a trap. Otherwise the guest would raise a `MemoryError`, and the program would be blamed for
    // it.
    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        self.exhausted = Some(format!("{error:#}"));
        Err(error)
    }

    fn table_growing(&mut self, _now: usize, wanted: usize, max: Option<usize>) -> wasmtime::Result<bool> {
        Ok(max.is_none_or(|max| wanted <= max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Host = Host { memory_bytes: 1 << 20, denied: false, exhausted: None };

    #[test]
    fn memory_beyond_the_limit_or_the_guest_s_own_maximum_is_denied_to_the_program() {
        for (wanted, max, granted) in [(1 << 20, None, true), ((1 << 20) + 1, None, false), (900, Some(899), false)] {
            let mut host = HOST;
            assert_eq!(host.memory_growing(0, wanted, max).unwrap(), granted);
            assert_eq!((host.denied, &host.exhausted), (!granted, &None));
        }
    }

    #[test]
    fn memory_that_the_system_refuses_is_a_trap_and_the_host_s_fault() {
        let mut host = HOST;
        assert!(host.memory_growing(0, 65_536, None).unwrap());
        let error = wasmtime::Error::from(std::io::Error::from(std::io::ErrorKind::OutOfMemory));
        assert!(host.memory_grow_failed(error).is_err());
        assert_eq!((host.denied, host.exhausted.as_deref()), (false, Some("out of memory")));
    }
}
