// Splits the factors of low-rank terms into two numbers of the layers' type: the rounded value and the rounding
// error. The product of two such sums, without the product of the two errors, is as near to the f32 product as the
// bits of three products allow, and runs at the rate of the narrow type.

#pragma once

#include "vectors.cuh"

struct SplitFactors {
    u64 out;   // T
    u64 in;    // f32
    u64 tail;  // f32 (rows), or 0
    u64 out_row;  // numbers from row to row
    u64 in_row;
    u64 in_rest;   // to what is added to a number before it is split; 0: nothing
    u64 out_low;   // from a number to what is left of it
    u64 out_again;  // from a number to its copy
    u64 out_tail;   // from a block's start to two more columns: the tail, split, or two ones; 0: none
    u32 width;      // numbers of a block
    u32 blocks;     // of a row
    u32 in_block;   // numbers from block to block
    u32 out_block;
    float scale;
    u32 zeros;  // columns after a block's three parts and its tail that are filled with zeros
};

template <typename T> __device__ __forceinline__ void split(T* high, T* low, float x) {
    narrow(high, x);
    narrow(low, x - widen(*high));
}

// Grid: rows; any number of threads.
template <typename T> __device__ void split_factors(SplitFactors p) {
    const float* in = reinterpret_cast<const float*>(p.in) + blockIdx.x * p.in_row;
    T* out = reinterpret_cast<T*>(p.out) + blockIdx.x * p.out_row;
    for (u32 index = threadIdx.x; index < p.width * p.blocks; index += blockDim.x) {
        const u32 block = index / p.width, i = index % p.width;
        const float* from = in + (u64)block * p.in_block + i;
        T* to = out + (u64)block * p.out_block + i;
        const float x = p.in_rest ? *from + from[p.in_rest] : *from;
        T high;
        split(&high, to + p.out_low, p.scale * x);
        *to = high;
        to[p.out_again] = high;
    }
    const u64 filled = p.out_tail ? p.out_tail + 2 : 3 * p.width;
    for (u32 index = threadIdx.x; index < p.zeros * p.blocks; index += blockDim.x)
        narrow(out + (u64)(index / p.zeros) * p.out_block + filled + index % p.zeros, 0.0f);
    if (p.out_tail == 0) return;
    for (u32 block = threadIdx.x; block < p.blocks; block += blockDim.x) {
        T* tail = out + (u64)block * p.out_block + p.out_tail;
        if (p.tail) {
            split(tail, tail + 1, reinterpret_cast<const float*>(p.tail)[blockIdx.x]);
        } else {
            narrow(tail, 1.0f);
            narrow(tail + 1, 1.0f);
        }
    }
}
