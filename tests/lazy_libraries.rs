//! Tests that NVIDIA's libraries are loaded at their first call. A missing library returns its own error code; a
//! library in a named folder gets all arguments of a call. The libraries here are built by the test.

use std::ffi::{CStr, c_char};
use std::path::Path;
use std::process::Command;

use candle_core::cuda::cudarc::cublas::sys::{
    cublasOperation_t, cublasSgemmStridedBatched, cublasStatus_t, cublasZdotc_v2,
};
use candle_core::cuda::cudarc::curand::sys::{curandGenerateNormal, curandStatus_t};
use candle_core::cuda::cudarc::nvrtc::sys::{nvrtcGetErrorString, nvrtcResult};

/// A variable that is set in the processes that this test starts, with different environments.
const CHILD: &str = "LAZY_LIBRARIES_CHILD";

/// Functions that succeed only for these arguments: more than fit into registers, integers and floats, and some wider
/// than 32 bits.
const CUBLAS: &str = r"
int cublasSgemmStridedBatched(void *handle, int transa, int transb, int m, int n, int k, const float *alpha,
    const float *a, int lda, long long stridea, const float *b, int ldb, long long strideb, const float *beta, float *c,
    int ldc, long long stridec, int count)
{
    return handle == (void *)1 && transa == 1 && transb == 0 && m == 4 && n == 5 && k == 6 && alpha == (void *)7
        && a == (void *)8 && lda == 9 && stridea == 10LL << 33 && b == (void *)11 && ldb == 12 && strideb == 13LL << 33
        && beta == (void *)14 && c == (void *)15 && ldc == 16 && stridec == -17LL && count == 18 ? 0 : 7;
}
";
const CURAND: &str = r"
#include <stddef.h>
int curandGenerateNormal(void *generator, float *out, size_t count, float mean, float deviation)
{
    return generator == (void *)1 && out == (void *)2 && count == (size_t)3 << 40 && mean == 4.5f && deviation == -6.25f
        ? 0 : 999;
}
";

unsafe extern "C" {
    fn lazy_cublas_found() -> *const c_char;
    fn lazy_curand_found() -> *const c_char;
    fn lazy_curand_failure() -> *const c_char;
}

fn product() -> cublasStatus_t {
    let (no, yes) = (cublasOperation_t::CUBLAS_OP_N, cublasOperation_t::CUBLAS_OP_T);
    // SAFETY: neither the library of this test nor the code in place of a missing one reads a pointer.
    unsafe {
        cublasSgemmStridedBatched(
            1 as _,
            yes,
            no,
            4,
            5,
            6,
            7 as _,
            8 as _,
            9,
            10 << 33,
            11 as _,
            12,
            13 << 33,
            14 as _,
            15 as _,
            16,
            -17,
            18,
        )
    }
}

fn normal() -> curandStatus_t {
    // SAFETY: as above.
    unsafe { curandGenerateNormal(1 as _, 2 as _, 3 << 40, 4.5, -6.25) }
}

fn text(pointer: *const c_char) -> Option<String> {
    // SAFETY: the loader returns null or text that stays valid.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

/// Runs the test `name` again in a new process, which searches libraries in `folder` first.
fn in_child(name: &str, folder: &Path) {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .env("GRPO_2048_CUDA_LIBS", folder)
        .status()
        .unwrap();
    assert!(status.success(), "{name} in {}", folder.display());
}

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

fn compile(source: &str, library: &Path) {
    std::fs::create_dir_all(library.parent().unwrap()).unwrap();
    let text = library.with_extension("c");
    std::fs::write(&text, source).unwrap();
    let status = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(library).arg(&text).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_library_in_a_named_folder_is_called_with_all_its_arguments() {
    if !is_child() {
        let root = tempfile::tempdir().unwrap();
        // The folders are those of Python packages, for the version of CUDA of this build.
        for major in [11, 12, 13, 14] {
            let folder = root.path().join(format!("nvidia/cu{major}/lib"));
            compile(CUBLAS, &folder.join(format!("libcublas.so.{major}")));
            compile(CURAND, &folder.join("libcurand.so.10"));
        }
        // Those of CUDA 12, which have a folder for each library.
        let other = tempfile::tempdir().unwrap();
        for major in [11, 12, 13, 14] {
            compile(CUBLAS, &other.path().join(format!("nvidia/cublas/lib/libcublas.so.{major}")));
        }
        compile(CURAND, &other.path().join("nvidia/curand/lib/libcurand.so.10"));
        in_child("a_library_in_a_named_folder_is_called_with_all_its_arguments", other.path());
        return in_child("a_library_in_a_named_folder_is_called_with_all_its_arguments", root.path());
    }
    // The calls are simultaneous, because any thread may be the first.
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| (product(), normal(), product(), normal()))).collect();
        for call in calls {
            let (product, normal) = (cublasStatus_t::CUBLAS_STATUS_SUCCESS, curandStatus_t::CURAND_STATUS_SUCCESS);
            assert_eq!(call.join().unwrap(), (product, normal, product, normal));
        }
    });
    // SAFETY: these functions have no arguments; one of them is not in the library of this test.
    let (found, unknown) = unsafe {
        let null = std::ptr::null_mut();
        (text(lazy_cublas_found()), cublasZdotc_v2(null, 0, null.cast(), 0, null.cast(), 0, null.cast()))
    };
    assert!(found.is_some_and(|path| path.contains("/nvidia/cu")), "cu13 and cublas");
    assert_eq!(unknown, cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED);
}

#[test]
fn a_library_that_cannot_be_loaded_gives_its_error_code_and_says_why() {
    if !is_child() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("libcurand.so.10"), "no library").unwrap();
        return in_child("a_library_that_cannot_be_loaded_gives_its_error_code_and_says_why", root.path());
    }
    // SAFETY: these functions have no arguments; one of them returns its own text.
    let (found, failure, words) = unsafe {
        let words = nvrtcGetErrorString(nvrtcResult::NVRTC_ERROR_INTERNAL_ERROR);
        (text(lazy_curand_found()), text(lazy_curand_failure()), text(words))
    };
    assert!(words.is_some(), "text is never null");
    // On a machine with CUDA the loader would find the real library, which must not get these arguments.
    if found.is_none() {
        let failure = failure.unwrap();
        assert!(failure.contains("libcurand.so.10") && !failure.contains("No such file"), "{failure}");
        assert_eq!(normal(), curandStatus_t::CURAND_STATUS_NOT_INITIALIZED);
        assert_eq!(normal(), curandStatus_t::CURAND_STATUS_NOT_INITIALIZED, "again");
    }
}
