//! End-to-end tests of the command: the binary run as from a shell; output, messages and exit codes checked.
// Windows: std sends no events to consoles.
#![cfg_attr(not(windows), forbid(unsafe_code))]
#![cfg_attr(windows, deny(unsafe_code))]
// Elsewhere the gated tests leave helpers without a user.
#![cfg_attr(not(target_os = "linux"), allow(dead_code, unused_imports))]

mod adaptive;
mod arguments;
mod bench;
mod changes;
mod cmp;
mod copy;
mod cp;
mod dedupe;
mod documents;
mod examples;
mod generate;
mod grep_flags;
mod killed;
mod memory;
mod outputs;
mod predict;
mod probe;
mod profile;
mod report;
mod resume;
mod standard_output;
mod sum;
mod support;
mod transform;
mod trees;
mod wc;

// Shell lines with programs of Unix as peers; names, kinds, modes, owners, links and signals of Unix.
#[cfg(unix)]
mod cmp_as_gnu;
#[cfg(unix)]
mod copy_sequential;
#[cfg(unix)]
mod copy_trees;
#[cfg(unix)]
mod coreutils;
#[cfg(unix)]
mod corpus;
#[cfg(unix)]
mod cp_lines;
#[cfg(unix)]
mod dedupe_metadata;
#[cfg(unix)]
mod dedupe_names;
#[cfg(unix)]
mod facilities;
#[cfg(unix)]
mod grep;
#[cfg(unix)]
mod modes;
#[cfg(unix)]
mod peer;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod streams;
#[cfg(unix)]
mod sum_as_peers;
#[cfg(unix)]
mod tools_on_corpus;
#[cfg(unix)]
mod wc_as_gnu;

// Pseudo-terminals, `strace`, seccomp, control groups, limits, loop devices, mounts, exchanged names.
#[cfg(target_os = "linux")]
mod bad_blocks;
#[cfg(target_os = "linux")]
mod created_modes;
#[cfg(target_os = "linux")]
mod devices;
#[cfg(target_os = "linux")]
mod escapes;
#[cfg(target_os = "linux")]
mod full_disk;
#[cfg(target_os = "linux")]
mod held;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod progress_line;
#[cfg(target_os = "linux")]
mod syncs;
#[cfg(target_os = "linux")]
mod system_calls;
#[cfg(target_os = "linux")]
mod threads;

#[cfg(windows)]
mod on_windows;
