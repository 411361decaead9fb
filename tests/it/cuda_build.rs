//! Tests of which compiler `scripts/cuda-env.sh` builds with, by compilers that are a line of shell.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A toolkit whose compiler says that it is of this release, and otherwise what it was asked.
fn toolkit(home: &Path, release: &str) {
    fs::create_dir_all(home.join("bin")).unwrap();
    let (nvcc, text) = (
        home.join("bin/nvcc"),
        format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo 'tools, release {release}, V{release}.1' || echo \"{release}: $*\"\n"
        ),
    );
    fs::write(&nvcc, text).unwrap();
    fs::set_permissions(&nvcc, fs::Permissions::from_mode(0o755)).unwrap();
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
    let output = command.output().unwrap();
    let told = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    (output.status.success(), told)
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
