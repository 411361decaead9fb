//! Stubs for candle's products of quantised weights, which this program never calls: it converts such weights to plain
//! numbers when it loads them. Without the stubs candle's own functions would be linked, which are machine code for
//! one kind of GPU.

include!(concat!(env!("OUT_DIR"), "/quantized.rs"));

fn absent(name: &str) {
    panic!("{name}: products of quantised weights are not part of this program");
}
