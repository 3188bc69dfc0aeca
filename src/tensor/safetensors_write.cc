// The header, then the tensors in their order.
#include <algorithm>
#include <fstream>

#include "base/check.h"
#include "base/json.h"
#include "tensor/safetensors.h"
#include "tensor/safetensors_names.h"

namespace kw::tensor {
namespace {

constexpr std::uint64_t kPieceBytes = std::uint64_t{16} << 20U;

std::uint64_t bytes_of(const TensorView& one) {
  std::uint64_t bytes = size_of(one.dtype);
  for (std::int64_t size : one.shape) bytes *= static_cast<std::uint64_t>(size);
  return bytes;
}

}  // namespace

Status write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                         const std::function<void()>& between) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  std::uint64_t offset = 0;
  for (const TensorView& one : tensors) {
    KW_CHECK(one.dtype != DType::kFloat4E2M1);
    const std::uint64_t end = offset + bytes_of(one);
    header[one.name] = {{"dtype", std::string(kSafetensorsNames.name(one.dtype))},
                        {"shape", one.shape},
                        {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // data begin at a multiple of 8
  const std::uint64_t length = text.size();
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  for (const TensorView& one : tensors) {
    const std::uint64_t bytes = bytes_of(one);
    for (std::uint64_t begin = 0; begin < bytes; begin += kPieceBytes) {
      file.write(static_cast<const char*>(one.data) + begin,
                 static_cast<std::streamsize>(std::min(kPieceBytes, bytes - begin)));
      if (between) between();
    }
  }
  file.flush();
  if (!file)
    return fail(ErrorCode::kResourceExhausted, "cannot write {}: is the disk full?", path.string());
  return {};
}

}  // namespace kw::tensor
