//! What the sandbox promises, apart from its two tiers being alike (`tests/tiers`) and from what measures the memory of its own
//! process (`tests/hostile.rs`, `tests/soak.rs`).

mod cache;
mod edges;
mod library;
mod numpy;
mod page;
mod promises;
mod scripts;
mod sizes;
mod threads;
mod values;
