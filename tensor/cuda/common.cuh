// Shared by all kernels: number formats, and sums over warps and blocks.

#pragma once

#ifdef ON_PROCESSOR
#include "emulation.h"
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>
#endif

#define WARP 32
#define ALL_LANES 0xffffffffu
// Threads per block, for every kernel that does not say otherwise.
#define THREADS 256

typedef uint32_t u32;
typedef uint64_t u64;

__device__ __forceinline__ float widen(float x) { return x; }
__device__ __forceinline__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ __forceinline__ float widen(__half x) { return __half2float(x); }
__device__ __forceinline__ void narrow(float* out, float x) { *out = x; }
__device__ __forceinline__ void narrow(__nv_bfloat16* out, float x) { *out = __float2bfloat16(x); }
__device__ __forceinline__ void narrow(__half* out, float x) { *out = __float2half(x); }

// Eight consecutive elements as they lie in memory, so that those of 16 bits take half the registers until they are used.
template <typename T> struct Eight {
    uint4 bits[sizeof(T) / 2];
};

// `from` is aligned to 16 bytes.
template <typename T> __device__ __forceinline__ void read8(Eight<T>& out, const T* from) {
#pragma unroll
    for (u32 i = 0; i < sizeof(T) / 2; i++) out.bits[i] = reinterpret_cast<const uint4*>(from)[i];
}

template <typename T> __device__ __forceinline__ void widen8(float (&out)[8], const Eight<T>& eight) {
#pragma unroll
    for (int i = 0; i < 8; i++) out[i] = widen(reinterpret_cast<const T*>(eight.bits)[i]);
}

__device__ __forceinline__ float warp_sum(float x) {
    for (int offset = WARP / 2; offset > 0; offset /= 2) x += __shfl_xor_sync(ALL_LANES, x, offset);
    return x;
}

__device__ __forceinline__ float warp_max(float x) {
    for (int offset = WARP / 2; offset > 0; offset /= 2) x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, offset));
    return x;
}

// Sum over a block of at most 32 warps. `shared` has room for 32 numbers; all threads get the result.
__device__ __forceinline__ float block_sum(float x, float* shared) {
    x = warp_sum(x);
    __syncthreads();
    if (threadIdx.x % WARP == 0) shared[threadIdx.x / WARP] = x;
    __syncthreads();
    float sum = 0.0f;
    for (u32 warp = 0; warp < blockDim.x / WARP; warp++) sum += shared[warp];
    return sum;
}

__device__ __forceinline__ float block_max(float x, float* shared) {
    x = warp_max(x);
    __syncthreads();
    if (threadIdx.x % WARP == 0) shared[threadIdx.x / WARP] = x;
    __syncthreads();
    float top = shared[0];
    for (u32 warp = 1; warp < blockDim.x / WARP; warp++) top = fmaxf(top, shared[warp]);
    return top;
}
