//! The implementation of `Machine` by the processor: `kernels.cu` compiled by the C++ compiler, over ordinary memory.

use std::cell::Cell;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use candle_core::{CpuStorage, DType, Result, Storage, Tensor, bail};
use half::{bf16, f16};
use libloading::Library;

use super::machine::{Machine, Memory, Product};
use super::params::Params;
use super::products::{Matrices, Products};

/// The mutex lets one kernel run at a time, because the shared memory of a block is a static variable here.
static KERNELS: OnceLock<Option<Mutex<Library>>> = OnceLock::new();

type Run = unsafe extern "C" fn(*const c_char, *const [c_uint; 3], c_uint, *const c_void) -> c_int;

pub(super) struct Emulated {
    kernels: &'static Mutex<Library>,
}

/// Memory that begins at a multiple of 16 bytes, which vector loads need.
pub(super) struct HostMemory {
    words: Vec<u128>,
}

impl HostMemory {
    fn new(bytes: usize) -> Self {
        HostMemory { words: vec![0; bytes.div_ceil(16)] }
    }

    fn write_at(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= 16 * self.words.len(), "write out of bounds");
        // Safety: the write is in bounds, and nothing else runs while a test writes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), (self.address() as *mut u8).add(at), bytes.len()) }
    }

    fn read(&self, bytes: usize) -> Vec<u8> {
        assert!(bytes <= 16 * self.words.len(), "read out of bounds");
        // Safety: the read is in bounds.
        unsafe { std::slice::from_raw_parts(self.address() as *const u8, bytes) }.to_vec()
    }
}

impl Memory for HostMemory {
    fn address(&self) -> u64 {
        self.words.as_ptr() as u64
    }
}

impl Emulated {
    /// `None`, with a line on standard error, where there is no C++ compiler.
    pub fn open() -> Option<Self> {
        let kernels = KERNELS.get_or_init(|| compile().map(Mutex::new)).as_ref();
        if kernels.is_none() {
            eprintln!("not run: the kernels need a C++ compiler (c++ with -std=c++20)");
        }
        kernels.map(|kernels| Emulated { kernels })
    }
}

thread_local! {
    static EMULATED: Cell<bool> = const { Cell::new(false) };
    static LAUNCHES: Cell<usize> = const { Cell::new(0) };
}

/// How many kernels and products this thread has launched on the processor. For tests.
pub fn emulated_launches() -> usize {
    LAUNCHES.get()
}

/// Whether this thread is inside [`emulated`].
pub(super) fn is_emulated() -> bool {
    EMULATED.get()
}

/// Runs `run`, during which the GPU's kernels work on every tensor of this thread; `None` where there is no C++
/// compiler. For tests.
pub fn emulated<R>(run: impl FnOnce() -> R) -> Option<R> {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            EMULATED.set(self.0);
        }
    }
    Emulated::open()?;
    let _restore = Restore(EMULATED.replace(true));
    Some(run())
}

/// The results of `run` with blocks and threads of every kernel in order, and in reverse order. For tests.
pub fn in_both_orders<R>(run: impl Fn() -> R) -> Option<[R; 2]> {
    emulated(|| {
        let in_order = run();
        run_backwards(true);
        let backwards = run();
        run_backwards(false);
        [in_order, backwards]
    })
}

/// Sets whether blocks and their threads run in reverse order from now on, for all threads of the program.
fn run_backwards(asked: bool) {
    if let Some(Emulated { kernels }) = Emulated::open() {
        let library = kernels.lock().unwrap();
        // Safety: `run_backwards` has this signature in `emulation.cpp`.
        unsafe { library.get::<unsafe extern "C" fn(bool)>(b"run_backwards\0").unwrap()(asked) }
    }
}

fn compile() -> Option<Library> {
    Command::new("c++").arg("--version").output().ok()?;
    let dir = tempfile::tempdir().unwrap();
    // Cargo says where a test's package is. No folder of the machine that builds is in the program.
    let package = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("a test that Cargo runs"));
    let mut folders = package.ancestors().map(|folder| folder.join("tensor/cuda"));
    let source = folders.find(|folder| folder.is_dir()).expect("a package of this repository");
    let library = dir.path().join("kernels.so");
    // Each executable of tests compiles once: a faster library would save them less than it takes longer to compile.
    let built = Command::new("c++")
        .args(["-std=c++20", "-O1", "-fno-strict-aliasing", "-shared", "-fPIC", "-fvisibility=hidden"])
        .args(["-DON_PROCESSOR", "-Wno-unknown-pragmas", "-o"])
        .arg(&library)
        .arg(source.join("emulation.cpp"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    // Safety: the library's only initialisers are plain tables. It stays mapped when its file is removed.
    Some(unsafe { Library::new(&library) }.unwrap())
}

impl Machine for Emulated {
    type Memory = HostMemory;
    type Pending = Vec<u8>;
    /// Nothing is recorded: every step launches its kernels anew.
    type Recording = ();

    fn zeros(&self, bytes: usize) -> Result<HostMemory> {
        Ok(HostMemory::new(bytes))
    }

    fn adopt(&self, tensor: &Tensor) -> Result<HostMemory> {
        let flat = tensor.flatten_all()?;
        let bytes: Vec<u8> = match tensor.dtype() {
            DType::F32 => flat.to_vec1::<f32>()?.iter().flat_map(|x| x.to_le_bytes()).collect(),
            DType::BF16 => flat.to_vec1::<bf16>()?.iter().flat_map(|x| x.to_le_bytes()).collect(),
            DType::F16 => flat.to_vec1::<f16>()?.iter().flat_map(|x| x.to_le_bytes()).collect(),
            other => bail!("{other:?}"),
        };
        let memory = HostMemory::new(bytes.len());
        memory.write_at(0, &bytes);
        Ok(memory)
    }

    fn write(&self, to: &HostMemory, bytes: &[u8]) -> Result<()> {
        to.write_at(0, bytes);
        Ok(())
    }

    fn copy(&self, to: &HostMemory, at: usize, from: &HostMemory, bytes: usize) -> Result<()> {
        to.write_at(at, &from.read(bytes));
        Ok(())
    }

    fn read(&self, from: &HostMemory, bytes: usize) -> Result<Vec<u8>> {
        Ok(from.read(bytes))
    }

    fn wait(&self, pending: Vec<u8>) -> Result<Vec<u8>> {
        Ok(pending)
    }

    unsafe fn launch<P: Params>(&self, kernel: &str, grid: [usize; 3], threads: usize, params: &P) -> Result<()> {
        LAUNCHES.set(LAUNCHES.get() + 1);
        let library = self.kernels.lock().unwrap();
        let name = CString::new(kernel).unwrap();
        // Safety: `run` has this signature in `emulation.cpp`.
        let run = unsafe { library.get::<Run>(b"run\0") }.unwrap();
        let grid = grid.map(|blocks| blocks as c_uint);
        // Safety: the caller's promise.
        let found = unsafe { run(name.as_ptr(), &grid, threads as c_uint, std::ptr::from_ref(params).cast()) };
        assert_eq!(found, 0, "no kernel {kernel}");
        Ok(())
    }

    unsafe fn product(&self, product: &Product) -> Result<()> {
        let Product { rows, inputs, outputs, dtype, transposed, .. } = *product;
        let plain = |address, stride, dtype| Matrices { address, stride, step: 0, transposed: false, dtype };
        let out = plain(product.out, product.out_stride, product.out_dtype);
        let weight = plain(product.weight, if transposed { inputs } else { outputs }, dtype);
        let (left, right) = (plain(product.x, inputs, dtype), Matrices { transposed, ..weight });
        let sizes = Products { out, left, right, count: 1, rows, inner: inputs, columns: outputs, adds: false };
        // Safety: the caller's promise.
        unsafe { self.products(&sizes) }
    }

    unsafe fn products(&self, products: &Products) -> Result<()> {
        LAUNCHES.set(LAUNCHES.get() + 1);
        let Products { out, left, right, count, rows, inner, columns, adds } = *products;
        let place = |of: Matrices, batch: usize, row: usize, column: usize| {
            let (row, column) = if of.transposed { (column, row) } else { (row, column) };
            batch * of.step + row * of.stride + column
        };
        for (batch, row) in (0..count).flat_map(|batch| (0..rows).map(move |row| (batch, row))) {
            // Safety, here and below: the caller's promise.
            let left = |i: usize| unsafe { number(left.address, place(left, batch, row, i), left.dtype) };
            let left: Vec<f32> = (0..inner).map(left).collect();
            for column in 0..columns {
                let right = |i: usize| unsafe { number(right.address, place(right, batch, i, column), right.dtype) };
                let sum: f32 = left.iter().enumerate().map(|(i, left)| left * right(i)).sum();
                let at = place(out, batch, row, column);
                let before = if adds { unsafe { number(out.address, at, out.dtype) } } else { 0.0 };
                unsafe { put(out.address, at, before + sum, out.dtype) };
            }
        }
        Ok(())
    }

    /// Gives the tensor's own memory, unlike [`Machine::adopt`], which copies it.
    fn address(&self, tensor: &Tensor) -> Result<u64> {
        let (storage, layout) = tensor.storage_and_layout();
        let Storage::Cpu(storage) = &*storage else { bail!("expected a tensor on the processor") };
        if !layout.is_contiguous() {
            bail!("expected a contiguous tensor");
        }
        let start = match storage {
            CpuStorage::F32(values) => values.as_ptr() as u64,
            CpuStorage::BF16(values) => values.as_ptr() as u64,
            CpuStorage::F16(values) => values.as_ptr() as u64,
            CpuStorage::U32(values) => values.as_ptr() as u64,
            _ => bail!("{:?}", tensor.dtype()),
        };
        Ok(start + (layout.start_offset() * tensor.dtype().size_in_bytes()) as u64)
    }

    fn record(&self, _: &mut dyn FnMut() -> Result<()>) -> Result<Option<()>> {
        Ok(None)
    }

    unsafe fn replay(&self, (): &()) -> Result<()> {
        unreachable!("nothing was recorded")
    }
}

unsafe fn number(address: u64, index: usize, dtype: DType) -> f32 {
    // Safety: the caller's promise.
    unsafe {
        match dtype {
            DType::F32 => *(address as *const f32).add(index),
            DType::BF16 => (*(address as *const bf16).add(index)).to_f32(),
            _ => (*(address as *const f16).add(index)).to_f32(),
        }
    }
}

unsafe fn put(address: u64, index: usize, value: f32, dtype: DType) {
    // Safety: the caller's promise.
    unsafe {
        match dtype {
            DType::F32 => *(address as *mut f32).add(index) = value,
            DType::BF16 => *(address as *mut bf16).add(index) = bf16::from_f32(value),
            _ => *(address as *mut f16).add(index) = f16::from_f32(value),
        }
    }
}
