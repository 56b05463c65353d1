//! End-to-end tests of the command: the binary run as from a shell; output, messages and exit codes checked.
#![forbid(unsafe_code)]
// Elsewhere the gated tests leave helpers without a user.
#![cfg_attr(not(target_os = "linux"), allow(dead_code, unused_imports))]

mod adaptive;
mod arguments;
mod bench;
mod changes;
mod cmp;
// GNU `cmp` as the peer, in shell lines.
#[cfg(unix)]
mod cmp_as_gnu;
mod copy;
#[cfg(unix)]
mod copy_trees;
// GNU coreutils as peers, in shell lines.
#[cfg(unix)]
mod coreutils;
// Difficult files for comparisons with peers: names and kinds of Unix.
#[cfg(unix)]
mod corpus;
mod cp;
// Lines of a shell.
#[cfg(unix)]
mod cp_lines;
mod dedupe;
#[cfg(unix)]
mod dedupe_metadata;
// Loop devices.
#[cfg(target_os = "linux")]
mod devices;
mod documents;
// Pseudo-terminals, and names with control characters.
#[cfg(target_os = "linux")]
mod escapes;
mod export;
#[cfg(unix)]
mod facilities;
// System calls that `strace` makes fail, limits of descriptors.
#[cfg(target_os = "linux")]
mod failing_calls;
// seccomp.
#[cfg(target_os = "linux")]
mod forbidden;
// Small file systems, mounted.
#[cfg(target_os = "linux")]
mod full_disk;
mod generate;
// `rg` as the peer.
#[cfg(unix)]
mod grep;
mod grep_flags;
// Names exchanged in one call, limits of descriptors, system calls that `strace` makes fail.
#[cfg(target_os = "linux")]
mod held;
mod killed;
// Limits of the shell, ignored signals, closed streams, `/proc`.
#[cfg(target_os = "linux")]
mod limits;
mod memory;
// Modes and owners, symbolic links.
#[cfg(unix)]
mod modes;
#[cfg(windows)]
mod on_windows;
mod outputs;
// GNU tools as peers.
#[cfg(unix)]
mod peer;
mod predict;
mod probe;
mod profile;
mod report;
mod resume;
// Signals; a test on Windows cannot send Ctrl-C.
#[cfg(unix)]
mod signals;
mod slow;
// Traces of system calls by `strace`.
#[cfg(target_os = "linux")]
mod snapshots;
mod standard_output;
// Pipes, sockets, devices and closed streams of Unix.
#[cfg(unix)]
mod streams;
mod sum;
// The tools as peers.
#[cfg(unix)]
mod sum_as_peers;
mod support;
// Limits of threads, by the shell and by control groups.
#[cfg(target_os = "linux")]
mod threads;
// GNU tools as peers.
#[cfg(unix)]
mod tools_on_corpus;
mod transform;
mod trees;
mod wc;
// GNU `wc` as the peer.
#[cfg(unix)]
mod wc_as_gnu;
