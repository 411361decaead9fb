//! cuRAND: a generator that nobody draws from. The program has its own chance.

use std::ffi::{c_int, c_void};

const SUCCESS: u32 = 0;

#[unsafe(no_mangle)]
extern "C" fn curandGetProperty(part: u32, value: &mut c_int) -> u32 {
    *value = if part == 0 { 10 } else { 0 };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn curandCreateGenerator(generator: &mut *mut c_void, _: u32) -> u32 {
    *generator = std::ptr::NonNull::dangling().as_ptr();
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn curandSetStream(_: *mut c_void, _: u64) -> u32 {
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn curandSetPseudoRandomGeneratorSeed(_: *mut c_void, _: u64) -> u32 {
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn curandSetGeneratorOffset(_: *mut c_void, _: u64) -> u32 {
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn curandDestroyGenerator(_: *mut c_void) -> u32 {
    SUCCESS
}
