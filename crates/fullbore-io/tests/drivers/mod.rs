//! The drivers of asynchronous files under test.

use fullbore_io::asynchronous::{Backend, Driver, DriverConfig};
use fullbore_testkit::ground::offers_rings;

/// Returns one driver per available backend.
pub(crate) fn drivers(in_flight: usize) -> Vec<Driver> {
    let with = |backend| Driver::new(DriverConfig { backend, in_flight, threads: 4 });
    let mut drivers = vec![with(Backend::Threads).unwrap()];
    let auto = with(Backend::Auto).unwrap();
    assert_ne!(auto.backend(), Backend::Auto);
    assert_eq!(auto.load(), (0, 0));
    match auto {
        auto if auto.backend() == Backend::Threads => {
            let refused = with(Backend::Uring).err();
            assert!(!offers_rings(), "{refused:?}");
            println!("skipped: {refused:?}");
        }
        auto => drivers.push(auto),
    }
    drivers
}
