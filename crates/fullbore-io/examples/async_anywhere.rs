//! Reads a file asynchronously without any run-time: `cargo run -p fullbore-io --example async_anywhere -- FILE`.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::Thread;

use fullbore_io::asynchronous::AsyncFile;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A minimal executor: polls and parks.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: async_anywhere FILE")?;
    let bytes = block_on(async {
        let file = AsyncFile::open(path).await?;
        let (mut buffer, mut offset) = (Vec::<u8>::with_capacity(256 << 10), 0);
        loop {
            let (count, back) = file.read_at(buffer, offset).await;
            match count? {
                0 => return Ok::<u64, fullbore_io::Error>(offset),
                count => offset += count as u64,
            }
            buffer = back;
        }
    })?;
    println!("{bytes} bytes");
    Ok(())
}
