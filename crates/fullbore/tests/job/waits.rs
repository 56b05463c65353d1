//! Runs end when they are cancelled, and items do not wait for one another for ever.

use super::*;

/// A run that waits for a pipe's writer sees its cancellation.
#[test]
fn runs_over_idle_pipes_can_be_cancelled() {
    let (_directory, path, _) = directory();
    let cancelled = |run: &dyn Fn(&Job, fullbore::Input) -> fullbore::Result<()>| {
        let (reader, writer) = std::io::pipe().unwrap();
        let progress = Arc::new(Progress::default());
        let job = Job::new().progress(progress.clone());
        let input = fs::File::from(fullbore::sys::Handle::from(reader));
        let error = std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(100));
                progress.cancel();
            });
            run(&job, input.into()).unwrap_err()
        });
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
        // The writer stays open until the run has ended.
        drop(writer);
    };
    cancelled(&|job, pipe| job.fold(&op::count_lines(), pipe).map(drop));
    cancelled(&|job, pipe| job.compare(pipe, &path).map(drop));
    cancelled(&|job, pipe| job.compare(&path, pipe).map(drop));
}

#[test]
fn a_cancelled_job_compares_nothing() {
    let progress = Arc::new(Progress::default());
    progress.cancel();
    let job = Job::new().progress(progress);
    let (_held, path, text) = directory();
    for found in [job.compare(&path, &path), job.compare(&text, &text), job.compare(&text, &path)] {
        assert_eq!(found.unwrap_err().kind(), ErrorKind::Cancelled);
    }
}

/// The other workers wait for the results of the one that the cancellation ends.
#[test]
fn a_cancelled_listing_of_differences_ends() {
    let (held, path, text) = directory();
    let other = write_file(held.path(), "other", text.iter().map(|byte| !byte).collect::<Vec<_>>());
    for _ in 0..10 {
        let progress = Arc::new(Progress::default());
        let job = Job::new().workers(2).progress(progress.clone());
        let pair = job.pair(&path, &other).unwrap();
        let emit = |_| {
            progress.cancel();
            Ok(ControlFlow::Continue(()))
        };
        let found = pair.differences(None, |_, left, _| left.len(), emit);
        assert_eq!(found.unwrap_err().kind(), ErrorKind::Cancelled);
    }
}

/// A file that is processed with a worker of the caller's own must not wait for the items before it, which may wait for it.
#[test]
fn items_with_workers_of_their_own_do_not_wait_for_one_another() {
    let (_directory, path) = fullbore_testkit::ground::temporary_file(vec![b'\n'; 12 << 20]);
    let mut lines = Vec::new();
    let emit = |found| {
        lines.push(found);
        Ok(ControlFlow::Continue(()))
    };
    let count = |_: u8, sender: &mut OrderedSender<'_, '_, u64>, _: &mut Worker, executor: &Executor<'_>| {
        let (found, _) = executor.fold(&op::count_lines(), &File::open(&path)?, &mut Worker::default())?;
        sender.send(found, 1 << 30).map(drop)
    };
    Job::new().workers(3).map_ordered(0..4, count, emit).unwrap();
    assert_eq!(lines, [12 << 20; 4]);
}
