//! Positional use from several threads: there is no shared position that another thread could move.

use std::fs;

use crate::subject::each;
use fullbore_testkit::ground::bytes;

const THREADS: usize = 4;

#[test]
fn threads_read_and_write_their_own_parts() {
    each(|directory, interface| {
        let path = directory.join("file");
        // Adjacent parts share pages and blocks.
        let part = 700;
        let rounds = 12;
        let old = bytes(THREADS * rounds * part, 1);
        let new = bytes(old.len(), 2);
        fs::write(&path, &old).unwrap();
        let file = interface.open_write(&path).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (file, old, new, path) = (&file, &old, &new, &path);
                scope.spawn(move || {
                    for round in 0..rounds {
                        let start = (round * THREADS + thread) * part;
                        let mut read = vec![0; part];
                        file.read_exact_at(&mut read, start as u64).unwrap();
                        assert!(read == old[start..start + part], "{} {path:?} before", interface.name());
                        file.write_all_at(&new[start..start + part], start as u64).unwrap();
                        file.read_exact_at(&mut read, start as u64).unwrap();
                        assert!(read == new[start..start + part], "{} {path:?} after", interface.name());
                    }
                });
            }
        });
        assert!(fs::read(&path).unwrap() == new, "{}", interface.name());
    });
}

#[test]
fn threads_extend_one_file() {
    each(|directory, interface| {
        let path = directory.join("file");
        fs::write(&path, b"").unwrap();
        let data = bytes(THREADS * 20_011, 3);
        let file = interface.open_write(&path).unwrap();
        std::thread::scope(|scope| {
            for (thread, part) in data.chunks(20_011).enumerate() {
                let file = &file;
                scope.spawn(move || {
                    for (index, piece) in part.chunks(997).enumerate() {
                        file.write_all_at(piece, (thread * 20_011 + index * 997) as u64).unwrap();
                    }
                });
            }
        });
        assert!(fs::read(&path).unwrap() == data, "{}", interface.name());
    });
}
