//! Static libraries in place of NVIDIA's, which load the real ones when the program runs.
//!
//! The tensor library links `-lcuda -lcublas -lcublasLt -lcurand -lnvrtc`; a program linked against the real libraries
//! does not start on a machine that lacks any of them. So each of these names gets an archive with a jump for every
//! function that the bindings declare. The jump leads to the real function after its first call, or to a substitute
//! that returns the library's own error code if there is no real one. `loader.c` loads the libraries. CUDA's runtime
//! is available as an archive anyway.
//!
//! `cudarc` has a feature for this, `dynamic-loading`. Its build script refuses it together with `dynamic-linking`, which
//! `candle-core` turns on, so it would take a patched copy of `candle-core` in this repository; and where a library is
//! missing it panics, while a run on `--device auto` goes on without a GPU.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::packages::Packages;
use crate::toolkit::Toolkit;

/// The crate that declares the functions.
const BINDINGS: &str = "cudarc";

struct Library {
    /// Its name for the linker.
    name: &'static str,
    /// The module of the bindings that declares its functions.
    module: &'static str,
    /// The return type of its functions, and the values that mean "not there" and "not in this version".
    status: (&'static str, u32, u32),
    /// The version in the name of its file, after `.so`.
    abi: u32,
    /// A library in whose directory this one must be.
    companion: Option<&'static str>,
    /// Its folder among the packages of a Python that have a folder each.
    package: &'static str,
}

/// The return type of functions, by which their substitute is chosen.
#[derive(Clone, Copy, PartialEq)]
enum Returns {
    Status,
    Text,
    Number,
}

fn all(cuda: u32) -> [Library; 6] {
    let library = |name, module, status, abi| Library { name, module, status, abi, companion: None, package: name };
    [
        // CUDA_ERROR_NO_DEVICE, CUDA_ERROR_NOT_SUPPORTED
        library("cuda", "driver", ("CUresult", 100, 801), 1),
        // CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_NOT_SUPPORTED
        Library { companion: Some("cublasLt"), ..library("cublas", "cublas", ("cublasStatus_t", 1, 15), cuda) },
        Library { package: "cublas", ..library("cublasLt", "cublaslt", ("cublasStatus_t", 1, 15), cuda) },
        // CURAND_STATUS_NOT_INITIALIZED, CURAND_STATUS_INTERNAL_ERROR
        library("curand", "curand", ("curandStatus_t", 101, 999), 10),
        // NVRTC_ERROR_INTERNAL_ERROR
        Library { package: "cuda_nvrtc", ..library("nvrtc", "nvrtc", ("nvrtcResult", 11, 11), cuda) },
        // ncclSystemError, ncclInvalidUsage
        library("nccl", "nccl", ("ncclResult_t", 2, 5), 2),
    ]
}

/// Writes the archives to `directory`, and makes the linker search there before the toolkit.
pub fn build(toolkit: &Toolkit, packages: &Packages, directory: &Path) -> Result<(), String> {
    let bindings = packages.source(BINDINGS)?;
    for library in all(toolkit.version.0) {
        let source = bindings.join(library.module).join("sys/mod.rs");
        let text = fs::read_to_string(&source).map_err(|error| format!("{}: {error}", source.display()))?;
        let functions = declared(&text, library.status.0)?;
        let work = directory.join(library.name);
        write(&work.join("library.h"), &header(&library, toolkit.version.0, &functions))?;
        write(&work.join("jumps.s"), &jumps(&library, &functions)?)?;
        cc::Build::new()
            .file("build/loader.c")
            .file(work.join("jumps.s"))
            .include(&work)
            .out_dir(&work)
            .cargo_metadata(false)
            .pic(true)
            .opt_level(2)
            .try_compile(library.name)
            .map_err(|error| format!("lib{}.a: {error}", library.name))?;
        copy(&work.join(format!("lib{}.a", library.name)), directory)?;
    }
    let runtime = directory.join("libcudart.a");
    fs::copy(toolkit.static_runtime()?, &runtime).map_err(|error| format!("{}: {error}", runtime.display()))?;
    println!("cargo::rustc-link-search=native={}", directory.display());
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let directory = path.parent().expect("a path below the output directory");
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn copy(file: &Path, directory: &Path) -> Result<(), String> {
    let name = file.file_name().expect("an archive");
    fs::copy(file, directory.join(name)).map(drop).map_err(|error| format!("{}: {error}", file.display()))
}

/// The functions that `source` declares, in one `extern "C"` block each, sorted by name.
fn declared(source: &str, status: &str) -> Result<Vec<(String, Returns)>, String> {
    let mut functions = Vec::new();
    for block in source.split("extern \"C\" {").skip(1) {
        let declaration = block.trim_start().strip_prefix("fn ").and_then(|rest| rest.split(';').next());
        let Some((name, rest)) = declaration.and_then(|declaration| declaration.split_once('(')) else { continue };
        let returns = match rest.rsplit_once(") -> ").map(|(_, returned)| returned.trim()) {
            Some(returned) if returned == status => Returns::Status,
            Some("*const ::core::ffi::c_char") => Returns::Text,
            Some("usize") | None => Returns::Number,
            Some(other) => return Err(format!("{BINDINGS}: {name} returns {other}, which no substitute here returns")),
        };
        functions.push((name.to_owned(), returns));
    }
    functions.sort_by(|one, other| one.0.cmp(&other.0));
    functions.dedup_by(|one, other| one.0 == other.0);
    match functions.is_empty() {
        true => Err(format!(
            "{BINDINGS}: no functions that return {status} were found; its sources are written in another way"
        )),
        false => Ok(functions),
    }
}

/// Compiler flags for `loader.c`.
fn header(library: &Library, cuda: u32, functions: &[(String, Returns)]) -> String {
    let Library { name, abi, status, .. } = library;
    let mut text = String::new();
    for part in ["found", "failure", "resolve", "slots"] {
        let _ = writeln!(text, "#define {} lazy_{name}_{part}", part.to_uppercase());
    }
    let _ = writeln!(text, "#define MISSING {}\n#define UNKNOWN {}\n#define CUDA \"{cuda}\"", status.1, status.2);
    let _ = writeln!(text, "#define PACKAGE \"{}\"", library.package);
    if let Some(companion) = library.companion {
        let _ = writeln!(text, "#define COMPANION \"lib{companion}.so.{abi}\"");
    }
    let _ = writeln!(text, "#define FILES \"lib{name}.so.{abi}\", \"lib{name}.so\"");
    let _ = writeln!(text, "#define FUNCTIONS \\");
    for (function, returns) in functions {
        let returns = match returns {
            Returns::Status => "STATUS",
            Returns::Text => "TEXT",
            Returns::Number => "NUMBER",
        };
        let _ = writeln!(text, "    {{\"{function}\", {returns}}}, \\");
    }
    text + "\n"
}

/// A jump for each function, through a slot that leads to the loader until the first call.
fn jumps(library: &Library, functions: &[(String, Returns)]) -> Result<String, String> {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let (jump, first) = match arch.as_str() {
        "x86_64" => (JUMP_X86_64, FIRST_X86_64),
        "aarch64" => (JUMP_AARCH64, FIRST_AARCH64),
        other => return Err(format!("found a processor of {other}; CUDA is built for x86_64 and aarch64")),
    };
    let mut text = first.replace("RESOLVE", &format!("lazy_{}_resolve", library.name));
    for (index, (function, _)) in functions.iter().enumerate() {
        let slot = format!("lazy_{}_slots + {}", library.name, 8 * index);
        text += &jump.replace("SLOT", &slot).replace("NAME", function).replace("INDEX", &index.to_string());
    }
    let _ = writeln!(text, ".section .data.rel.local, \"aw\"\n.balign 8");
    let _ = writeln!(text, ".globl lazy_{0}_slots\n.hidden lazy_{0}_slots\nlazy_{0}_slots:", library.name);
    for index in 0..functions.len() {
        let _ = writeln!(text, "    .quad first_{index}");
    }
    Ok(text + ".section .note.GNU-stack, \"\", %progbits\n")
}

const JUMP_X86_64: &str = "
.globl NAME
.type NAME, @function
NAME:
    endbr64
    jmpq *SLOT(%rip)
.size NAME, . - NAME
first_INDEX:
    endbr64
    pushq $INDEX
    jmp first
";

/// Saves the registers that may hold arguments (System V ABI) while the loader runs; the stack is aligned for the
/// call.
const FIRST_X86_64: &str = "
.text
first:
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    subq $128, %rsp
    movups %xmm0, (%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    movq 192(%rsp), %rdi
    callq RESOLVE
    movq %rax, %r11
    movups (%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    addq $128, %rsp
    popq %r10
    popq %r9
    popq %r8
    popq %rdi
    popq %rsi
    popq %rdx
    popq %rcx
    popq %rax
    addq $8, %rsp
    jmpq *%r11
";

const JUMP_AARCH64: &str = "
.globl NAME
.type NAME, @function
NAME:
    hint #34
    adrp x16, SLOT
    ldr x16, [x16, #:lo12:SLOT]
    br x16
.size NAME, . - NAME
first_INDEX:
    hint #34
    mov w17, #INDEX
    b first
";

/// The same for Arm's procedure call standard.
const FIRST_AARCH64: &str = "
.text
first:
    stp x29, x30, [sp, #-224]!
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    mov w0, w17
    bl RESOLVE
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldr x8, [sp, #80]
    ldp q0, q1, [sp, #96]
    ldp q2, q3, [sp, #128]
    ldp q4, q5, [sp, #160]
    ldp q6, q7, [sp, #192]
    ldp x29, x30, [sp], #224
    br x16
";
