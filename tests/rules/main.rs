//! What holds of sources, dependencies and documents. Nothing here runs a model or a program of a policy.

mod architecture;
mod dependencies;
mod docs;
mod packages;
