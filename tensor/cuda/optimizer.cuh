// One update by AdamW.

#pragma once

#include "common.cuh"

// Consecutive numbers of one variable, all f32.
struct Piece {
    u64 value;
    u64 gradient;
    u64 mean;    // of gradients, decaying
    u64 square;  // of squared gradients, decaying
    u32 count;
    float keep;  // what weight decay leaves of the value
};

// Numbers that a thread asks for before it uses the first.
#define SQUARES_AHEAD 4

struct SquareSums {
    u64 sums;    // f64 (pieces)
    u64 pieces;  // Piece (pieces)
};

// Sum of squares of each piece's gradient. Grid: pieces; THREADS threads.
extern "C" __global__ void square_sums(SquareSums p) {
    __shared__ double shared[THREADS];
    const Piece piece = reinterpret_cast<const Piece*>(p.pieces)[blockIdx.x];
    const float* gradient = reinterpret_cast<const float*>(piece.gradient);
    double sum = 0.0;
    for (u32 first = threadIdx.x; first < piece.count; first += SQUARES_AHEAD * THREADS) {
        float values[SQUARES_AHEAD];
#pragma unroll
        for (u32 j = 0; j < SQUARES_AHEAD; j++)
            values[j] = first + j * THREADS < piece.count ? gradient[first + j * THREADS] : 0.0f;
#pragma unroll
        for (u32 j = 0; j < SQUARES_AHEAD; j++) sum += (double)values[j] * values[j];
    }
    shared[threadIdx.x] = sum;
    for (u32 half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    if (threadIdx.x == 0) reinterpret_cast<double*>(p.sums)[blockIdx.x] = shared[0];
}

struct AdamW {
    u64 pieces;  // Piece (pieces)
    float scale;  // of gradients
    float beta1;
    float beta2;
    float rate;          // learning rate / (1 - beta1^t)
    float inverse_root;  // 1 / sqrt(1 - beta2^t)
    float epsilon;
};

// One update of all variables (Loshchilov and Hutter 2019, algorithm 2). Grid: pieces; THREADS threads.
extern "C" __global__ void adamw(AdamW p) {
    const Piece piece = reinterpret_cast<const Piece*>(p.pieces)[blockIdx.x];
    float* value = reinterpret_cast<float*>(piece.value);
    float* mean = reinterpret_cast<float*>(piece.mean);
    float* square = reinterpret_cast<float*>(piece.square);
    const float* gradient = reinterpret_cast<const float*>(piece.gradient);
    for (u32 i = threadIdx.x; i < piece.count; i += blockDim.x) {
        const float g = gradient[i] * p.scale;
        const float m = p.beta1 * mean[i] + (1.0f - p.beta1) * g;
        const float v = p.beta2 * square[i] + (1.0f - p.beta2) * g * g;
        mean[i] = m;
        square[i] = v;
        value[i] = piece.keep * value[i] - p.rate * m / (sqrtf(v) * p.inverse_root + p.epsilon);
    }
}
