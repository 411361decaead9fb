//! Products of quantised weights, which this program leaves out: it makes plain numbers of such weights when it loads
//! them. Without these functions the tensor library's own would be linked, machine code for one kind of GPU.

include!(concat!(env!("OUT_DIR"), "/quantized.rs"));

fn absent(name: &str) {
    panic!("{name}: products of quantised weights are not part of this program");
}
