//! Offsets and lengths beyond the end of any file: an error, and the bytes stay.

use std::io::{IoSlice, IoSliceMut};

use fullbore_io::error::{ErrorKind, Result};
use fullbore_io::file::File;

use crate::operation::Span;

/// The largest length of a file that a system can express.
const LARGEST: u64 = i64::MAX as u64;

/// Passes `at`, near 2^63 or 2^64, to every call on the first file, which has `end` bytes, and on the second as its target.
pub(crate) fn calls_are_refused(
    files: [&File; 2],
    end: u64,
    span: &Span,
    at: u64,
    data: &[u8],
    into: &mut [u8],
) -> Result<()> {
    // A plan with a power failure would restore the content around the offset.
    let [file, other] = files.map(File::without_faults);
    let (start, middle, empty) = (span.offset as u64, span.len / 2, span.len == 0);

    match file.read_exact_at(into, at) {
        Ok(()) => assert!(empty),
        Err(error) => {
            assert!(
                !empty && matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::Invalid),
                "{error}"
            )
        }
    }
    let (one, two) = into.split_at_mut(middle);
    let read = file.read_exact_vectored_at(&mut [IoSliceMut::new(one), IoSliceMut::new(two)], at);
    assert_eq!(read.is_ok(), empty, "{read:?}");
    assert_eq!((file.seek_data(at)?, file.seek_hole(at)?), (None, None));

    let fits = empty || at.checked_add(span.len as u64).is_some_and(|end| end <= LARGEST);
    let (one, two) = data.split_at(middle);
    for (possible, result) in [
        (fits, file.write_all_at(data, at)),
        (fits, file.write_all_vectored_at(&[IoSlice::new(one), IoSlice::new(two)], at)),
        (at <= LARGEST, file.set_len(at)),
    ] {
        assert!(possible || result.is_err());
    }
    if at <= LARGEST && file.len()? != end {
        file.set_len(end)?;
    }

    // Some file systems reserve all they have before they refuse a length that they can express.
    let beyond = at | 1 << 63;
    for (from, to) in [(start, beyond), (beyond - 1, u64::MAX), (beyond, start), (start + 1, start)] {
        let cloned = file.clone_range(from..to, &other, 0);
        if from == start {
            assert_eq!(cloned.as_ref().unwrap_err().kind(), ErrorKind::Unsupported, "{cloned:?}");
        } else {
            for copied in [&file, &other].map(|target| file.copy_range(from..to, target, 0)) {
                assert!(
                    copied.as_ref().map_or(true, |report| report.bytes() == 0),
                    "{from}..{to}: {copied:?}"
                );
            }
        }
        let results = [
            cloned,
            file.reserve(from..to),
            file.punch_hole(from..to),
            file.zero_range(from..to),
            file.map(from..to).map(drop),
            file.map_writable(from..to).map(drop),
        ];
        assert!(results.iter().all(Result::is_err), "{from}..{to}: {results:?}");
    }
    assert!(file.map(0..end + 1).is_err() && file.map_writable(0..end + 1).is_err());
    let far = at.max(LARGEST);
    for target in [&file, &other] {
        assert!(end == 0 || file.copy_range(0..end, target, far).is_err());
        assert!(end == 0 || file.clone_range(0..end, target, far).is_err());
    }
    Ok(())
}
