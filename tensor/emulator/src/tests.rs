mod kernels;
mod work;

use crate::machine::Launch;
use crate::memory::Memory;
use crate::ptx::Module;
use crate::{DeviceFault, fault};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// A kernel `test` that gets the address of its memory as `%rd0`, and its thread as `%r0`.
fn kernel(body: &str) -> Module {
    let registers = ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .f32 %f<8>; .reg .b64 %rd<16>;";
    let begin = "ld.param.u64 %rd0, [memory]; cvta.to.global.u64 %rd0, %rd0; mov.u32 %r0, %tid.x;";
    let entry = format!(".visible .entry test(.param .u64 memory)\n{{\n{registers}\n{begin}\n{body}\nret;\n}}\n");
    Module::read(format!("{HEAD}{entry}")).unwrap()
}

/// The thread's own word, `%rd1`.
const OWN_WORD: &str = "mul.wide.u32 %rd1, %r0, 4; add.s64 %rd1, %rd0, %rd1;";

fn launch(module: &Module, parameters: &[u64], blocks: u32, threads: u32) -> Launch {
    Launch {
        kernel: module.function("test").unwrap().unwrap(),
        blocks: [blocks, 1, 1],
        threads: [threads, 1, 1],
        shared_bytes: 0,
        parameters: parameters.iter().flat_map(|parameter| parameter.to_le_bytes()).collect(),
    }
}

/// What a kernel leaves of `words`.
fn run(body: &str, words: &[u32], threads: u32) -> Result<Vec<u32>, DeviceFault> {
    let mut memory = Memory::new();
    let address = memory.allocate(4 * words.len() as u64).ok_or_else(|| fault!("no room"))?;
    let launch = launch(&kernel(body), &[address], 1, threads);
    launch.check()?;
    let all = address as *mut u32;
    // Safety: as long as what was allocated.
    unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), all, words.len()) };
    launch.run(&memory)?;
    // Safety: as above.
    Ok(unsafe { std::slice::from_raw_parts(all, words.len()) }.to_vec())
}

fn refused(body: &str, threads: u32) -> String {
    let DeviceFault(why) = run(body, &[0; 64], threads).unwrap_err();
    why
}
