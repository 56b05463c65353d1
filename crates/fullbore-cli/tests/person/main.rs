//! The command as a person uses it: its binary run in a shell's way, its bytes, words and exit codes looked at.
#![forbid(unsafe_code)]

mod arguments;
mod bench;
mod beside;
mod changes;
mod cmp;
mod copy;
mod corpus;
mod cp;
mod dedupe;
mod devices;
mod documents;
mod escapes;
mod export;
mod forbidden;
mod full_disk;
mod generate;
mod grep;
mod grep_flags;
mod ground;
mod killed;
mod limits;
mod memory;
mod outputs;
mod probe;
mod profile;
mod report;
mod signals;
mod slow;
mod standard_output;
mod streams;
mod sum;
mod threads;
mod tools_on_corpus;
mod transform;
mod wc;
