// Sums of numbers that lie in a row, and of rows.

#pragma once

#include "vectors.cuh"

struct Add {
    u64 sum;   // T (count)
    u64 term;  // T (count)
    u64 count;
};

// sum += term. Grid: all numbers, eight a thread.
template <typename T> __device__ void add(Add p) {
    const u64 first = 8 * ((u64)blockIdx.x * blockDim.x + threadIdx.x);
    T* sum = reinterpret_cast<T*>(p.sum) + first;
    const T* term = reinterpret_cast<const T*>(p.term) + first;
    if (first + 8 <= p.count && (p.sum | p.term) % 16 == 0) {
        Eight<T> here, there;
        read8(here, sum);
        read8(there, term);
        float left[8], right[8];
        widen8(left, here);
        widen8(right, there);
#pragma unroll
        for (u32 j = 0; j < 8; j++) left[j] += right[j];
        store<8>(sum, left);
    } else {
#pragma unroll
        for (u32 j = 0; j < 8; j++)
            if (first + j < p.count) narrow(sum + j, widen(sum[j]) + widen(term[j]));
    }
}

struct AddRows {
    u64 sums;  // f32 (ids, width)
    u64 rows;  // T (count, width)
    u64 ids;   // u32 (count): to which row of the sums each is added
    u32 count;
    u32 width;
};

// Ids that a lane asks for before it adds the first row.
#define IDS_AHEAD 4

// sums[ids[i]] += rows[i], for one i after the other, as if one thread did it, since rows of one id are added by one
// thread: each block looks at all ids and serves those that are its own. Grid: blocks that share the ids, blocks of THREADS
// columns.
template <typename T> __device__ void add_rows(AddRows p) {
    const u32 column = blockIdx.y * blockDim.x + threadIdx.x, lane = threadIdx.x % WARP;
    const u32* ids = reinterpret_cast<const u32*>(p.ids);
    const T* rows = reinterpret_cast<const T*>(p.rows) + column;
    float* sums = reinterpret_cast<float*>(p.sums) + column;
    for (u32 first = 0; first < p.count; first += IDS_AHEAD * WARP) {
        u32 held[IDS_AHEAD];
#pragma unroll
        for (u32 j = 0; j < IDS_AHEAD; j++) {
            const u32 i = first + j * WARP + lane;
            held[j] = i < p.count ? ids[i] : 0;
        }
#pragma unroll
        for (u32 j = 0; j < IDS_AHEAD; j++) {
            const u32 begin = first + j * WARP;
            const bool own = begin + lane < p.count && held[j] % gridDim.x == blockIdx.x;
            for (u32 found = __ballot_sync(ALL_LANES, own); found; found &= found - 1) {
                const u32 of = __ffs(found) - 1;
                const u64 id = __shfl_sync(ALL_LANES, held[j], of);
                if (column < p.width) sums[id * p.width] += widen(rows[(u64)(begin + of) * p.width]);
            }
        }
    }
}
