//! The meter against devices whose limits are known: loop disks that the kernel's block throttle holds to so many
//! bytes and so many requests a second. A request of `r` bytes then gives `min(iops · r, bps)`, its fixed cost is
//! `1 / iops`, and the half-power request is `bps / (2 · iops)`. Several disks add up, unless they share something. What a
//! request waits for is known of disks that a process of the test plays.
//!
//! Needs root, loop devices, FUSE and the blkio throttle of control groups v1; skipped with the reason where one is
//! missing.

#[path = "ground_truth/disk.rs"]
mod disk;
#[path = "ground_truth/figure_6.rs"]
mod figure_6;
#[path = "ground_truth/judging.rs"]
mod judging;
#[path = "ground_truth/lab.rs"]
mod lab;
#[path = "ground_truth/latent.rs"]
mod latent;
#[path = "ground_truth/one_disk.rs"]
mod one_disk;
#[path = "ground_truth/several_disks.rs"]
mod several_disks;
