use std::sync::Arc;

use super::{OWN_WORD, kernel, launch};
use crate::blas::Product;
use crate::queue::{Queues, Work};

const STREAM: u64 = 7;

fn fresh() -> (Queues, u64) {
    let mut queues = Queues::new();
    let address = queues.memory.allocate(64).unwrap();
    queues.ask(STREAM, Work::Fill { to: address, bytes: 64, with: 0 }).unwrap();
    (queues, address)
}

/// Adds one to each of sixteen words.
fn one_more(address: u64) -> Work {
    let body = format!("{OWN_WORD} ld.global.u32 %r1, [%rd1]; add.s32 %r1, %r1, 1; st.global.u32 [%rd1], %r1;");
    Work::Launch(Arc::new(launch(&kernel(&body), &[address], 1, 16)))
}

fn first(address: u64) -> u32 {
    // Safety: tests keep what they look at.
    unsafe { (address as *const u32).read() }
}

#[test]
fn work_is_done_when_somebody_waits_for_it() {
    let (mut queues, address) = fresh();
    queues.new_event(1);
    queues.ask(STREAM, one_more(address)).unwrap();
    queues.record_event(1, STREAM).unwrap();
    queues.ask(STREAM, one_more(address)).unwrap();
    assert_eq!(first(address), u32::MAX, "fresh memory holds no number");
    assert!(!queues.event_is_done(1).unwrap());
    queues.finish_event(1).unwrap();
    assert!(queues.event_is_done(1).unwrap());
    assert_eq!(first(address), 1, "what was asked for after the event has not been done");
    queues.finish(STREAM).unwrap();
    assert_eq!(first(address), 2);
    // An event that nobody has recorded is waited for by nobody.
    queues.new_event(2);
    queues.ask(STREAM, one_more(address)).unwrap();
    queues.finish_event(2).unwrap();
    assert_eq!(first(address), 2);
}

#[test]
fn who_asks_for_an_event_again_and_again_gets_on_unless_the_stream_hangs() {
    let (mut queues, address) = fresh();
    queues.new_event(1);
    queues.ask(STREAM, one_more(address)).unwrap();
    let asked = |queues: &mut Queues| {
        queues.record_event(1, STREAM).unwrap();
        (0..9).find(|_| queues.event_is_done(1).unwrap())
    };
    assert_eq!((asked(&mut queues), first(address)), (Some(3), 1), "zeros, one more, the event");
    queues.hangs = true;
    assert_eq!(asked(&mut queues), None);
}

#[test]
fn streams_wait_for_events_of_others_alone() {
    let (mut queues, address) = fresh();
    queues.finish(STREAM).unwrap();
    queues.new_event(1);
    queues.ask(STREAM, one_more(address)).unwrap();
    queues.record_event(1, STREAM).unwrap();
    queues.ask(8, Work::Copy { to: address + 4, from: address, bytes: 4 }).unwrap();
    queues.await_event(1, 8).unwrap();
    queues.ask(8, Work::Copy { to: address + 8, from: address, bytes: 4 }).unwrap();
    queues.finish(8).unwrap();
    // The thread's words are counted too.
    assert_eq!((first(address), first(address + 4), first(address + 8)), (1, 1, 1));
    assert_eq!(first(address + 12), 1);
}

#[test]
fn a_graph_holds_kernels_and_copies_and_runs_as_often_as_it_is_asked() {
    let (mut queues, address) = fresh();
    queues.begin_recording(STREAM).unwrap();
    assert!(queues.begin_recording(STREAM).is_err());
    queues.ask(STREAM, one_more(address)).unwrap();
    assert!(queues.ask(STREAM, Work::Read { to: 0, from: address, bytes: 4 }).is_err());
    assert!(queues.ask(STREAM, Work::Free { address }).is_err());
    let recorded = queues.end_recording(STREAM).unwrap();
    queues.finish(STREAM).unwrap();
    assert_eq!(first(address), 0, "what is recorded is not done");
    for _ in 0..3 {
        queues.ask(STREAM, Work::Graph(recorded.clone().into())).unwrap();
    }
    queues.finish(STREAM).unwrap();
    assert_eq!(first(address), 3);
}

#[test]
fn memory_is_there_until_it_is_given_back() {
    let (mut queues, address) = fresh();
    let before = queues.memory.available();
    queues.ask(STREAM, one_more(address)).unwrap();
    queues.memory.release(address).unwrap();
    queues.ask(STREAM, Work::Free { address }).unwrap();
    assert_eq!(queues.memory.available(), before + 64, "there is room for what comes after");
    queues.finish(STREAM).unwrap();
    queues.ask(STREAM, one_more(address)).unwrap();
    assert!(queues.finish(STREAM).unwrap_err().0.contains("no memory"));
    assert!(queues.memory.allocate(1 << 60).is_none());
    assert!(queues.memory.release(address).is_err());
}

/// `[1 2; 3 4] [5 6; 7 8] = [19 22; 43 50]`, by columns, and what was there.
#[test]
fn products_are_those_of_columns() {
    let (mut queues, address) = fresh();
    queues.finish(STREAM).unwrap();
    let numbers: [f32; 12] = [1.0, 3.0, 2.0, 4.0, 5.0, 7.0, 6.0, 8.0, 100.0, 100.0, 100.0, 100.0];
    // Safety: 48 bytes of 64.
    unsafe { (address as *mut [f32; 12]).write(numbers) };
    let product = |transposed, beta| Product::of_squares(2, [address, address + 16, address + 32], transposed, beta);
    queues.ask(STREAM, Work::Product(product(false, 1.0))).unwrap();
    queues.finish(STREAM).unwrap();
    // Safety: as above.
    assert_eq!(unsafe { (address as *const [f32; 12]).read() }[8..], [119.0, 143.0, 122.0, 150.0]);
    queues.ask(STREAM, Work::Product(product(true, 0.0))).unwrap();
    queues.finish(STREAM).unwrap();
    // [1 3; 2 4] [5 6; 7 8] = [26 30; 38 44].
    // Safety: as above.
    assert_eq!(unsafe { (address as *const [f32; 12]).read() }[8..], [26.0, 38.0, 30.0, 44.0]);
}

/// 1 + 2^-11 is as near to 1 as to 1 + 2^-10, and the former is even.
#[test]
fn tf32_leaves_eleven_bits_of_a_factor() {
    let (mut queues, address) = fresh();
    queues.finish(STREAM).unwrap();
    let exact = |bits: i32| 1.0 + 2.0_f32.powi(-bits);
    // Safety: 12 bytes of 64.
    unsafe { (address as *mut [f32; 3]).write([exact(11), exact(10), 0.0]) };
    let product = Product::of_squares(1, [address, address + 4, address + 8], false, 0.0);
    let result = |queues: &mut Queues, product: Product| {
        queues.ask(STREAM, Work::Product(product)).unwrap();
        queues.finish(STREAM).unwrap();
        // Safety: as above.
        unsafe { ((address + 8) as *const f32).read() }
    };
    assert_eq!(result(&mut queues, product.clone()), exact(11) * exact(10));
    assert_eq!(result(&mut queues, product.rounded()), exact(10));
}

#[test]
fn pinned_memory_is_kept_until_its_copies_are_over_and_read_at_the_pace_of_memory() {
    let (mut queues, address) = fresh();
    let host = [0_u32; 16];
    let to = host.as_ptr() as u64;
    queues.pin(to, 64, false);
    queues.ask_to_read(STREAM, to, address, 64).unwrap();
    assert!(queues.unpin(to).unwrap_err().0.contains("under way"));
    queues.finish(STREAM).unwrap();
    queues.pin(to, 64, false);
    assert_eq!(queues.unpin(to).unwrap(), 64);
    queues.pin(to, 64, true);
    assert!(queues.ask_to_read(STREAM, to, address, 64).unwrap_err().0.contains("write-combined"));
}
