//! What a `File` does, on every file system at hand, against `std::fs` and models in memory.

#[path = "../ground/mod.rs"]
mod ground;

mod copies;
mod direct;
mod drops;
mod durability;
mod killed;
mod opening;
mod space;
mod transfers;
mod windows;
