// Reads and writes rows 16 bytes at a time if they are aligned to 16 bytes, and number by number otherwise.

#pragma once

#include "common.cuh"

// Warps in a block of THREADS threads; kernels that use one warp per row serve as many rows.
#define WARPS (THREADS / WARP)

// Numbers of this type in 16 bytes.
template <typename T> struct Wide {
    static constexpr u32 COUNT = 16 / sizeof(T);
};

// N consecutive numbers: one, or a multiple of 16 bytes, aligned to 16 bytes.
template <u32 N, typename T> __device__ __forceinline__ void load(float (&out)[N], const T* from) {
    if constexpr (N == 1) {
        out[0] = widen(*from);
    } else {
#pragma unroll
        for (u32 first = 0; first < N; first += Wide<T>::COUNT) {
            const uint4 bits = *reinterpret_cast<const uint4*>(from + first);
            const T* values = reinterpret_cast<const T*>(&bits);
#pragma unroll
            for (u32 i = 0; i < Wide<T>::COUNT; i++) out[first + i] = widen(values[i]);
        }
    }
}

template <u32 N, typename T> __device__ __forceinline__ void store(T* to, const float (&values)[N]) {
    if constexpr (N == 1) {
        narrow(to, values[0]);
    } else {
#pragma unroll
        for (u32 first = 0; first < N; first += Wide<T>::COUNT) {
            uint4 bits;
            T* narrowed = reinterpret_cast<T*>(&bits);
#pragma unroll
            for (u32 i = 0; i < Wide<T>::COUNT; i++) narrow(&narrowed[i], values[first + i]);
            *reinterpret_cast<uint4*>(to + first) = bits;
        }
    }
}

// Words that a thread asks for before it writes the first.
#define WORDS_AHEAD 4

template <typename W> __device__ __forceinline__ void copy_words(W* to, const W* from, u64 count) {
    for (u64 first = threadIdx.x; first < count; first += WORDS_AHEAD * blockDim.x) {
        W held[WORDS_AHEAD];
#pragma unroll
        for (u32 j = 0; j < WORDS_AHEAD; j++)
            if (first + j * blockDim.x < count) held[j] = from[first + j * blockDim.x];
#pragma unroll
        for (u32 j = 0; j < WORDS_AHEAD; j++)
            if (first + j * blockDim.x < count) to[first + j * blockDim.x] = held[j];
    }
}

// Whether rows of this width at these addresses (0 if there is none) can be read N numbers at a time.
template <typename T> __device__ __forceinline__ bool aligned(u64 addresses, u64 width) {
    return addresses % 16 == 0 && width % Wide<T>::COUNT == 0;
}

// Copies consecutive numbers by all threads of the block; `to` and `from` do not overlap.
template <typename T> __device__ __forceinline__ void copy_numbers(T* to, const T* from, u64 count) {
    if (aligned<T>(reinterpret_cast<u64>(to) | reinterpret_cast<u64>(from), count)) {
        const u64 words = count / Wide<T>::COUNT;
        copy_words(reinterpret_cast<uint4*>(to), reinterpret_cast<const uint4*>(from), words);
    } else {
        copy_words(to, from, count);
    }
}

// The row of this warp.
__device__ __forceinline__ u64 warp_row() { return (u64)blockIdx.x * WARPS + threadIdx.x / WARP; }
