//! Copies a file on smol; the same works on every run-time with the traits of `futures`: `cargo run -p fullbore-io
//! --features futures --example async_smol -- FROM TO`. TO must not exist yet.

use fullbore_io::asynchronous::{AsyncFile, AsyncStream};
use smol::io::AsyncWriteExt;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = std::env::args_os().skip(1);
    let (Some(from), Some(to)) = (paths.next(), paths.next()) else {
        return Err("usage: async_smol FROM TO".into());
    };
    let bytes = smol::block_on(async {
        let from = AsyncStream::new(AsyncFile::open(from).await?);
        let to = AsyncFile::create_new(to).await?;
        let mut writer = AsyncStream::new(to.clone());
        let bytes = smol::io::copy(from, &mut writer).await?;
        // The flush reports errors of earlier writes.
        writer.flush().await?;
        to.sync_data().await?;
        Ok::<_, Box<dyn std::error::Error>>(bytes)
    })?;
    println!("{bytes} bytes");
    Ok(())
}
