//! Share modes of Windows, which bind everybody: the opens that they admit, and further handles of the file itself.

use super::*;

use fullbore_io::asynchronous::{AsyncFile, Driver};
use futures_lite::future::block_on;

#[test]
fn a_mode_admits_what_it_names() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    for bits in 0..8 {
        fs::write(&path, "bytes").unwrap();
        let has = |bit: u32| bits & 1 << bit != 0;
        let named = [Share::READ, Share::WRITE, Share::DELETE].into_iter().enumerate();
        let share = named.filter(|(bit, _)| has(*bit as u32)).fold(Share::NONE, |all, (_, one)| all | one);
        let holder = OpenOptions::new().share(share).open(&path).unwrap();
        assert_eq!(holder.option_report()[0].support, Support::Native, "{share:?}");
        assert_eq!(fs::File::open(&path).is_ok(), has(0), "{share:?}");
        assert_eq!(fs::File::options().write(true).open(&path).is_ok(), has(1), "{share:?}");
        assert_eq!(fs::remove_file(&path).is_ok(), has(2), "{share:?}");
        drop(holder);
    }
    // The accesses of others count as well.
    fs::write(&path, "bytes").unwrap();
    let writer = fs::File::options().write(true).open(&path).unwrap();
    let error = OpenOptions::new().share(Share::READ).open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
    drop(writer);
    OpenOptions::new().share(Share::READ).open(&path).unwrap();
}

#[test]
fn a_further_handle_keeps_the_mode() {
    let directory = tempfile::tempdir().unwrap();
    let (path, _) = filled(directory.path(), 5000, 1);
    let file = OpenOptions::new().share(Share::READ).open(&path).unwrap();
    let further = file.reopen(false);
    drop(file);
    fs::File::options().write(true).open(&path).unwrap_err();
    drop(further);
    fs::File::options().write(true).open(&path).unwrap();
}

/// Operations that would need a second handle use the first one, or report the reason for which they cannot.
#[test]
fn a_file_that_shares_nothing_is_transferred_through_one_handle() {
    let directory = tempfile::tempdir().unwrap();
    let (path, content) = filled(directory.path(), 100_000, 1);
    let mut options = OpenOptions::new();
    let file = options.access(Access::ReadWrite).share(Share::NONE).open(&path).unwrap();
    let mut data = vec![0; content.len()];
    for handle in [file.reopen(true), file.for_worker(false).0] {
        handle.read_exact_at(&mut data, 0).unwrap();
        assert!(data == content);
    }
    for cache in [CachePolicy::DontCache, CachePolicy::Direct] {
        let (handle, support) = file.with_cache(cache);
        assert!(matches!(&support, Support::Unsupported(why) if why.contains("reopened")), "{support}");
        data.fill(0);
        handle.read_exact_at(&mut data, 0).unwrap();
        assert!(data == content);
    }
    for name in ["buffered", "vectored", "mmap"] {
        let method = engine::method(name).unwrap();
        engine::probe(method, &file, None, false, CachePolicy::Keep).unwrap();
    }
    // Overlapped transfers need a handle of their own, and so does a stream of the C library.
    let port = engine::method("port").unwrap();
    let other = File::create_new(directory.path().join("other")).unwrap();
    other.write_all_at(&content, 0).unwrap();
    for (file, works) in [(&other, true), (&file, false), (&other, true)] {
        assert_eq!(engine::probe_once(port, file, false, CachePolicy::Keep).is_ok(), works);
    }
    let shared = AsyncFile::new(file, &Driver::shared().unwrap());
    let (result, data) = block_on(shared.read_at(Vec::<u8>::with_capacity(4096), 5));
    assert!(result.unwrap() == 4096 && data[..] == content[5..4101]);
    block_on(shared.close()).unwrap();
    options.share(Share::NONE).cache(CachePolicy::Direct).strict(true);
    assert_eq!(options.open(&path).unwrap_err().kind(), ErrorKind::Unsupported);
}
