#include "cuda/tensor_map.h"

namespace kw::cuda {

Result<TensorMap> map_of_boxes(DevicePointer matrix, std::int64_t rows, std::int64_t columns,
                               int box_rows) {
  // Of cuda.h's enumerations.
  constexpr int kBFloat16 = 9, kNotInterleaved = 0, kSwizzle128 = 3, kPromoteTo256 = 3, kZeros = 0;
  constexpr unsigned kBoxColumns = 64;
  const std::uint64_t sizes[] = {static_cast<std::uint64_t>(columns),
                                 static_cast<std::uint64_t>(rows)};
  const std::uint64_t row_bytes[] = {sizes[0] * 2};
  const unsigned box[] = {kBoxColumns, static_cast<unsigned>(box_rows)};
  const unsigned strides[] = {1, 1};
  TensorMap out;
  KW_TRY_STATUS(driver_status(
      driver().tensor_map_encode(&out, kBFloat16, 2, matrix, sizes, row_bytes, box, strides,
                                 kNotInterleaved, kSwizzle128, kPromoteTo256, kZeros),
      fmt::format("no boxes of {} rows of a matrix [{}, {}]", box_rows, rows, columns)));
  return out;
}

}  // namespace kw::cuda
