//! What a run says where a kernel fails on a GPU in software (scripts/gpu-emulated.sh).

use std::process::Command;

use crate::runs::small;

#[test]
fn a_kernel_that_fails_is_named_where_launches_are_checked() {
    if !std::env::var("GRPO_2048_CUDA_LIBS").is_ok_and(|folder| folder.ends_with("gpu-emulator")) {
        println!("skipped: a_kernel_that_fails_is_named_where_launches_are_checked: no GPU in software");
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let told = |name: &str, check: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_grpo-2048"));
        command.args(["train", "--device", "cuda", "--steps", "1"]).args(small());
        command.args(["--set", "train.eval_samples=0", "--set", check]).arg("--output-dir").arg(root.path().join(name));
        let output = command.env("GPU_EMULATOR_FAILS", "sample").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "the machine's fault");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let checked = told("checked", "train.cuda_check=true");
    assert!(checked.contains("on the GPU, in sample: "), "{checked}");
    let unchecked = told("unchecked", "train.cuda_check=false");
    assert!(unchecked.contains("--set train.cuda_check=true names it"), "{unchecked}");
}
