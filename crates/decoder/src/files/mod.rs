//! Models in files: directories, `.gguf` files, the Hub and its cache, the model inside the program, exports.

pub(crate) mod directory;
pub(crate) mod export;
pub(crate) mod finite;
pub(crate) mod gguf;
pub(crate) mod hub;
pub(crate) mod loaded;
pub(crate) mod loading;
pub(crate) mod origin;
