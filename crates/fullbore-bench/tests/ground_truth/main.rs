//! The meter against devices with known limits: loop disks that the kernel's block throttle limits in bytes and requests
//! per second. A request of `r` bytes then gives `min(iops · r, bps)`, its fixed cost is `1 / iops`, and the half-power
//! request is `bps / (2 · iops)`. Several disks add up, unless they share something. Request latency is known for disks
//! simulated by a process of the test.
//!
//! Needs root, loop devices, FUSE and the blkio throttle of control groups v1; skipped with the reason if one is missing.
#![cfg(target_os = "linux")]

mod bucket;
mod credit_labels;
mod default_lengths;
mod disk;
mod figure_6;
mod judging;
mod lab;
mod latent;
mod model;
mod one_disk;
mod several_disks;
mod slow_storage;
mod timing;

use std::time::{Duration, Instant};

use fullbore_bench::document::{Cell, Document, Regime};
use fullbore_bench::stats::median;

use judging::{Judge, cell, prove, rate};
use lab::{Lab, Limits, MeterOptions, Shared, UNLIMITED};
use latent::Latent;
use timing::Bucket;
