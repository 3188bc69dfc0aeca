// TensorMap: how the GPU's copy engine sees a matrix in device memory. A parameter of kernels.
#pragma once
#include <cstdint>

#include "base/result.h"
#include "cuda/driver_api.h"

namespace kw::cuda {

// CUtensorMap.
struct alignas(128) TensorMap {
  std::uint64_t opaque[16] = {};
};

// A bfloat16 matrix [rows, columns], copied in boxes of box_rows by 64 columns whose 16-byte pieces
// lie in shared memory as the 128-byte swizzle has it. columns: a multiple of 8; box_rows: up to
// 256.
Result<TensorMap> map_of_boxes(DevicePointer matrix, std::int64_t rows, std::int64_t columns,
                               int box_rows);

}  // namespace kw::cuda
