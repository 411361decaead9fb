//! How often each kernel was launched, for who asks with `GPU_EMULATOR_COUNTS=1`.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> c_int;
}

/// Launches of each kernel, and the time that the emulator took for them.
static COUNTS: Mutex<BTreeMap<String, (u64, Duration)>> = Mutex::new(BTreeMap::new());

fn asked() -> bool {
    static ASKED: OnceLock<bool> = OnceLock::new();
    *ASKED.get_or_init(|| {
        let asked = std::env::var("GPU_EMULATOR_COUNTS").is_ok_and(|value| value == "1");
        if asked {
            // Safety: the function lives as long as the program, and needs nothing of it.
            unsafe { atexit(tell) };
        }
        asked
    })
}

/// Notes a launch.
pub fn count(name: &str, time: Duration) {
    if !asked() {
        return;
    }
    let mut counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let (count, total) = counts.entry(name.to_owned()).or_default();
    *count += 1;
    *total += time;
}

extern "C" fn tell() {
    let counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut counts: Vec<_> = counts.iter().collect();
    counts.sort_by_key(|(_, (_, time))| std::cmp::Reverse(*time));
    let launches: u64 = counts.iter().map(|(_, (count, _))| count).sum();
    eprintln!("emulated GPU: {launches} launches\n{:>9}  {:>9}  kernel", "launches", "emulated");
    for (name, (count, time)) in counts {
        eprintln!("{count:>9}  {:>8.2}s  {name}", time.as_secs_f64());
    }
}
