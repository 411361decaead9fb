use std::cell::Cell;
use std::collections::BTreeMap;

use super::super::{EvaluationRecord, RunHeader, StepRecord, UpdateRecord};
use super::*;

/// The fields of a message: number and bytes. A varint is returned as eight little-endian bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let varint = |bytes: &mut &[u8]| {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                break value;
            }
        }
    };
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let length = match key & 7 {
            0 => {
                found.push((key >> 3, varint(&mut bytes).to_le_bytes().to_vec()));
                continue;
            }
            1 => 8,
            5 => 4,
            2 => varint(&mut bytes) as usize,
            wire => panic!("wire type {wire}"),
        };
        found.push((key >> 3, bytes[..length].to_vec()));
        bytes = &bytes[length..];
    }
    found
}

/// The records of a file. Checks lengths and checksums.
fn records(path: &Path) -> Vec<Vec<u8>> {
    let file = fs::read(path).unwrap();
    let mut bytes = file.as_slice();
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        assert_eq!(bytes[8..12], masked(&bytes[..8]).to_le_bytes());
        let body = &bytes[12..12 + length];
        assert_eq!(bytes[12 + length..16 + length], masked(body).to_le_bytes());
        records.push(body.to_vec());
        bytes = &bytes[16 + length..];
    }
    records
}

fn field(message: &[u8], number: u64) -> Option<Vec<u8>> {
    fields(message).into_iter().find(|(found, _)| *found == number).map(|(_, bytes)| bytes)
}

fn step(event: &[u8]) -> u64 {
    u64::from_le_bytes(field(event, 2).unwrap().try_into().unwrap())
}

fn scalars(event: &[u8]) -> BTreeMap<String, f32> {
    let values = fields(&field(event, 5).unwrap());
    let scalar = |(_, value): (u64, Vec<u8>)| {
        let tag = String::from_utf8(field(&value, 1).unwrap()).unwrap();
        (tag, f32::from_le_bytes(field(&value, 2).unwrap().try_into().unwrap()))
    };
    values.into_iter().map(scalar).collect()
}

fn files(output_dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(output_dir.join(TENSORBOARD_DIR)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn every_number_of_a_record_is_a_scalar_at_its_step() {
    let dir = tempfile::tempdir().unwrap();
    let clock = || 1_700_000_000.5;
    let mut sink = TensorBoardSink::new(&clock);
    let header = RunHeader { output_dir: dir.path().to_owned(), ..RunHeader::default() };
    let update = UpdateRecord { loss: Some(-0.25), ..UpdateRecord::default() };
    let mut record = StepRecord { step: 300, update, num_tokens: 70_000, ..StepRecord::default() };
    record.count_verdict("succeeded", 1);
    let evaluation = EvaluationRecord { step: 300, mean_score: Some(1234.5), ..EvaluationRecord::default() };
    for event in [Event::RunStarted(&header), Event::StepDone(&record), Event::Evaluated(&evaluation)] {
        sink.note(&event).unwrap();
    }
    let records = records(&files(dir.path())[0]);
    assert_eq!(field(&records[0], 3).unwrap(), b"brain.Event:2");
    assert_eq!(records.len(), 3);
    assert_eq!(field(&records[1], 1).unwrap(), 1_700_000_000.5_f64.to_le_bytes());
    assert_eq!((step(&records[1]), step(&records[2])), (300, 300));
    let trained = scalars(&records[1]);
    assert_eq!((trained["train/loss"], trained["train/num_tokens"]), (-0.25, 70_000.0));
    assert_eq!(trained["train/verdict/succeeded"], 1.0);
    assert_eq!(trained.len(), serde_json::to_value(&record).unwrap().as_object().unwrap().len() - 1);
    assert_eq!(scalars(&records[2])["eval/game/mean_score"], 1234.5);
}

#[test]
fn a_resumed_run_begins_a_later_file_that_replaces_the_steps_it_repeats() {
    let dir = tempfile::tempdir().unwrap();
    for (clock, resumed_from) in [(99.0, 0), (100.0, 20), (101.0, 0)] {
        let clock = || clock;
        let header = RunHeader { output_dir: dir.path().to_owned(), resumed_from, ..RunHeader::default() };
        TensorBoardSink::new(&clock).note(&Event::RunStarted(&header)).unwrap();
    }
    let files = files(dir.path());
    assert_eq!(files.len(), 3);
    assert_eq!(records(&files[0]).len(), 1);
    // The checkpoint of step 0 is one to go on from as well.
    for (file, first) in [(1, 21), (2, 1)] {
        let restart = &records(&files[file])[1];
        assert_eq!(step(restart), first);
        assert_eq!(field(&field(restart, 7).unwrap(), 1).unwrap(), 1_u64.to_le_bytes());
    }
}

#[test]
fn a_file_comes_after_those_that_are_there_where_the_clock_stands_or_goes_back() {
    let dir = tempfile::tempdir().unwrap();
    for (clock, resumed_from) in [(1_700_000_100.0, 0), (1_700_000_100.5, 0), (1_600_000_000.0, 20)] {
        let clock = || clock;
        let header = RunHeader { output_dir: dir.path().to_owned(), resumed_from, ..RunHeader::default() };
        TensorBoardSink::new(&clock).note(&Event::RunStarted(&header)).unwrap();
    }
    let begun = files(dir.path()).iter().map(|file| field(&records(file)[0], 1).unwrap()).collect::<Vec<_>>();
    assert_eq!(begun, [1_700_000_100.0_f64, 1_700_000_100.5, 1_600_000_000.0].map(|time| time.to_le_bytes().to_vec()));
}

#[test]
fn an_evaluation_that_is_made_again_replaces_the_one_that_was_there_and_leaves_training() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Cell::new(99.0);
    let now = || clock.replace(clock.get() + 1.0);
    fs::write(
        dir.path().join(METRICS_FILE),
        "{\"step\":19,\"reward\":0.25}\n{\"step\":20,\"reward\":0.5}\n{\"step\":20,\"eval_reward\":0.75}\n",
    )
    .unwrap();
    let evaluation = |step| EvaluationRecord { step, reward: 0.875, ..EvaluationRecord::default() };
    for resumed_from in [0, 20] {
        let mut sink = TensorBoardSink::new(&now);
        let header = RunHeader { output_dir: dir.path().to_owned(), resumed_from, ..RunHeader::default() };
        let evaluations = [evaluation(20), evaluation(40)];
        let events = [Event::RunStarted(&header), Event::Evaluated(&evaluations[0]), Event::Evaluated(&evaluations[1])];
        events.iter().for_each(|event| sink.note(event).unwrap());
    }
    let files = files(dir.path());
    assert_eq!(records(&files[0]).len(), 3, "nothing was there before");
    let records = records(&files[1]);
    let is_restart = |record: &Vec<u8>| field(record, 7).is_some();
    let told: Vec<(u64, bool)> = records[1..].iter().map(|record| (step(record), is_restart(record))).collect();
    assert_eq!(told, [(21, true), (20, true), (20, false), (20, false), (40, false)]);
    assert_eq!(scalars(&records[3]), BTreeMap::from([("train/reward".to_owned(), 0.5)]));
    assert_eq!(scalars(&records[4])["eval/reward"], 0.875);
}
