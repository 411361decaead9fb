// Runs `kernels.cu` on the processor, one block after another: slow, but close enough to a GPU to reveal a wrong
// index, a missing barrier or a wrong sum.

#pragma once
#include <setjmp.h>
#include <ucontext.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#define __global__
#define __device__ static
#define __forceinline__ inline
#define __shared__ static

struct Index {
    unsigned x = 0, y = 0, z = 0;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
static Index threadIdx, blockIdx, blockDim, gridDim;

struct __nv_bfloat16 {
    uint16_t bits;
};
struct __half {
    _Float16 value;
};
static inline float __bfloat162float(__nv_bfloat16 x) { return std::bit_cast<float>((uint32_t)x.bits << 16); }
static inline __nv_bfloat16 __float2bfloat16(float x) {
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    if (std::isnan(x)) return {0x7fff};
    return {(uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};  // to nearest, ties to even
}
static inline float __half2float(__half x) { return (float)x.value; }
static inline __half __float2half(float x) { return {(_Float16)x}; }

static inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
static inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
static inline int __clz(unsigned x) { return std::countl_zero(x); }
static inline int __ffs(unsigned x) { return x ? std::countr_zero(x) + 1 : 0; }
using std::isfinite;

#define STACK_BYTES 65536

// The threads of a block are fibers of one thread of the machine: each runs until it waits for others. Later blocks run in
// the same fibers, because beginning a new one asks the system twice, which takes longer than what most threads do.
struct Fiber {
    ucontext_t begin;
    jmp_buf resume;
    std::unique_ptr<char[]> stack = std::make_unique<char[]>(STACK_BYTES);
    bool started = false, over = false;
};
static std::vector<std::unique_ptr<Fiber>> fibers;

struct Barrier {
    unsigned expected, arrived = 0, generation = 0;

    void open() {
        arrived = 0;
        generation++;
    }
};

struct Block {
    unsigned threads;
    Barrier all;
    std::vector<Barrier> warps;
    std::vector<double> lanes;
    jmp_buf caller;
    unsigned current = 0, running;
    std::function<void()> kernel;

    explicit Block(unsigned threads) : threads(threads), all{threads}, lanes(threads), running(threads) {
        for (unsigned done = 0; done < threads; done += 32)
            warps.push_back({threads - done < 32 ? threads - done : 32});
    }
};
static Block* block;
// Whether threads and blocks run in reverse order; no result may depend on their order.
static bool backwards = false;

static inline void fiber_begin();

// Continues with the fiber after the calling one, or with the caller if all have ended.
static inline void next_fiber() {
    if (block->running == 0) _longjmp(block->caller, 1);
    const unsigned count = block->threads, step = backwards ? count - 1 : 1;
    do {
        block->current = (block->current + step) % count;
    } while (fibers[block->current]->over);
    Fiber& fiber = *fibers[block->current];
    threadIdx = {block->current, 0, 0};
    if (fiber.started) _longjmp(fiber.resume, 1);
    fiber.started = true;
    setcontext(&fiber.begin);
}

static inline void wait_at(Barrier& barrier) {
    const unsigned generation = barrier.generation;
    if (++barrier.arrived == barrier.expected) {
        barrier.open();
        return;
    }
    while (barrier.generation == generation)
        if (_setjmp(fibers[block->current]->resume) == 0) next_fiber();
}

// Nobody waits for a thread that has left a kernel, as on a GPU.
static inline void leave(Barrier& barrier) {
    barrier.expected--;
    if (barrier.expected > 0 && barrier.arrived == barrier.expected) barrier.open();
}

// Never ends: after the kernel of one block it waits for that of another.
static inline void fiber_begin() {
    for (;;) {
        block->kernel();
        const unsigned thread = block->current;
        leave(block->warps[thread / 32]);
        leave(block->all);
        fibers[thread]->over = true;
        block->running--;
        if (_setjmp(fibers[thread]->resume) == 0) next_fiber();
    }
}

static inline void __syncthreads() { wait_at(block->all); }

// Every lane of the warp offers a number and reads that of another lane. A double holds every float and every u32.
static inline double exchange(double x, unsigned lane) {
    const unsigned warp = threadIdx.x / 32;
    block->lanes[threadIdx.x] = x;
    wait_at(block->warps[warp]);
    const unsigned from = warp * 32 + lane;
    const double other = block->lanes[from < block->lanes.size() ? from : threadIdx.x];
    wait_at(block->warps[warp]);
    return other;
}
template <typename T> static inline T __shfl_xor_sync(unsigned, T x, int mask) {
    return (T)exchange(x, (threadIdx.x % 32) ^ mask);
}
template <typename T> static inline T __shfl_up_sync(unsigned, T x, int offset) {
    const int lane = threadIdx.x % 32;
    return (T)exchange(x, lane >= offset ? lane - offset : lane);
}
template <typename T> static inline T __shfl_sync(unsigned, T x, int lane) { return (T)exchange(x, lane); }
static inline unsigned __ballot_sync(unsigned, bool mine) {
    const unsigned warp = threadIdx.x / 32;
    unsigned votes = 0;
    block->lanes[threadIdx.x] = mine;
    wait_at(block->warps[warp]);
    for (unsigned lane = 0; lane < 32 && warp * 32 + lane < block->lanes.size(); lane++)
        votes |= (unsigned)(block->lanes[warp * 32 + lane] != 0) << lane;
    wait_at(block->warps[warp]);
    return votes;
}

static inline void begin_fiber() {
    auto fiber = std::make_unique<Fiber>();
    getcontext(&fiber->begin);
    fiber->begin.uc_stack.ss_sp = fiber->stack.get();
    fiber->begin.uc_stack.ss_size = STACK_BYTES;
    fiber->begin.uc_link = nullptr;
    makecontext(&fiber->begin, fiber_begin, 0);
    fibers.push_back(std::move(fiber));
}

static inline void run_block(unsigned threads, const std::function<void()>& kernel) {
    while (fibers.size() < threads) begin_fiber();
    for (unsigned thread = 0; thread < threads; thread++) fibers[thread]->over = false;
    Block now(threads);
    now.kernel = kernel;
    now.current = backwards ? 0 : threads - 1;
    block = &now;
    if (_setjmp(now.caller) == 0) next_fiber();
}

// Runs one kernel.
template <typename Kernel> static void launch(const unsigned grid[3], unsigned threads, Kernel kernel) {
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {threads, 1, 1};
    const uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    for (uint64_t count = 0; count < blocks; count++) {
        const uint64_t number = backwards ? blocks - 1 - count : count, row = number / grid[0];
        blockIdx = {(unsigned)(number % grid[0]), (unsigned)(row % grid[1]), (unsigned)(row / grid[1])};
        run_block(threads, kernel);
    }
}
