use std::time::Duration;

use super::nvml::{chosen, digits};
use super::sampler::{header, row};
use super::*;

fn reading(utilisation: f64, used: u64) -> GpuReading {
    GpuReading {
        utilisation: Some(utilisation),
        memory_activity: Some(40.0),
        memory_used: Some(used),
        memory_total: Some(100_000_000_000),
        power: Some(350.0),
        power_limit: Some(700.0),
        sm_clock: Some(1980),
        memory_clock: Some(3201),
        temperature: Some(61),
        slowed: vec![],
    }
}

fn usage(readings: &[GpuReading]) -> GpuUsage {
    let mut usage = GpuUsage::default();
    readings.iter().for_each(|reading| usage.add(reading));
    usage
}

/// Returns the given readings, then fails.
struct Scripted(Vec<String>, std::vec::IntoIter<Vec<GpuReading>>);

impl GpuSource for Scripted {
    fn names(&self) -> &[String] {
        &self.0
    }

    fn read(&mut self) -> Result<Vec<GpuReading>, GpuError> {
        self.1.next().ok_or(GpuError::Lost { index: 0, reason: "fell off the bus".into() })
    }
}

fn sampler(readings: Vec<Vec<GpuReading>>, file: Option<std::path::PathBuf>) -> GpuSampler {
    let source = Scripted(vec!["NVIDIA H200".into()], readings.into_iter());
    GpuSampler::start(Box::new(source), Duration::from_millis(1), file).unwrap()
}

/// Waits until the readings have ended, and returns the reason.
fn ended(sampler: &GpuSampler) -> String {
    loop {
        if let Some(reason) = sampler.take_ended() {
            return reason;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn readings_are_written_under_the_names_of_weights_and_biases_and_averaged() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join(GPU_FILE);
    let sampler =
        sampler(vec![vec![reading(90.0, 10)], vec![reading(70.0, 30)], vec![reading(80.0, 20)]], Some(file.clone()));
    assert_eq!(ended(&sampler), "GPU 0 no longer answers: fell off the bus");
    assert_eq!(sampler.take_ended(), None, "told once");
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 4);
    let at =
        |name: &str| lines[0].iter().position(|column| *column == name).unwrap_or_else(|| panic!("{name} in {text}"));
    assert!(lines.iter().all(|line| line.len() == lines[0].len()));
    let fields = [
        ("gpu.0.gpu", "90"),
        ("gpu.0.memoryAllocatedBytes", "10"),
        ("gpu.0.powerPercent", "50.0"),
        ("gpu.0.smClock", "1980"),
    ];
    for (name, value) in fields {
        assert_eq!(lines[1][at(name)], value, "{name}");
    }
    let metrics: Vec<(&str, f64)> = sampler.whole()[0].metrics().collect();
    assert_eq!(metrics[0], ("gpu/util", 80.0));
    assert_eq!(metrics[3], ("gpu/mem_used_gb", 30.0 / 1e9));
}

#[test]
fn what_a_step_did_is_taken_once_and_a_step_without_a_reading_has_the_newest() {
    let sampler = sampler(vec![vec![reading(10.0, 1)], vec![reading(30.0, 1)]], None);
    ended(&sampler);
    assert_eq!(sampler.take_lately()[0].utilisation(), Some(20.0));
    assert_eq!(sampler.take_lately()[0].utilisation(), Some(30.0));
    assert_eq!(sampler.whole()[0].readings(), 2);
}

#[test]
fn a_file_of_an_earlier_part_of_the_run_goes_on() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join(GPU_FILE);
    for _ in 0..2 {
        ended(&sampler(vec![vec![reading(10.0, 1)]], Some(file.clone())));
    }
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("_timestamp")).count(), 1);
    assert_eq!(text.lines().count(), 3);
}

#[test]
fn what_a_driver_does_not_tell_is_an_empty_field_and_no_number() {
    let columns = header(1).matches(',').count();
    let empty = row(1.0, 2.0, &[GpuReading::default()]);
    assert_eq!(empty, format!("1.000,2.000{}\n", ",".repeat(columns - 1)));
    assert_eq!(usage(&[GpuReading::default()]).metrics().count(), 0);
    assert!(verdict(0, "x", &usage(&[GpuReading::default()]), None).contains("does not tell how busy"));
}

#[test]
fn the_verdict_names_what_limited_the_gpu_with_its_figure() {
    let gigabytes = |count: u64| count * 1_000_000_000;
    let words = |utilisation, used, steps: Option<StepShares>| {
        verdict(0, "NVIDIA H200", &usage(&[reading(utilisation, gigabytes(used))]), steps.as_ref())
    };
    let busy = words(97.0, 80, None);
    assert!(
        busy.starts_with("GPU 0 (NVIDIA H200): busy 97% of the time, 350 of 700 W, at most 80.0 of 100 GB, 1980 MHz"),
        "{busy}"
    );
    assert!(busy.contains("as busy as it gets"), "{busy}");
    let waiting = StepShares { steps: 10, total: 174.0, generate: 82.0, reward_wait: 51.0, steps_ahead: 0 };
    let remedy = |waiting| words(71.0, 80, Some(waiting));
    let found = remedy(waiting);
    assert!(found.contains("waited for rewards 5.1 of 17.4 s a step (29%): train.steps_ahead=1"), "{found}");
    assert!(found.contains("writes the next step meanwhile, which takes 8.2 s and hides 5.1 of it"), "{found}");
    let short = remedy(StepShares { generate: 20.0, ..waiting });
    assert!(short.contains("takes 2.0 s and hides 2.0 of it; more workers (--parallel-rewards)"), "{short}");
    let ahead = remedy(StepShares { steps_ahead: 1, ..waiting });
    assert!(ahead.contains("(29%) though the next step is written meanwhile, in 8.2 s: more workers"), "{ahead}");
    assert!(!ahead.contains("steps_ahead"), "{ahead}");
    let prompt = StepShares { reward_wait: 1.0, ..waiting };
    assert!(words(71.0, 20, Some(prompt)).contains("small batch: 20% of its memory"));
    assert!(words(71.0, 80, Some(prompt)).contains("launch-bound: 80% of its memory was used, yet it was idle 29%"));
    let mut hot = usage(&[reading(95.0, 1), reading(95.0, 1)]);
    hot.add(&GpuReading { slowed: vec![Slowdown::Heat], ..reading(95.0, 1) });
    assert!(verdict(0, "x", &hot, None).contains("slowed by heat in 33% of the readings"));
}

#[test]
fn gpus_are_counted_as_cuda_counts_them() {
    let uuids: Vec<String> = ["GPU-aaa1", "GPU-bbb2", "GPU-bbb3"].map(String::from).to_vec();
    assert_eq!(digits("GPU-8932F937-d72c-4106-c12f-20bd9faed9f6"), "8932f937d72c4106c12f20bd9faed9f6");
    assert_eq!(chosen("MIG-GPU-bbb3/1/0,0", &uuids), [2, 0]);
    for (list, expected) in [("2,0", &[2, 0][..]), ("GPU-bbb3, 1", &[2, 1]), ("", &[]), ("1,7,0", &[1]), ("-1", &[])] {
        assert_eq!(chosen(list, &uuids), expected, "{list:?}");
    }
}

#[test]
fn an_inventory_names_gpus_and_driver_and_leaves_out_what_nobody_says() {
    let h200 = GpuModel {
        name: "NVIDIA H200".into(),
        capability: Some((9, 0)),
        memory: Some((149_900_000_000, 150_754_000_000)),
    };
    let bare = GpuModel { name: "NVIDIA GPU".into(), capability: None, memory: None };
    let both = Inventory { driver: Some("580.95.05".into()), cuda: Some((13, 0)), gpus: vec![h200, bare] };
    assert_eq!(
        both.to_string(),
        "NVIDIA H200, compute capability 9.0, 149.9 GB free of 150.8 GB; NVIDIA GPU; driver 580.95.05, CUDA up to 13.0"
    );
    let silent = Inventory { driver: None, cuda: None, gpus: vec![] };
    assert_eq!(silent.to_string(), "a driver that does not say its version");
}
