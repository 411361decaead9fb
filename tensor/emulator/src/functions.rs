//! The driver: modules, their functions, launches.

use std::ffi::{CStr, c_char, c_uint, c_void};
use std::sync::Arc;

use crate::container;
use crate::driver::{INVALID_IMAGE, INVALID_VALUE, NOT_FOUND, SUCCESS, with};
use crate::machine::Launch;
use crate::ptx::{Kernel, Module};
use crate::queue::Work;
use crate::{DeviceFault, exports};

exports! {
    fn cuModuleLoadData(module: &mut *const Module, image: *const c_char) {
        // Safety: the program gives text with a zero at its end, or what nvcc makes for several GPUs.
        let text = unsafe { container::content(image.cast()) }.map_or_else(
            // Safety: as above.
            || Ok(unsafe { CStr::from_ptr(image) }.to_string_lossy().into_owned()),
            container::ptx,
        );
        match text.and_then(Module::read) {
            Ok(read) => {
                *module = Arc::into_raw(Arc::new(read));
                SUCCESS
            }
            Err(DeviceFault(why)) => {
                eprintln!("emulated GPU: {why}");
                INVALID_IMAGE
            }
        }
    }

    fn cuModuleGetFunction(function: &mut *const Kernel, module: &Module, name: *const c_char) {
        // Safety: names end with a zero.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        match module.function(&name) {
            // The module keeps it.
            Some(Ok(kernel)) => {
                *function = Arc::as_ptr(&kernel);
                SUCCESS
            }
            Some(Err(DeviceFault(why))) => {
                eprintln!("emulated GPU: {why}");
                INVALID_IMAGE
            }
            None => NOT_FOUND,
        }
    }

    fn cuLaunchKernel(
        function: *const Kernel, x: c_uint, y: c_uint, z: c_uint,
        threads_x: c_uint, threads_y: c_uint, threads_z: c_uint,
        shared_bytes: c_uint, stream: u64, parameters: *const *const u8, _extra: *mut *mut c_void
    ) {
        // Safety: given by `cuModuleGetFunction`.
        let kernel = unsafe {
            Arc::increment_strong_count(function);
            Arc::from_raw(function)
        };
        let mut all = vec![0; kernel.parameter_bytes];
        for (index, (offset, bytes)) in kernel.parameters.iter().enumerate() {
            // Safety: the program gives as many parameters as the kernel has.
            unsafe { std::ptr::copy_nonoverlapping(*parameters.add(index), all[*offset..].as_mut_ptr(), *bytes) };
        }
        let launch = Launch {
            kernel,
            blocks: [x, y, z],
            threads: [threads_x, threads_y, threads_z],
            shared_bytes: shared_bytes as usize,
            parameters: all,
        };
        with(|queues| match launch.check() {
            Ok(()) => queues.ask(stream, Work::Launch(Arc::new(launch))).map(|()| SUCCESS),
            // The program's fault, and the GPU goes on.
            Err(DeviceFault(why)) => {
                eprintln!("emulated GPU: {}: {why}", launch.kernel.name);
                Ok(INVALID_VALUE)
            }
        })
    }

    fn cuModuleUnload(module: *const Module) {
        // Safety: given by `cuModuleLoadData`.
        drop(unsafe { Arc::from_raw(module) });
        SUCCESS
    }
}
