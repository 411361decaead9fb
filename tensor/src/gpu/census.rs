//! Tests of `cuda/census.txt`, the table of what the compiler made of the kernels (`scripts/gpu-census.py`): that it is of
//! these sources, and that no kernel spills registers or reads memory with a single load under way.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// With more a block of 128 threads leaves an SM of 65,536 registers less than a quarter full.
const MOST_REGISTERS: usize = 128;

struct Row {
    kernel: String,
    registers: usize,
    spilled: usize,
    loads: Vec<usize>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cuda")
}

fn sources() -> Vec<String> {
    let paths = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let is_source = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "cu" || ending == "cuh");
    let mut paths: Vec<PathBuf> = paths.filter(is_source).collect();
    paths.sort();
    paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

fn table() -> (String, Vec<Row>) {
    let text = fs::read_to_string(folder().join("census.txt")).unwrap();
    let of = text.lines().find_map(|line| line.split_once("sources ")).unwrap().1.to_owned();
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1).map(|line| {
        let cells: Vec<&str> = line.split(" | ").collect();
        let loads = cells[4].split(' ').filter(|cell| *cell != "-").map(|cell| cell.parse().unwrap());
        Row {
            kernel: cells[0].to_owned(),
            registers: cells[1].parse().unwrap(),
            spilled: cells[2].parse().unwrap(),
            loads: loads.collect(),
        }
    });
    (of, rows.collect())
}

/// FNV-1a over what is left of the sources without comments and blank lines, as the script computes it.
fn digest(sources: &[String]) -> String {
    let lines = sources.iter().flat_map(|source| source.lines());
    let code = lines.map(|line| line.split("//").next().unwrap_or_default().trim()).filter(|code| !code.is_empty());
    let bytes = code.flat_map(|code| code.bytes().chain([b'\n']));
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{hash:016x}")
}

#[test]
fn the_census_is_of_these_kernels() {
    let (of, rows) = table();
    let sources = sources();
    assert_eq!(of, digest(&sources), "kernels have changed: scripts/gpu-census.py NVCC --write");
    let mut expected = BTreeSet::new();
    for line in sources.iter().flat_map(|source| source.lines()) {
        if let Some((name, _)) = line.strip_prefix("KERNEL(").and_then(|rest| rest.split_once(',')) {
            expected.extend(["f32", "bf16", "f16"].map(|suffix| format!("{name}_{suffix}")));
        }
        if let Some((name, _)) =
            line.strip_prefix("extern \"C\" __global__ void ").and_then(|rest| rest.split_once('('))
        {
            expected.insert(name.to_owned());
        }
    }
    assert_eq!(rows.iter().map(|row| row.kernel.clone()).collect::<BTreeSet<_>>(), expected);
}

#[test]
fn no_kernel_spills_or_waits_for_one_load_at_a_time() {
    let (_, rows) = table();
    for Row { kernel, registers, spilled, loads } in &rows {
        assert!(
            *spilled == 0 && *registers <= MOST_REGISTERS,
            "{kernel}: {registers} registers, {spilled} bytes spilled"
        );
        assert!(!loads.contains(&1), "{kernel} has a loop with one load under way");
    }
}
