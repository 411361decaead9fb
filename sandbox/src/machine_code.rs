//! Machine code that is compiled once and kept in the cache.

use std::path::Path;
use std::sync::Once;

use wasmtime::component::Component;
use wasmtime::{Engine, Module};

use crate::HostError;
use crate::cache::{CacheFile, CachedCode};

/// Advice where the cache cannot be written.
const SET_CACHE: &str = "set GRPO_2048_CACHE to a directory of your own";

/// What wasmtime compiles and loads again.
#[allow(unsafe_code, reason = "wasmtime loads machine code unchecked")]
pub(crate) trait MachineCode: Sized {
    /// Whether to compile it at every start takes so long that users are told why it is.
    const SLOW: bool;

    /// Loads machine code.
    ///
    /// # Safety
    /// It must have been compiled by this version for an engine like this one.
    unsafe fn load(engine: &Engine, code: &[u8]) -> wasmtime::Result<Self>;

    /// Maps a file of machine code.
    ///
    /// # Safety
    /// As for [`load`](Self::load), and nobody may write to the file.
    unsafe fn map(engine: &Engine, file: &Path) -> wasmtime::Result<Self>;
}

#[allow(unsafe_code, reason = "wasmtime loads machine code unchecked")]
impl MachineCode for Component {
    const SLOW: bool = true;

    unsafe fn load(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
        // SAFETY: the caller's.
        unsafe { Component::deserialize(engine, code) }
    }

    unsafe fn map(engine: &Engine, file: &Path) -> wasmtime::Result<Component> {
        // SAFETY: the caller's.
        unsafe { Component::deserialize_file(engine, file) }
    }
}

#[allow(unsafe_code, reason = "wasmtime loads machine code unchecked")]
impl MachineCode for Module {
    // The runtime of compiled programs takes a twentieth of a second, and its file goes where the interpreter's does.
    const SLOW: bool = false;

    unsafe fn load(engine: &Engine, code: &[u8]) -> wasmtime::Result<Module> {
        // SAFETY: the caller's.
        unsafe { Module::deserialize(engine, code) }
    }

    unsafe fn map(engine: &Engine, file: &Path) -> wasmtime::Result<Module> {
        // SAFETY: the caller's.
        unsafe { Module::deserialize_file(engine, file) }
    }
}

/// The machine code of WebAssembly with this `digest`: from its file in `cache`, or made by `compile` and kept there.
pub(crate) fn kept<T: MachineCode>(
    cache: &Path,
    engine: &Engine,
    digest: &str,
    compile: impl FnOnce() -> Result<Vec<u8>, HostError>,
) -> Result<T, HostError> {
    let file = CacheFile::new(cache, engine, digest);
    if let Some(loaded) = file.open().and_then(|code| load_cached(engine, &code).ok()) {
        return Ok(loaded);
    }
    let code = compile()?;
    // The compiled code is used all the same; until it can be written, every start compiles it again.
    if let Err(error) = file.write(&code)
        && T::SLOW
    {
        static TOLD: Once = Once::new();
        TOLD.call_once(|| tracing::warn!("{error}; the compiled sandbox is not kept, {SET_CACHE}"));
    }
    load(engine, &code)
}

/// Loads machine code from its cache file, by mapping it where that is possible.
#[cfg_attr(unix, allow(unsafe_code, reason = "wasmtime loads machine code unchecked; its origin is checked before"))]
fn load_cached<T: MachineCode>(engine: &Engine, code: &CachedCode) -> Result<T, HostError> {
    #[cfg(unix)]
    {
        // SAFETY: the file is intact, belongs to this user, and was compiled by this version for this engine. Nobody else may
        // write to it, and this program only ever puts another in its place or removes it.
        let mapped = unsafe { T::map(engine, &code.path()) };
        if let Ok(mapped) = mapped {
            return Ok(mapped);
        }
    }
    load(engine, &code.read().map_err(|error| HostError::engine(error.into()))?)
}

/// Loads machine code that this program compiled.
#[allow(unsafe_code, reason = "wasmtime loads machine code unchecked; its origin is checked before")]
fn load<T: MachineCode>(engine: &Engine, code: &[u8]) -> Result<T, HostError> {
    // SAFETY: `code` comes from `compile`, either directly or through the cache, which returns only files that are intact, belong
    // to this user, and were compiled by this version for this engine.
    unsafe { T::load(engine, code) }.map_err(HostError::engine)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_module_is_compiled_once_and_again_where_its_file_is_damaged() {
        let (dir, engine) = (tempfile::tempdir().unwrap(), Engine::default());
        let compiles = || {
            let mut compiled = false;
            let code = || {
                compiled = true;
                engine.precompile_module(b"\0asm\x01\0\0\0").map_err(HostError::engine)
            };
            let _: Module = kept(dir.path(), &engine, "empty", code).unwrap();
            compiled
        };
        assert_eq!([compiles(), compiles()], [true, false]);
        let file = fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
        let mut damaged = fs::read(&file).unwrap();
        damaged[64] ^= 1;
        fs::write(&file, damaged).unwrap();
        assert_eq!([compiles(), compiles()], [true, false]);
    }
}
