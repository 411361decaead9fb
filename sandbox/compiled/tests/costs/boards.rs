//! Boards of 2048 by chance that is the same everywhere.

/// So many boards of powers of two, as arguments.
pub fn boards(mut state: u64, count: usize) -> Vec<String> {
    let mut tile = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let exponent = (state >> 33) % 9;
        if exponent < 3 { 0 } else { 1u32 << (exponent - 2) }
    };
    let mut row = || (0..4).map(|_| tile().to_string()).collect::<Vec<_>>().join(", ");
    (0..count).map(|_| format!("[[[{}], [{}], [{}], [{}]]]", row(), row(), row(), row())).collect()
}
