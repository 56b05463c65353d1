//! The meter against devices whose limits are known: loop disks that the kernel's block throttle holds to so many
//! bytes and so many requests a second. A request of `r` bytes then gives `min(iops · r, bps)`, its fixed cost is
//! `1 / iops`, and the half-power request is `bps / (2 · iops)`. Several disks add up, unless they share something. What a
//! request waits for is known of disks that a process of the test plays.
//!
//! Needs root, loop devices, FUSE and the blkio throttle of control groups v1; skipped with the reason where one is
//! missing.

mod disk;
mod figure_6;
mod judging;
mod lab;
mod latent;
mod one_disk;
mod several_disks;
