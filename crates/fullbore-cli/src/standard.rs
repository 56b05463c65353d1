//! Standard streams as inherited: a closed one cannot be read or written.

use std::io::{self, Write};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::fcntl_getfd;
use rustix::stdio::{stdin, stdout};

/// Opens placeholders for closed standard streams before the standard library opens `/dev/null` for them, which reads
/// as empty and accepts writes. A placeholder, as in gnulib's `stdopen`, fails with "Bad file descriptor".
#[ctor::ctor(unsafe)]
fn keep_closed_streams_closed() {
    for (closed, flags) in
        [(fcntl_getfd(stdin()).is_err(), OFlags::WRONLY), (fcntl_getfd(stdout()).is_err(), OFlags::RDONLY)]
    {
        // The lowest free number is the stream's: it stays open.
        if closed && let Ok(stream) = open("/dev/null", flags, Mode::empty()) {
            std::mem::forget(stream);
        }
    }
}

/// Standard output without a buffer. Unlike that of the standard library, a closed one is an error.
#[derive(Debug, Default, Clone, Copy)]
pub struct StandardOutput;

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(stdout(), bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
