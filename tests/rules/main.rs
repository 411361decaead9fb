//! What holds of sources, dependencies and documents. Of these alone the documents run the program: they show its
//! commands.

#[path = "../synthetic/chat_model.rs"]
mod chat_model;

mod architecture;
mod dependencies;
mod docs;
mod packages;
mod scripts;

/// Fails with a line for each error.
fn assert_none(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{} wrong:\n{}\n", wrong.len(), wrong.join("\n"));
}
