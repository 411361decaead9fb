use super::{HEAD, OWN_WORD, kernel, launch, refused, run};
use crate::memory::Memory;
use crate::ptx::Module;

/// `body` on one number, which it finds in `%r1` and leaves there.
fn on_one(body: &str, number: u32) -> u32 {
    run(&format!("{OWN_WORD} ld.global.u32 %r1, [%rd1]; {body} st.global.u32 [%rd1], %r1;"), &[number], 1).unwrap()[0]
}

#[test]
fn whole_numbers_wrap_shift_and_divide_as_on_a_gpu() {
    assert_eq!(on_one("add.s32 %r1, %r1, 1;", u32::MAX), 0);
    assert_eq!(on_one("mul.hi.u32 %r1, %r1, 3;", u32::MAX), 2);
    assert_eq!(on_one("mad.lo.s32 %r1, %r1, -3, 5;", 4), (-7_i32).cast_unsigned());
    assert_eq!(on_one("div.u32 %r1, %r1, 0;", 7), u32::MAX);
    assert_eq!(on_one("rem.s32 %r1, %r1, 4;", (-7_i32).cast_unsigned()), (-3_i32).cast_unsigned());
    assert_eq!(on_one("shl.b32 %r1, %r1, 32;", 1), 0);
    assert_eq!(on_one("shr.s32 %r1, %r1, 40;", 1 << 31), u32::MAX);
    assert_eq!(on_one("shr.u32 %r1, %r1, 31;", 1 << 31), 1);
    assert_eq!(on_one("clz.b32 %r1, %r1;", 1 << 4), 27);
    assert_eq!(on_one("brev.b32 %r1, %r1;", 1), 1 << 31);
    assert_eq!(on_one("prmt.b32 %r1, %r1, 0, 0x0123;", 0x1122_3344), 0x4433_2211);
    assert_eq!(on_one("{ .reg .b16 low, high; mov.b32 {low, high}, %r1; mov.b32 %r1, {high, low}; }", 7), 7 << 16);
}

/// `body` on one f32, in `%f1`.
fn on_float(body: &str, number: f32) -> f32 {
    let body = format!("mov.b32 %f1, %r1; {body} mov.b32 %r1, %f1;");
    f32::from_bits(on_one(&body, number.to_bits()))
}

#[test]
fn floating_numbers_round_as_the_opcode_says() {
    // 1 + 2^-24 lies half way to the next f32, and a little beyond it fused.
    let tiny = 2.0_f32.powi(-24);
    assert_eq!(on_float("add.rn.f32 %f1, %f1, 0f33800000;", 1.0), 1.0);
    assert_eq!(on_float("fma.rn.f32 %f1, %f1, %f1, 0f33800000;", 1.0 + 2.0 * tiny), 1.0 + 6.0 * tiny);
    assert_eq!(on_float("add.rz.f32 %f1, %f1, 0f33C00000;", 1.0), 1.0);
    assert_eq!(on_float("fma.rm.f32 %f1, %f1, 0f3F800000, 0fB3000000;", 1.0), 1.0_f32.next_down());
    assert_eq!(on_float("max.f32 %f1, %f1, 0f3F800000;", f32::NAN), 1.0);
    assert!(on_float("max.NaN.f32 %f1, %f1, 0f3F800000;", f32::NAN).is_nan());
    assert_eq!(on_float("cvt.rni.f32.f32 %f1, %f1;", 2.5), 2.0);
    assert_eq!(on_float("cvt.rpi.f32.f32 %f1, %f1;", 2.1), 3.0);
    assert_eq!(on_float("ex2.approx.ftz.f32 %f1, %f1;", 3.0), 8.0);
    assert_eq!(on_float("copysign.f32 %f1, %f1, 0f40000000;", -1.0), -2.0);
}

#[test]
fn conversions_stop_at_the_ends_of_a_kind() {
    assert_eq!(on_one("mov.b32 %f1, %r1; cvt.rzi.u32.f32 %r1, %f1;", (-1.5_f32).to_bits()), 0);
    assert_eq!(on_one("mov.b32 %f1, %r1; cvt.rzi.s32.f32 %r1, %f1;", 1e20_f32.to_bits()), i32::MAX.cast_unsigned());
    assert_eq!(on_one("mov.b32 %f1, %r1; cvt.rn.bf16.f32 %h1, %f1; cvt.u32.u16 %r1, %h1;", 0x3f80_8000), 0x3f80);
    assert_eq!(on_one("mov.b32 %f1, %r1; cvt.rn.bf16.f32 %h1, %f1; cvt.u32.u16 %r1, %h1;", 0x3f81_8000), 0x3f82);
    assert_eq!(on_one("mov.b32 %f1, %r1; cvt.rn.f16.f32 %h1, %f1; cvt.u32.u16 %r1, %h1;", 1e9_f32.to_bits()), 0x7c00);
    assert_eq!(on_one("cvt.u16.u32 %h1, %r1; cvt.s32.s16 %r1, %h1;", 0xffff), u32::MAX);
}

/// Both ways lead to a shuffle; the compiler may put the longer one behind it.
#[test]
fn lanes_that_parted_meet_again_at_a_shuffle() {
    let body = "setp.lt.u32 %p1, %r0, 16; mov.u32 %r1, 1; @%p1 bra $far;
        $meet: shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1; bra $end;
        $far: mov.u32 %r1, 2; bra $meet;
        $end: st.global.u32 [%rd1], %r2;";
    let words = run(&format!("{OWN_WORD} {body}"), &[0; 32], 32).unwrap();
    assert!(words[..16].iter().all(|word| *word == 1) && words[16..].iter().all(|word| *word == 2));
}

#[test]
fn lanes_that_wait_for_lanes_elsewhere_are_told() {
    let body = "setp.lt.u32 %p1, %r0, 16; @%p1 bra $other;
        shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1; ret;
        $other: shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;";
    assert!(refused(body, 32).contains("wait for each other"));
    assert!(
        refused("setp.lt.u32 %p1, %r0, 16; @%p1 shfl.sync.idx.b32 %r2, %r1, 16, 31, 0xffff;", 32)
            .contains("gives none")
    );
}

#[test]
fn shuffles_and_votes_are_those_of_the_manual() {
    let up = run(&format!("{OWN_WORD} shfl.sync.up.b32 %r1, %r0, 3, 0, -1; st.global.u32 [%rd1], %r1;"), &[0; 32], 32);
    assert_eq!(up.unwrap()[..6], [0, 1, 2, 0, 1, 2]);
    let down = format!(
        "{OWN_WORD} shfl.sync.down.b32 %r1|%p1, %r0, 30, 31, -1; selp.u32 %r2, 1, 0, %p1; mad.lo.u32 %r1, %r2, 100, %r1; st.global.u32 [%rd1], %r1;"
    );
    assert_eq!(run(&down, &[0; 32], 32).unwrap()[..4], [130, 131, 2, 3]);
    let vote =
        format!("{OWN_WORD} setp.gt.u32 %p1, %r0, 29; vote.sync.ballot.b32 %r1, %p1, -1; st.global.u32 [%rd1], %r1;");
    assert_eq!(run(&vote, &[0; 32], 32).unwrap()[7], 3 << 30);
}

/// Each thread writes a word of shared memory and reads that of the thread `away`.
fn passed_on(away: u32, between: &str) -> String {
    format!(
        ".shared .align 4 .b8 words[256]; {OWN_WORD} mov.u32 %r3, words; shl.b32 %r4, %r0, 2; add.s32 %r4, %r3, %r4;
        st.shared.u32 [%r4], %r0; {between}
        xor.b32 %r5, %r0, {away}; shl.b32 %r5, %r5, 2; add.s32 %r5, %r3, %r5; ld.shared.u32 %r6, [%r5];
        st.global.u32 [%rd1], %r6;"
    )
}

#[test]
fn shared_memory_without_a_barrier_between_is_told() {
    let words = run(&passed_on(32, "bar.sync 0;"), &[0; 64], 64).unwrap();
    assert_eq!(words[..2], [32, 33]);
    assert!(refused(&passed_on(32, ""), 64).contains("no barrier lies between"));
    // Lanes of a warp do not run in step either, unless they wait for each other.
    assert!(refused(&passed_on(1, ""), 64).contains("no barrier lies between"));
    assert_eq!(run(&passed_on(1, "bar.warp.sync -1;"), &[0; 64], 64).unwrap()[..2], [1, 0]);
    let overwritten = format!("{} st.shared.u32 [%r4], %r6;", passed_on(32, "bar.sync 0;"));
    assert!(refused(&overwritten, 64).contains("reads"));
}

#[test]
fn stray_accesses_are_told() {
    let beyond = refused("ld.global.u32 %r1, [%rd0+256];", 1);
    assert!(
        beyond.contains("test: block [0, 0, 0]") && beyond.contains("4 bytes at byte 256 of memory of 256 bytes"),
        "{beyond}"
    );
    assert!(refused("ld.global.u32 %r1, [%rd0+2];", 1).contains("no multiple"));
    assert!(refused("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0+8];", 1).contains("no multiple"));
    assert!(
        refused(".shared .align 4 .b8 few[8]; mov.u32 %r1, few; st.shared.u32 [%r1+8], %r0;", 1).contains("shared")
    );
    assert!(
        refused("{ .param .b64 param0; st.param.b64 [param0+0], %rd0; call.uni __assertfail, (param0); }", 1)
            .contains("assertion")
    );
}

#[test]
fn atomic_operations_of_all_blocks_add_up() {
    let mut memory = Memory::new();
    let address = memory.allocate(16).unwrap();
    // Safety: allocated above.
    unsafe { (address as *mut [u32; 4]).write([0; 4]) };
    let body = "atom.global.add.u32 %r1, [%rd0], 1; red.global.max.u32 [%rd0+4], %r0; mov.f32 %f1, 0f3F000000;
        atom.global.add.f32 %f2, [%rd0+8], %f1; atom.global.cas.b32 %r2, [%rd0+12], 0, 5;";
    launch(&kernel(body), &[address], 7, 96).run(&memory).unwrap();
    // Safety: allocated above.
    let words = unsafe { (address as *const [u32; 4]).read() };
    assert_eq!(words, [7 * 96, 95, (0.5 * 7.0 * 96.0_f32).to_bits(), 5]);
}

#[test]
fn parameters_lie_where_the_kernel_says() {
    let text = format!(
        "{HEAD}.visible .entry test(.param .u64 to, .param .u8 small, .param .align 8 .b8 both[12], .param .f32 last)
        {{ .reg .b64 %rd<2>; .reg .b32 %r<5>; ld.param.u64 %rd0, [to]; ld.param.u8 %r0, [small];
        ld.param.u32 %r1, [both]; ld.param.u32 %r2, [both+8]; ld.param.u32 %r3, [last];
        st.global.v4.u32 [%rd0], {{%r0, %r1, %r2, %r3}}; ret; }}"
    );
    let kernel = Module::read(text).unwrap().function("test").unwrap().unwrap();
    assert_eq!(kernel.parameters, [(0, 8), (8, 1), (16, 12), (28, 4)]);
    assert_eq!(kernel.parameter_bytes, 32);
}

#[test]
fn what_a_gpu_would_not_take_is_refused() {
    assert!(refused("", 1025).contains("1025 threads"));
    assert!(refused(".shared .align 4 .b8 much[50000];", 1).contains("shared memory"));
    let module = kernel("");
    let mut tall = launch(&module, &[0], 1, 1);
    tall.blocks = [1, 70_000, 1];
    assert!(tall.check().unwrap_err().0.contains("70000"));
    assert!(Module::read(HEAD.to_owned()).is_err());
    let unknown = format!("{HEAD}.visible .entry test()\n{{ wgmma.fence.sync.aligned; }}");
    let why = Module::read(unknown).unwrap().function("test").unwrap().unwrap_err().0;
    assert!(why.contains("line 5") && why.contains("wgmma"), "{why}");
}

#[test]
fn numbers_of_a_module_are_found_by_its_kernels() {
    let text = format!(
        "{HEAD}.global .align 4 .b8 table[8] = {{1, 0, 0, 0, 2, 1, 0, 0}};
.visible .entry test(.param .u64 to)\n{{ .reg .b64 %rd<3>; .reg .b32 %r<2>; ld.param.u64 %rd0, [to];
        mov.u64 %rd1, table; cvta.global.u64 %rd2, %rd1; ld.u32 %r0, [%rd2+4]; st.global.u32 [%rd0], %r0; ret; }}"
    );
    let mut memory = Memory::new();
    let address = memory.allocate(4).unwrap();
    launch(&Module::read(text).unwrap(), &[address], 1, 1).run(&memory).unwrap();
    // Safety: allocated above.
    assert_eq!(unsafe { (address as *const u32).read() }, 258);
}
