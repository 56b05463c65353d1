//! Standard streams as inherited: a closed one cannot be read or written.

use std::io::{self, Write};

use fullbore::sys;

/// Opens placeholders for closed standard streams before the standard library opens `/dev/null` for them, which reads
/// as empty and accepts writes. A placeholder, as in gnulib's `stdopen`, fails with "Bad file descriptor".
#[cfg(unix)]
#[ctor::ctor(unsafe)]
fn keep_closed_streams_closed() {
    use fullbore::sys::OpenFlags;
    for (closed, flags) in
        [(!sys::is_open(sys::stdin()), OpenFlags::WRITE), (!sys::is_open(sys::stdout()), OpenFlags::READ)]
    {
        // The lowest free number is the stream's: it stays open.
        if closed && let Ok(stream) = sys::open("/dev/null", flags, 0) {
            std::mem::forget(stream);
        }
    }
}

/// Standard output without a buffer. Unlike that of the standard library, a closed one is an error.
#[derive(Debug, Default, Clone, Copy)]
pub struct StandardOutput;

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(sys::write(sys::stdout(), bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
