// Drawing tokens.

#pragma once

#include "vectors.cuh"

// Logits that one warp sums; a multiple of WARP.
#define TILE 1024
// A row of logits is long and there are few rows, so a block is as large as a block can be.
#define SAMPLE_THREADS 1024
// Pieces of logits that a thread asks for before it uses the first.
#define LOGITS_AHEAD 4
// Room for a vocabulary of 524,288.
#define MOST_TILES 512
#define NOT_FINITE 0xffffffffu

struct Sample {
    u64 ids;       // u32 (rows): the token drawn, which is fed next
    u64 tokens;    // u32 (rows, chunk)
    u64 logps;     // f32 (rows, chunk)
    u64 logits;    // f32 (rows, vocabulary)
    u64 uniforms;  // f64 (rows, chunk), each in 0..1
    u64 step;      // u32: place in the chunk
    u32 vocabulary;
    u32 chunk;
    float inverse_temperature;
    u32 padding;
};

// The largest of this thread's share of the logits, N at a time.
template <u32 N> __device__ __forceinline__ float largest_of(const float* logits, u32 count) {
    float top = -INFINITY;
    for (u32 first = threadIdx.x * N; first < count; first += LOGITS_AHEAD * blockDim.x * N) {
        float values[LOGITS_AHEAD][N];
#pragma unroll
        for (u32 j = 0; j < LOGITS_AHEAD; j++) {
            const u32 i = first + j * blockDim.x * N;
            if (i < count) load<N>(values[j], logits + i);
        }
#pragma unroll
        for (u32 j = 0; j < LOGITS_AHEAD; j++) {
            if (first + j * blockDim.x * N >= count) break;
#pragma unroll
            for (u32 k = 0; k < N; k++) top = fmaxf(top, values[j][k]);
        }
    }
    return top;
}

// Draws the first token whose cumulative weight exceeds the target, in the order of ids, from the unrestricted
// distribution, and its log-probability. NOT_FINITE if the logits are not finite. Grid: rows; SAMPLE_THREADS threads. Sums
// are of one warp each and a maximum has no order, so that the number of threads moves no bit.
__device__ void sample_row(Sample p) {
    __shared__ float shared[WARP];
    __shared__ float tiles[MOST_TILES];
    __shared__ u32 chosen_tile;
    __shared__ double target, whole;
    const u32 row = blockIdx.x, step = *reinterpret_cast<const u32*>(p.step), lane = threadIdx.x % WARP;
    const float* logits = reinterpret_cast<const float*>(p.logits) + (u64)row * p.vocabulary;
    const bool wide = aligned<float>(reinterpret_cast<u64>(logits), p.vocabulary);
    float top = wide ? largest_of<4>(logits, p.vocabulary) : largest_of<1>(logits, p.vocabulary);
    top = block_max(top, shared);
    const u32 count = (p.vocabulary + TILE - 1) / TILE;
    for (u32 tile = threadIdx.x / WARP; tile < count; tile += blockDim.x / WARP) {
        float sum = 0.0f;
        for (u32 i = tile * TILE + lane; i < min((tile + 1) * TILE, p.vocabulary); i += WARP)
            sum += expf((logits[i] - top) * p.inverse_temperature);
        sum = warp_sum(sum);
        if (lane == 0) tiles[tile] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        whole = 0.0;
        for (u32 tile = 0; tile < count; tile++) whole += tiles[tile];
        target = reinterpret_cast<const double*>(p.uniforms)[(u64)row * p.chunk + step] * whole;
        chosen_tile = 0;
        for (u32 tile = 0; tile < count; tile++) {
            if (tiles[tile] <= 0.0f) continue;
            chosen_tile = tile;
            if (target < tiles[tile]) break;
            target -= tiles[tile];
        }
    }
    __syncthreads();
    if (threadIdx.x >= WARP) return;
    u32 token = NOT_FINITE, last = NOT_FINITE;
    double before = 0.0;
    const u32 end = min((chosen_tile + 1) * TILE, p.vocabulary);
    float ahead[LOGITS_AHEAD];
    for (u32 base = chosen_tile * TILE, place = 0; base < end; base += WARP, place++) {
        const u32 i = base + lane;
        if (place % LOGITS_AHEAD == 0) {
#pragma unroll
            for (u32 j = 0; j < LOGITS_AHEAD; j++) ahead[j] = i + j * WARP < end ? logits[i + j * WARP] : 0.0f;
        }
        const float weight = i < end ? expf((ahead[0] - top) * p.inverse_temperature) : 0.0f;
#pragma unroll
        for (u32 j = 0; j + 1 < LOGITS_AHEAD; j++) ahead[j] = ahead[j + 1];
        double sum = weight;
        for (int offset = 1; offset < WARP; offset *= 2) {
            const double left = __shfl_up_sync(ALL_LANES, sum, offset);
            if (lane >= (u32)offset) sum += left;
        }
        const u32 positive = __ballot_sync(ALL_LANES, weight > 0.0f);
        const u32 passed = __ballot_sync(ALL_LANES, weight > 0.0f && before + sum > target);
        if (positive) last = base + (WARP - 1 - __clz(positive));
        if (passed) {
            token = base + __ffs(passed) - 1;
            break;
        }
        before += __shfl_sync(ALL_LANES, sum, WARP - 1);
    }
    // Rounding may leave the target after the last weight of the tile.
    if (token == NOT_FINITE) token = last;
    if (lane != 0) return;
    const bool finite = isfinite(whole) && whole >= 1.0 && token != NOT_FINITE;
    reinterpret_cast<u32*>(p.ids)[row] = finite ? token : 0;
    reinterpret_cast<u32*>(p.tokens)[(u64)row * p.chunk + step] = finite ? token : NOT_FINITE;
    reinterpret_cast<float*>(p.logps)[(u64)row * p.chunk + step] =
        finite ? (logits[token] - top) * p.inverse_temperature - (float)log(whole) : 0.0f;
}
