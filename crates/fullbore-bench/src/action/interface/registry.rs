//! The registry of interfaces. A new interface is a file in this folder and a line here.

#[cfg(not(feature = "peers"))]
use fullbore::Result;
#[cfg(not(feature = "peers"))]
use fullbore::buf::Pool;
#[cfg(not(feature = "peers"))]
use fullbore::error::{Error, ErrorKind};

use super::open::Completion::{Any, Batch, Each, Ordered, Tasks, Threads};
#[cfg(not(feature = "peers"))]
use super::open::Interface;
use super::open::InterfaceEntry;
#[cfg(not(feature = "peers"))]
use super::open::OpenConfig;
use super::open::OptionalSetting::{Buffer, Direct, Hints, New, Preallocation, Vectors};
#[cfg(feature = "peers")]
use super::{compio, tokio};
use super::{cursor, in_flight, positional};

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
    InterfaceEntry {
        name: "tokio",
        takes: &[],
        completions: &[Each, Tasks],
        #[cfg(feature = "peers")]
        open: tokio::open,
        #[cfg(not(feature = "peers"))]
        open: unavailable,
    },
    InterfaceEntry {
        name: "compio",
        takes: &[Direct],
        completions: &[Each, Batch, Ordered, Any, Tasks],
        #[cfg(feature = "peers")]
        open: compio::open,
        #[cfg(not(feature = "peers"))]
        open: unavailable,
    },
];

/// Returns the error for a peer that this program does not contain.
#[cfg(not(feature = "peers"))]
fn unavailable(config: &OpenConfig, _pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let what = "this program was built without its peers";
    Err(Error::new(ErrorKind::Unsupported, "measure", &config.path, what)
        .advise("build fullbore with --features peers"))
}
