//! Copying: files and trees, by the fastest method available, with all attributes, and complete or not at all.
//!
//! `content` moves the bytes of one file (shared blocks, holes, parallel blocks; `sequential`: those of a pipe); `hashed`
//! verifies and resumes, with `journal`. `tree` walks trees, with `regular`, `links` and `directories` for the entries and
//! `existing` for existing targets (`whole`: those to skip), over `tree_copy` and `directory`.

mod attributes;
mod content;
mod directories;
mod directory;
mod existing;
mod failure;
mod hashed;
mod journal;
mod links;
mod note;
mod options;
mod regular;
mod sequential;
mod tree;
mod tree_copy;
mod whole;

pub use content::copy_file;
pub use existing::backup_name;
pub use failure::CopyError;
pub use note::copy_was_begun;
pub(crate) use options::CopySettings;
pub use options::{
    Backup, BackupControl, Confirm, CopyEvent, CopyKind, CopyOptions, CopyStats, Existing, Follow, Overwrite,
    Preserve, Reflink, Sparse,
};
pub(crate) use tree::copy;
