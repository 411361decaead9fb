//! What a user is told of a GPU that cannot be used.

use super::*;

fn version(major: u32, minor: u32) -> Version {
    Version { major, minor }
}

/// An H200 with everything that a build with CUDA 13.0 needs.
fn ready() -> CudaExamination {
    let library =
        |name, expected, found| LibraryFound { name, expected, found: Ok((format!("/lib/{name}").into(), found)) };
    CudaExamination {
        built_with: version(13, 0),
        kernels: Some(Target { capability: version(8, 0), exact: false }),
        driver: Ok(DriverFound { cuda: version(13, 0), gpus: vec![("NVIDIA H200".into(), version(9, 0))] }),
        libraries: vec![library("cuBLAS", 13, version(13, 1)), library("cuRAND", 10, version(10, 4))],
        nccl: library("NCCL", 2, version(2, 27)),
    }
}

fn with_driver(cuda: Version, gpus: &[(&str, Version)]) -> CudaExamination {
    let gpus = gpus.iter().map(|(name, capability)| ((*name).to_owned(), *capability)).collect();
    CudaExamination { driver: Ok(DriverFound { cuda, gpus }), ..ready() }
}

fn refusal(examination: &CudaExamination, index: usize) -> String {
    examination.check(index).unwrap_err().to_string()
}

#[test]
fn a_gpu_with_driver_and_libraries_is_used() {
    assert_eq!(ready().check(0), Ok(()));
    assert_eq!(with_driver(version(13, 2), &[("NVIDIA B200", version(10, 0))]).check(0), Ok(()), "a newer one as well");
    assert_eq!(CudaExamination { kernels: None, ..ready() }.check(0), Ok(()));
}

#[test]
fn each_lack_is_named_with_what_was_found_and_what_helps() {
    let no_driver = CudaExamination { driver: Err("libcuda.so.1: no such file".into()), ..ready() };
    assert_eq!(refusal(&no_driver, 0), "no NVIDIA driver answers (libcuda.so.1: no such file)");
    let old = with_driver(version(12, 4), &[("NVIDIA H200", version(9, 0))]);
    assert_eq!(
        refusal(&old, 0),
        "the NVIDIA driver runs CUDA up to 12.4, this program was built with 13.0; update the driver, or build with an \
         older toolkit"
    );
    let none = with_driver(version(13, 0), &[]);
    assert!(refusal(&none, 0).starts_with("the NVIDIA driver shows no GPU; is one hidden by CUDA_VISIBLE_DEVICES"));
    assert_eq!(refusal(&ready(), 1), "the NVIDIA driver shows 1 GPU, numbered from 0");
    let volta = with_driver(version(13, 0), &[("Tesla V100", version(7, 0))]);
    assert_eq!(
        refusal(&volta, 0),
        "Tesla V100 has compute capability 7.0, the kernels of this program are for 8.0 and above; build with \
         CUDA_COMPUTE_CAP=70"
    );
    let hopper_only = Some(Target { capability: version(9, 0), exact: true });
    let blackwell = with_driver(version(13, 0), &[("NVIDIA B200", version(10, 0))]);
    let exact = CudaExamination { kernels: hopper_only, ..blackwell };
    assert!(refusal(&exact, 0).contains("are for 9.0 alone; build with CUDA_COMPUTE_CAP=100"));
}

#[test]
fn a_library_that_is_missing_or_another_is_named() {
    let mut missing = ready();
    missing.libraries[0].found = Err("libcublas.so.13: no such file".into());
    assert_eq!(
        refusal(&missing, 0),
        "cuBLAS was not found (libcublas.so.13: no such file); install the libraries of CUDA 13.0, or name the folder \
         that holds them in GRPO_2048_CUDA_LIBS"
    );
    let mut other = ready();
    other.libraries[0].found = Ok(("/opt/libcublas.so".into(), version(12, 4)));
    assert_eq!(refusal(&other, 0), "cuBLAS 12.4 was found in /opt/libcublas.so, this program calls version 13");
}

#[test]
fn kernels_say_which_gpus_they_are_for() {
    let target = |name: &str| Target::of_ptx(&format!("//\n.version 9.0\n.target {name}\n.address_size 64\n"));
    assert_eq!(target("sm_80"), Some(Target { capability: version(8, 0), exact: false }));
    assert_eq!(target("sm_90a, debug"), Some(Target { capability: version(9, 0), exact: true }));
    assert_eq!(target("sm_120"), Some(Target { capability: version(12, 0), exact: false }));
    assert_eq!(Target::of_ptx("no kernels"), None);
}

#[test]
fn a_setting_names_a_device() {
    assert_eq!(Wish::of("auto"), Some(Wish::Auto));
    assert_eq!(Wish::of("cpu"), Some(Wish::Cpu));
    assert_eq!(Wish::of("cuda"), Some(Wish::Cuda(0)));
    assert_eq!(Wish::of("cuda:3"), Some(Wish::Cuda(3)));
    for name in ["", "gpu", "cuda:", "cuda:-1", "CUDA"] {
        assert_eq!(Wish::of(name), None, "{name}");
        assert!(open_device(name).unwrap_err().to_string().contains("expected \"auto\", \"cpu\", \"cuda\""));
    }
}

#[test]
fn the_processor_is_always_there() {
    let (device, fallback) = open_device("cpu").unwrap();
    assert!(device.is_cpu() && fallback.is_none());
    assert_eq!(device_memory(&device).unwrap(), None);
    let (device, fallback) = open_device("auto").unwrap();
    assert!(cfg!(feature = "cuda") || (device.is_cpu() && fallback.is_none()), "no word of what was not built in");
}
