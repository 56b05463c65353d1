//! The options of fio that are passed over, and those that are refused, each with its reason.

/// Options that change nothing of the load, with what the meter does instead.
pub(super) const IGNORED: &[(&[&str], &str)] = &[
    (
        &[
            "group_reporting",
            "new_group",
            "description",
            "lat_percentiles",
            "clat_percentiles",
            "slat_percentiles",
            "percentile_list",
            "disk_util",
            "significant_figures",
            "unified_rw_reporting",
            "write_bw_log",
            "write_lat_log",
            "write_iops_log",
            "write_hist_log",
            "log_avg_msec",
            "log_hist_msec",
            "per_job_logs",
            "log_offset",
            "log_unix_epoch",
            "bwavgtime",
            "iopsavgtime",
            "gtod_reduce",
            "disable_lat",
            "disable_clat",
            "disable_slat",
            "disable_bw_measurement",
            "disable_bw",
            "clocksource",
        ],
        "what is counted and shown is the meter's own",
    ),
    (
        &[
            "randrepeat",
            "allrandrepeat",
            "randseed",
            "norandommap",
            "softrandommap",
            "random_generator",
            "use_os_rand",
        ],
        "random requests take each block at most once, in an order that --seed decides",
    ),
    (
        &[
            "refill_buffers",
            "scramble_buffers",
            "zero_buffers",
            "buffer_compress_percentage",
            "buffer_compress_chunk",
            "buffer_pattern",
            "dedupe_percentage",
        ],
        "what is written is incompressible and nowhere the same",
    ),
    (
        &[
            "unlink",
            "create_serialize",
            "create_fsync",
            "allow_file_create",
            "file_service_type",
            "openfiles",
            "filename_format",
            "fadvise_hint",
            "unique_filename",
            "fsync_on_close",
        ],
        "the meter makes the test file, tells the system the order of requests, and removes the file",
    ),
    (&["iomem_align", "mem_align"], "buffers are aligned to pages, from 2 MiB on to huge ones"),
    (
        &["thread", "exitall", "exitall_on_error", "continue_on_error", "startdelay", "start_delay"],
        "workers are threads, and what a request is refused is said in the cell",
    ),
    (
        &["runtime", "timeout", "time_based", "loops"],
        "how long it is measured follows from --time and --precision: short samples in turns, until it is precise",
    ),
];

/// Options that change the load in a way that the meter does not have.
pub(super) const REFUSED: &[(&[&str], &str)] = &[
    (
        &["rwmixread", "rwmixwrite", "rwmixcycle"],
        "reads and writes at once are not measured: name one of the two with rw=",
    ),
    (
        &["rate", "rate_min", "rate_iops", "rate_iops_min", "rate_process", "rate_cycle"],
        "requests at a set rate are not read from job files: the experiment `latency` sends them, each when it is due",
    ),
    (
        &["thinktime", "thinktime_spin", "thinktime_blocks"],
        "pauses between requests are not measured: the experiment `latency` sends requests at a set rate",
    ),
    (
        &["verify", "do_verify", "verify_only", "verify_pattern", "verify_fatal", "verify_backlog"],
        "it measures, it does not verify: `fullbore copy --verify` and `fullbore sum --check` do",
    ),
    (
        &["bssplit", "bsrange", "blocksize_range", "bs_unaligned", "blocksize_unaligned"],
        "requests have one size: a job a size",
    ),
    (&["nrfiles", "filetype", "opendir"], "a job is about one file"),
    (
        &["fsync", "fdatasync", "sync_file_range"],
        "a sync every so many writes is not measured: say end_fsync=1 for one at the end",
    ),
    (&["sync"], "O_SYNC and O_DSYNC are not measured: say end_fsync=1 for a sync at the end"),
    (
        &[
            "iodepth_batch",
            "iodepth_batch_submit",
            "iodepth_batch_complete",
            "iodepth_batch_complete_min",
            "iodepth_batch_complete_max",
            "iodepth_low",
            "serialize_overlap",
            "io_submit_mode",
        ],
        "how requests are submitted is the engine's: leave it out",
    ),
    (
        &[
            "sqthread_poll",
            "sqthread_poll_cpu",
            "hipri",
            "hipri_percentage",
            "force_async",
            "nowait",
            "uncached",
        ],
        "the ring is neither polled nor forced: leave it out",
    ),
    (
        &[
            "cpus_allowed",
            "cpumask",
            "cpus_allowed_policy",
            "numa_cpu_nodes",
            "numa_mem_policy",
            "nice",
            "prio",
            "prioclass",
            "cmdprio_percentage",
        ],
        "processors and priorities are not set by the meter: run it under taskset, numactl, nice or ionice",
    ),
    (&["cgroup", "cgroup_weight"], "run it within the cgroup"),
    (
        &["read_iolog", "write_iolog", "replay_redirect", "replay_no_stall"],
        "traces are neither replayed nor written",
    ),
    (
        &["mem", "iomem", "hugepage-size"],
        "buffers are the meter's own, on huge pages from 2 MiB on: leave it out",
    ),
    (
        &[
            "latency_target",
            "latency_window",
            "latency_percentile",
            "max_latency",
            "steadystate",
            "steadystate_duration",
            "ss",
            "ss_dur",
        ],
        "when to stop follows from --precision",
    ),
    (&["kb_base", "unit_base"], "units are read as without it: leave it out, k is 1024"),
    (&["number_ios", "io_size", "io_limit"], "how much is moved in a sample follows from --time"),
    (
        &["ioscheduler", "exec_prerun", "exec_postrun"],
        "nothing of the machine is changed, and no command is run",
    ),
    (&["profile", "flow", "wait_for", "stonewall_group"], "jobs that steer one another are not measured"),
];

/// What is said of an option by a table.
pub(super) fn reason_for(table: &[(&[&str], &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(names, _)| names.contains(&name)).map(|(_, why)| *why)
}
