use fullbore::strategy::ProfileJob;

use super::*;
use crate::document::CacheState;

/// Each system with its deep method and all methods that keep several requests in flight there.
const DEEP_METHODS: [(&str, &str, &[&str]); 4] = [
    ("linux", "uring", &["uring", "aio", "posixaio"]),
    ("windows", "port", &["port", "event", "routine", "scatter", "ioring"]),
    ("macos", "posixaio", &["posixaio"]),
    ("freebsd", "posixaio", &["posixaio"]),
];

/// Names the experiments of a set that have a trial of several requests in flight on a system.
fn deep_experiments(text: &str, (system, deep, methods): (&str, &str, &[&str])) -> Vec<String> {
    let texts = |value: Option<&Value>| -> Vec<String> {
        let values = value
            .map_or(&[][..], |value| value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice));
        values.iter().map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned)).collect()
    };
    let is_deep = |grid: &toml::Table| {
        let here = grid.get(SYSTEM).is_none_or(|limited| limited.as_str() == Some(system));
        let depths = texts(grid.get("depth"));
        here && texts(grid.get("strategy")).iter().any(|strategy| {
            let strategy = strategy.replace(DEEP, deep);
            let field = |name: &str| strategy.split(',').find_map(|field| field.strip_prefix(name));
            let method = field("method=").or_else(|| field("read="));
            let mut depths = field("depth=").into_iter().chain(depths.iter().map(String::as_str));
            method.is_some_and(|method| methods.contains(&method)) && depths.any(|depth| depth != "1")
        })
    };
    let document: Document = toml::from_str(text).unwrap();
    let deep = document.experiment.into_iter().filter(|one| one.grid.iter().any(is_deep));
    deep.map(|one| one.name).collect()
}

#[test]
fn experiments_have_several_requests_in_flight_on_every_system() {
    let [linux, others @ ..] = DEEP_METHODS;
    for set in BUILT_IN {
        let expected = deep_experiments(set.text, linux);
        for other in others {
            assert_eq!(deep_experiments(set.text, other), expected, "{} on {}", set.name, other.0);
        }
    }
    if let Some((_, deep, methods)) = DEEP_METHODS.iter().find(|known| known.0 == std::env::consts::OS) {
        assert_eq!(deep_method().name, *deep);
        assert!(methods.iter().all(|name| fullbore::engine::method(name).is_some()), "{methods:?}");
    }
    assert_eq!(deep_experiments(built_in("depth").unwrap().text, others[0]), ["depth"]);
}

#[test]
fn a_grid_expands_to_every_combination_of_its_lists() {
    let text = "
        [[experiment]]
        name = 'a'
        title = 'A'
        axis = 'none'
        [[experiment.grid]]
        action = 'read'
        strategy = ['method=buffered,workers={processors}', 'method=mmap']
        request = ['4K', '1M']
        cache = ['warm', 'cold']
    ";
    let (described, trials) = parse(text, 3, 1).unwrap();
    assert_eq!(described[0].title, "A");
    assert_eq!(trials.len(), 8);
    let labels = trials[0].workload.labels();
    assert_eq!(labels.strategy.as_deref(), Some("method=buffered,workers=3,request=4K"));
    assert_eq!(labels.cache, Some(CacheState::Warm));
    assert_eq!(labels.workers, Some(3));
}

/// An experiment of one grid with these settings.
fn of_grid(settings: &str) -> String {
    format!("[[experiment]]\nname='a'\ntitle='A'\naxis='none'\n[[experiment.grid]]\n{settings}")
}

#[test]
fn absurd_values_are_rejected() {
    let many = (1..=1000).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    for (grid, word) in [
        ("action='devices'\ntargets=4294967295", "targets"),
        ("action='devices'\ntargets='9999999999999999999'", "targets"),
        ("action='memory'\nsample_seconds=inf", "sample_seconds"),
        ("action='memory'\nramp_seconds=1e20", "ramp_seconds"),
        ("action='scan'\ncache='warm'\nsample_seconds=60", "sample_seconds"),
        ("action='sustained'\nstrategy='method=direct,request=1M'\nramp_seconds=1", "ramp_seconds"),
        ("action='small-files'\nstrategy='method=mmap,workers=4'", "workers"),
        (&format!("action='read'\nrequest=['4K', '{}']", "4".repeat(5000)), "characters"),
        ("action='memory'\nworkers='300'", "workers"),
        ("action='streams'\nstrategy='method=buffered'\nstreams=100000", "streams"),
        ("action='read'\nrequest='4K'\noffset='+9223372036854775807'", "offset"),
        ("action='devices'\ntargets=2\nmode='striped'\nchunk='8E'", "chunk"),
        ("action='append'\nrecord='1T'", "record"),
        ("action='transform'\noperation='shift:10'\nmemory_limit='4K'", "memory_limit"),
        ("action='latency'\nload=1e15\nstrategy='method=buffered'\ncache='warm'\nrequest='4K'", "load"),
        (&format!("action='read'\nrequest=[{many}]\ndepth=[{many}]\ncache=[{many}]"), "combinations"),
    ] {
        let error = parse(&of_grid(grid), 1, 1).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn grids_that_differ_only_outside_the_id_are_rejected() {
    let two = |first: &str, second: &str| {
        let grid = "action='read'\nrequest='4K'";
        let text = format!("{}\n{first}\n[[experiment.grid]]\n{grid}\n{second}", of_grid(grid));
        parse(&text, 1, 1).map(|(_, trials)| trials.len())
    };
    assert_eq!(two("ramp_seconds=5", "ramp_seconds=5").unwrap(), 1);
    for (first, second) in [("", "ramp_seconds=5"), ("sample_seconds=1", ""), ("job='scan'", "")] {
        let error = two(first, second).unwrap_err().to_string();
        assert!(error.contains("/request=4K"), "{error}");
    }
}

#[test]
fn the_contenders_of_a_default_have_ids_of_their_own() {
    let (file_sets, progress) = ([], fullbore::pattern::Progress::default());
    let context = RunContext::of(&file_sets, &progress);
    let trial = parse(&of_grid("action='memory'"), 1, 1).unwrap().1.remove(0);
    let ids: Vec<String> = trial.into_contenders(&context).into_iter().map(|trial| trial.id).collect();
    assert_eq!(ids[0], "a/memory/workers=1");
    assert!(ids.windows(2).all(|two| two[0] != two[1]), "{ids:?}");
    assert_eq!(ids.len() > 1, fullbore::probe::processors() > 1);
}

#[test]
fn a_set_has_no_more_trials_than_a_document_has_cells() {
    let grid = |first: u32| {
        let sizes: Vec<String> = (first..first + 9000).map(|bytes| format!("'{bytes}'")).collect();
        format!("action='read'\nrequest=[{}]", sizes.join(","))
    };
    let two = format!("{}\n[[experiment.grid]]\n{}", of_grid(&grid(10_000)), grid(20_000));
    assert_eq!(parse(&two, 1, 1).unwrap().1.len(), 18_000);
    let error = parse(&format!("{two}\n[[experiment.grid]]\n{}", grid(30_000)), 1, 1).unwrap_err();
    assert!(error.to_string().contains("20000"), "{error}");
}

#[test]
fn a_grid_can_be_limited_to_a_system() {
    let grid = |system: &str| of_grid(&format!("action='read'\nsystem='{system}'\nrequest=['4K', '1M']"));
    let trials = |system: &str| parse(&grid(system), 1, 1).unwrap().1.len();
    let systems = ["freebsd", "linux", "macos", "windows"];
    assert_eq!(systems.map(trials).iter().sum::<usize>(), 2);
    assert_eq!(trials(std::env::consts::OS), 2);
}

#[test]
fn every_built_in_trial_parses() {
    for set in BUILT_IN {
        for (processors, directories) in [(1, 1), (2, 4), (64, 1)] {
            let (described, trials) = parse(set.text, processors, directories)
                .unwrap_or_else(|error| panic!("{}: {error}", set.name));
            assert!(!trials.is_empty(), "{}", set.name);
            for trial in &trials {
                if let (false, Some(cache)) = (trial.job.is_empty(), trial.workload.labels().cache) {
                    format!("{}, {}", trial.job, cache.word()).parse::<ProfileJob>().unwrap();
                }
            }
            for experiment in described {
                assert!(!experiment.question.is_empty() || set.name == "quick", "{}", experiment.name);
            }
        }
    }
}

#[test]
fn errors_name_the_key() {
    let error = |text: &str| parse(text, 1, 1).unwrap_err().to_string();
    assert!(
        error("[[experiment]]\nname='a'\ntitle='A'\naxis='none'\ncolour='red'\ngrid=[]").contains("colour")
    );
    let grid = |settings: &str| error(&of_grid(settings));
    assert!(grid("action='read'\nrequest=['4 floppies']").contains("floppies"));
    assert!(grid("action='read'\nspeed='high'").contains("speed"));
    let error_of_kind = grid("action='read'\nrequest=[4096]");
    assert!(error_of_kind.contains("experiment a") && error_of_kind.contains("`request`"), "{error_of_kind}");
    assert!(grid("action='read'\njob='reading'").contains("transform to a new file"));
    let again = of_grid("action='memory'");
    assert!(error(&format!("{again}\n{again}")).contains("twice"));
    let long = grid(&format!("action='{}'", "x".repeat(2000)));
    assert!(long.len() < 600 && long.ends_with("sustained"), "{long}");
    assert!(grid("action='juggle'").contains("juggle"));
    assert!(grid("action='read'\nsystem='minix'").contains("minix"));
    assert!(grid("request='4K'").contains("action"));
}

#[test]
fn invalid_settings_of_an_action_are_named() {
    for (action, settings, word) in [
        ("append", "record='0'", "must be from 1"),
        ("append", "record='4K'\nsync='never'", "never"),
        ("command", "task='dance'\ntool='cp'\ncache='warm'", "count lines"),
        ("command", "task='copy'\ntool='rm'\ncache='warm'\noutput='new'", "tar"),
        ("command", "task='copy'\ntool='cp'\ncache='warm'", "output"),
        ("command", "task='compare'\ntool='cmp'\ncache='warm'\noutput='new'", "no file"),
        ("command", "task='compare'\ntool='cmp'\ncache='mixed'", "warm or cold"),
        ("devices", "targets=0", "from 1"),
        ("devices", "targets=1\nchunk='64K'", "striped"),
        ("devices", "targets=2\nmode='striped'\nchunk='1000'", "a multiple of 4K"),
        ("devices", "targets=2\nmode='striped'\nstrategy='method=direct,workers=2,model=pool'", "depth"),
        ("devices", "mode='alone'", "targets"),
        ("memory", "workers='0'", "not a number"),
        ("reread", "request='4K'\nmode='reread'\ndelay_ms=2.0", "at once"),
        ("reread", "request='4K'\nmode='prefetched'\ndelay_ms=-1.0", "delay_ms"),
        ("reread", "request='4K'\nmode='hopeful'", "hopeful"),
        ("streams", "streams=0", "at least one"),
        ("streams", "streams=17\nfiles='own'", "16"),
        ("streams", "streams=2\nflush=true", "writes"),
        ("streams", "streams=2\ncache='mixed'", "warm or cold"),
        ("streams", "streams=2\ndirection='sideways'", "sideways"),
        ("sustained", "strategy='method=buffered'", "bypasses"),
    ] {
        let set = of_grid(&format!("action='{action}'\n{settings}"));
        let error = parse(&set, 1, 1).unwrap_err().to_string();
        assert!(error.contains(word), "{action} with {settings}: {error}");
    }
}

#[test]
fn every_set_is_listed_once() {
    let names: std::collections::BTreeSet<_> = BUILT_IN.iter().map(|set| set.name).collect();
    assert_eq!(names.len(), BUILT_IN.len());
}
