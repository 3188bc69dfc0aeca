// Safetensors files: 8 bytes of header length, a JSON header {name: {dtype, shape, data_offsets}},
// data. Single tensors are read, and whole files are written.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace kw::tensor {

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  std::uint64_t offset = 0;  // from the start of the file
  std::uint64_t bytes = 0;
};

struct StoredTensor {
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;  // contiguous, little endian
};

// The whole header, checked: at most 64 MiB and 100000 tensors, known dtypes, sizes that agree with
// shapes, metadata of strings, tensors that cover the data without overlaps, gaps or trailing
// bytes. kNotFound or kInvalidArgument names the file and the tensor.
Result<std::vector<SafetensorsEntry>> safetensors_entries(const std::filesystem::path& path);
// kNotFound for an unknown name, with the nearest one; kResourceExhausted over max_bytes.
Result<StoredTensor> read_safetensor(const std::filesystem::path& path, const std::string& name,
                                     std::uint64_t max_bytes);

// A tensor to write: contiguous, little endian, borrowed.
struct TensorView {
  std::string name;
  DType dtype = DType::kFloat32;  // not float4_e2m1
  std::vector<std::int64_t> shape;
  const void* data = nullptr;
};
// One file, one tensor after the other; what was there is overwritten. between: called after each
// 16 MiB, or empty. kResourceExhausted where it cannot be written.
Status write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                         const std::function<void()>& between = {});

}  // namespace kw::tensor
