// Sums of numbers that lie in a row.

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
