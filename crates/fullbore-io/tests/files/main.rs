//! The behaviour of `File` on every available file system, compared with `std::fs` and models in memory.

mod closing;
mod complaints;
mod copies;
mod direct;
mod drops;
mod durability;
mod killed;
mod kinds;
mod mmaps;
mod modes;
mod more_options;
mod opening;
mod planned;
mod ranges;
mod rules;
mod space;
mod strict;
mod traced;
mod transfers;
