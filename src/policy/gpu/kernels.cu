// Kernels of the program's own. Compiled to PTX by build.rs.

#include <cstddef>

/// Adds `bias`, of `columns` numbers, to each of the `rows` rows of `matrix`, in place.
extern "C" __global__ void add_rows(float *matrix, const float *bias, const size_t rows, const size_t columns)
{
    const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
    const size_t first = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (size_t index = first; index < rows * columns; index += stride) {
        matrix[index] += bias[index % columns];
    }
}
