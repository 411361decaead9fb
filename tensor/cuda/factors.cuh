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
    u64 rows;
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

// A thread for each number, each tail and each zero of a row, because a block a row would mostly wait. Grid: as many.
template <typename T> __device__ void split_factors(SplitFactors p) {
    const u32 columns = p.width + (p.out_tail ? 1 : 0) + p.zeros, of_row = p.blocks * columns;
    const u64 place = (u64)blockIdx.x * blockDim.x + threadIdx.x, row = place / of_row;
    if (row >= p.rows) return;
    const u32 block = place % of_row / columns, i = place % of_row % columns;
    T* out = reinterpret_cast<T*>(p.out) + row * p.out_row + (u64)block * p.out_block;
    if (i < p.width) {
        const float* from = reinterpret_cast<const float*>(p.in) + row * p.in_row + (u64)block * p.in_block + i;
        const float x = p.in_rest ? *from + from[p.in_rest] : *from;
        T high;
        split(&high, out + p.out_low + i, p.scale * x);
        out[i] = high;
        out[p.out_again + i] = high;
    } else if (p.out_tail && i == p.width) {
        T* tail = out + p.out_tail;
        if (p.tail) {
            split(tail, tail + 1, reinterpret_cast<const float*>(p.tail)[row]);
        } else {
            narrow(tail, 1.0f);
            narrow(tail + 1, 1.0f);
        }
    } else {
        // Three parts, and two numbers of a tail in the place of one thread.
        narrow(out + 2 * p.width + i + (p.out_tail ? 1 : 0), 0.0f);
    }
}
