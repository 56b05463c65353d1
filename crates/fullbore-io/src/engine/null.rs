//! `null`: no storage. Every request succeeds at once and moves nothing, which leaves the meter's own cost.

use std::io;

use super::method::{Engine, EngineConfig, Method, SYNCHRONOUS};
use super::synchronous::{Calls, Synchronous};

pub(super) static METHOD: Method = Method {
    name: "null",
    summary: "no storage: the cost of the loop itself",
    capabilities: SYNCHRONOUS,
    open,
};

fn open(_opening: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
    Ok(Synchronous::boxed(Null))
}

struct Null;

impl Calls for Null {
    fn read(&mut self, _offset: u64, data: &mut [u8]) -> io::Result<usize> {
        Ok(data.len())
    }

    fn write(&mut self, _offset: u64, data: &[u8]) -> io::Result<usize> {
        Ok(data.len())
    }
}
