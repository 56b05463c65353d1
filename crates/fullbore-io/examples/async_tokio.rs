//! Counts the lines of files concurrently on tokio, through its own traits: `cargo run -p fullbore-io --features tokio
//! --example async_tokio -- FILE...`.

use fullbore_io::asynchronous::{AsyncFile, AsyncStream};
use tokio::io::AsyncBufReadExt;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let counts: Vec<_> = std::env::args_os()
        .skip(1)
        .map(|path| {
            tokio::spawn(async move {
                let file = AsyncFile::open(&path).await?;
                let mut lines = AsyncStream::new(file).lines();
                let mut count = 0_u64;
                while lines.next_line().await?.is_some() {
                    count += 1;
                }
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>((path, count))
            })
        })
        .collect();
    for count in counts {
        let (path, count) = count.await??;
        println!("{count} {}", path.display());
    }
    Ok(())
}
