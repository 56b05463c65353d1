//! Options of fio that are ignored, and those that are refused, each with its reason.

/// Options that do not change the load, separated by spaces, with what the meter does instead.
pub(super) const IGNORED: &[(&str, &str)] = &[
    (
        "group_reporting new_group description lat_percentiles clat_percentiles slat_percentiles \
         percentile_list disk_util significant_figures unified_rw_reporting write_bw_log write_lat_log \
         write_iops_log write_hist_log log_avg_msec log_hist_msec per_job_logs log_offset log_unix_epoch \
         bwavgtime iopsavgtime gtod_reduce disable_lat disable_clat disable_slat disable_bw_measurement \
         disable_bw clocksource",
        "the meter counts and reports in its own way",
    ),
    (
        "randrepeat allrandrepeat randseed norandommap softrandommap random_generator use_os_rand",
        "random requests take each block at most once, in an order that --seed decides",
    ),
    (
        "refill_buffers scramble_buffers zero_buffers buffer_compress_percentage buffer_compress_chunk \
         buffer_pattern dedupe_percentage",
        "written data is incompressible and does not repeat",
    ),
    (
        "unlink create_serialize create_fsync allow_file_create file_service_type openfiles \
         filename_format fadvise_hint unique_filename fsync_on_close",
        "the meter creates the test file, advises the system of the request order, and removes the file",
    ),
    (
        "iomem_align mem_align",
        "buffers are aligned to pages; direct buffers, and those of 2 MiB or more, to huge pages",
    ),
    (
        "thread exitall exitall_on_error continue_on_error startdelay start_delay",
        "workers are threads; a failed request is reported with the cell",
    ),
    ("rwmixread rwmixwrite rwmixcycle", "no effect, because the job does not mix reads and writes"),
    (
        "runtime timeout time_based loops",
        "the duration follows from --time and --precision: short samples in rounds until they are precise",
    ),
];

/// Options that change the load in a way that the meter does not support, separated by spaces, with the reason or the remedy.
pub(super) const REFUSED: &[(&str, &str)] = &[
    (
        "rate rate_min rate_iops rate_iops_min rate_process rate_cycle",
        "requests at a set rate are not read from job files: use the experiment latency",
    ),
    (
        "thinktime thinktime_spin thinktime_blocks",
        "pauses between requests are not measured: use the experiment latency for requests at a set rate",
    ),
    (
        "verify do_verify verify_only verify_pattern verify_fatal verify_backlog",
        "the meter does not verify: use fullbore copy --verify or fullbore sum --check",
    ),
    (
        "bssplit bsrange blocksize_range bs_unaligned blocksize_unaligned",
        "requests have one size: use one job per size",
    ),
    ("nrfiles filetype opendir", "a job uses one file"),
    (
        "fsync fdatasync sync_file_range",
        "periodic syncs are not measured: use end_fsync=1 for one at the end",
    ),
    (
        "iodepth_batch iodepth_batch_submit iodepth_batch_complete iodepth_batch_complete_min \
         iodepth_batch_complete_max iodepth_low serialize_overlap io_submit_mode",
        "the engine decides how requests are submitted: leave it out",
    ),
    (
        "sqthread_poll sqthread_poll_cpu hipri hipri_percentage force_async nowait uncached",
        "the ring is used without polling or forcing: leave it out",
    ),
    (
        "cpus_allowed cpumask cpus_allowed_policy numa_cpu_nodes numa_mem_policy nice prio prioclass \
         cmdprio_percentage",
        "the meter does not set processors and priorities: run it under taskset, numactl, nice or ionice",
    ),
    ("cgroup cgroup_weight", "run the meter within the cgroup"),
    ("read_iolog write_iolog replay_redirect replay_no_stall", "traces are not supported"),
    (
        "mem iomem hugepage-size",
        "the meter allocates the buffers, direct ones and those of 2 MiB or more on huge pages: leave it out",
    ),
    (
        "latency_target latency_window latency_percentile max_latency steadystate steadystate_duration ss \
         ss_dur",
        "--precision decides when to stop",
    ),
    ("kb_base unit_base", "units have their default meaning (k is 1024): leave it out"),
    ("number_ios io_size io_limit", "--time decides the bytes of a sample"),
    ("ioscheduler exec_prerun exec_postrun", "the meter changes no system settings and runs no commands"),
    ("profile flow wait_for stonewall_group", "jobs that depend on one another are not measured"),
];

pub(super) fn reason_for(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(names, _)| names.split(' ').any(|one| one == name)).map(|(_, why)| *why)
}
