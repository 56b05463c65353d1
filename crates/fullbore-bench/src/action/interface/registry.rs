//! The registry of interfaces. A new interface is a file in this folder and a line here.

use super::open::Completion::{Any, Batch, Each, Ordered, Tasks, Threads};
use super::open::OptionalSetting::{Buffer, Direct, Hints, New, Preallocation, Vectors};
use super::open::{InterfaceEntry, OpenInterface};
use super::{cursor, in_flight, positional};

#[cfg(feature = "peers")]
const PEERS: [OpenInterface; 2] = [super::tokio::open, super::compio::open];
#[cfg(not(feature = "peers"))]
const PEERS: [OpenInterface; 2] = [unavailable; 2];

pub(super) const INTERFACES: &[InterfaceEntry] = &[
    InterfaceEntry { name: "std", takes: &[New], completions: &[Each], open: cursor::open_std },
    InterfaceEntry {
        name: "std-buffered",
        takes: &[Buffer, New],
        completions: &[Each],
        open: cursor::open_std_buffered,
    },
    InterfaceEntry {
        name: "std-positional",
        takes: &[New],
        completions: &[Each, Threads],
        open: positional::open_std,
    },
    InterfaceEntry {
        name: "file",
        takes: &[Direct, Hints, New, Preallocation, Vectors],
        completions: &[Each, Threads],
        open: positional::open_file,
    },
    InterfaceEntry {
        name: "stream",
        takes: &[Buffer, Hints, New, Preallocation],
        completions: &[Each],
        open: cursor::open_stream,
    },
    InterfaceEntry {
        name: "asynchronous",
        takes: &[Direct, Hints, Vectors],
        completions: &[Each, Batch, Ordered, Any],
        open: in_flight::open,
    },
    InterfaceEntry { name: "tokio", takes: &[], completions: &[Each, Tasks], open: PEERS[0] },
    InterfaceEntry {
        name: "compio",
        takes: &[Direct],
        completions: &[Each, Batch, Ordered, Any, Tasks],
        open: PEERS[1],
    },
];

/// Returns the error for a peer that this program does not contain.
#[cfg(not(feature = "peers"))]
fn unavailable(
    config: &super::open::OpenConfig,
    _pool: &mut fullbore::buf::Pool,
) -> fullbore::Result<Box<dyn super::open::Interface>> {
    use fullbore::error::{Error, ErrorKind};
    let what = "this program was built without its peers";
    Err(Error::new(ErrorKind::Unsupported, "measure", &config.path, what)
        .advise("build fullbore with --features peers"))
}
