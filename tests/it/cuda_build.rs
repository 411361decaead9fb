//! Tests of which compiler `scripts/cuda-env.sh` builds with, and of whose figures `scripts/gpu-check/run.sh` prints, by compilers
//! and programs that are lines of shell.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::{told, write_program};

/// A toolkit whose compiler says that it is of this release, and otherwise what it was asked.
fn toolkit(home: &Path, release: &str) {
    fs::create_dir_all(home.join("bin")).unwrap();
    let version = format!("echo 'tools, release {release}, V{release}.1'");
    let text = format!("[ \"$1\" = --version ] && {version} || echo \"{release}: $*\"");
    write_program(&home.join("bin/nvcc"), &text);
}

/// Runs a line of shell after the script, in a folder that has nothing but scripts; the toolkit of 13.0 is in PATH, that of
/// 12.4 in `CUDA_HOME`.
fn after_script(asked: &str, line: &str) -> (bool, String) {
    let place = tempfile::tempdir().unwrap();
    let [newer, older] = ["newer", "older"].map(|name| place.path().join(name));
    toolkit(&newer, "13.0");
    toolkit(&older, "12.4");
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    std::os::unix::fs::symlink(scripts, place.path().join("scripts")).unwrap();
    let path = format!("{}:{}", newer.join("bin").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["-euo", "pipefail", "-c", &format!("source scripts/cuda-env.sh; {line}")]);
    command.current_dir(place.path()).env("PATH", path).env("CUDA_HOME", older).env("CUDA", asked).env_remove("NVCC");
    let (code, said) = told(&mut command);
    (code == Some(0), said)
}

#[test]
fn a_build_is_made_with_the_cuda_that_is_asked_for_in_a_folder_of_its_own() {
    let asked = |version: &str| after_script(version, "echo $cuda_release $cuda_target; nvcc -O3 \"a b.cu\"");
    assert_eq!(asked(""), (true, "13.0 target/cuda\n13.0: -O3 a b.cu\n".to_owned()));
    assert_eq!(asked("13"), asked(""));
    assert_eq!(asked("12"), (true, "12.4 target/cuda12\n12.4: -O3 a b.cu\n".to_owned()));
    // A script that calls another has the compiler already.
    let twice = after_script("12", "source scripts/cuda-env.sh; nvcc twice");
    assert_eq!(twice, (true, "12.4: twice\n".to_owned()));
    let (is_found, told) = after_script("7", "echo built");
    assert!(!is_found && told.contains("no nvcc of CUDA 7") && !told.contains("built"), "{told}");
}

#[test]
fn products_of_quantised_weights_are_left_empty_by_builds() {
    let line = "nvcc -gencode=arch=compute_80,code=sm_80 -c -o product.o -O3 src/mmq_gguf/mmq_instance_q4_0.cu; \
                nm product.o | wc -l; nvcc --ptx src/affine.cu; nvcc -c -o other.o src/other.cu";
    let (is_done, told) = after_script("", line);
    assert_eq!(told, "0\n13.0: --ptx src/affine.cu\n13.0: -c -o other.o src/other.cu\n");
    assert!(is_done);
}

/// What `run.sh` in this folder says of decoding on a processor, whole or as a rehearsal (`"1"`), in the first row of its table.
fn measured(place: &Path, is_small: &str) -> String {
    let mut command = Command::new("bash");
    command.arg(place.join("run.sh")).arg("decoding").env("GPU_CHECK_DEVICE", "cpu").env("GPU_CHECK_SMALL", is_small);
    let (_, said) = told(command.env_remove("GPU_CHECK_OUT").env_remove("GPU_CHECK_MODEL"));
    let row = said.lines().find(|line| line.starts_with("decoding, 1.5B")).unwrap_or_else(|| panic!("{said}"));
    row.rsplit_once("roofline").unwrap().1.split_whitespace().next().unwrap().to_owned()
}

#[test]
fn figures_of_a_rehearsal_or_of_another_build_are_not_those_of_a_measurement() {
    let place = tempfile::tempdir().unwrap();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/gpu-check");
    for name in ["run.sh", "rows.txt"] {
        fs::copy(scripts.join(name), place.path().join(name)).unwrap();
    }
    // The smallest model, which rehearsals take, is at 0.9 of the memory's rate.
    let build = |share: &str| {
        let text = format!(
            "case \"$*\" in *' builtin '*) share=0.9 ;; *) share={share} ;; esac\n\
             echo '{{\"rows\":[{{\"roofline\":{{\"median\":'$share'}}}}]}}'"
        );
        write_program(&place.path().join("grpo-2048-bench"), &text);
    };
    build("0.4");
    assert_eq!(measured(place.path(), "1"), "90.0");
    assert_eq!(measured(place.path(), "0"), "40.0");
    build("0.5");
    assert_eq!(measured(place.path(), "0"), "50.0");
}

#[test]
fn a_model_that_is_not_there_is_told_of_before_anything_is_measured() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/gpu-check/run.sh");
    let place = tempfile::tempdir().unwrap();
    let mut command = Command::new("bash");
    command.arg(script).current_dir(place.path());
    let (code, said) = told(command.env("GPU_CHECK_OUT", "results").env("GPU_CHECK_MODEL", "nowhere.gguf"));
    assert!(code == Some(2) && said.contains("GPU_CHECK_MODEL: found no nowhere.gguf"), "{said}");
    assert!(!place.path().join("results").exists());
}
