// Range checks in 128-bit arithmetic, and gathering by runs of the innermost dimension.
#include "gym/correctness/returned.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"

namespace kw::gym {
namespace {

__extension__ using Wide = __int128;

ReturnedCheck forged(std::string message) {
  return {task::Outcome::kViolation, "forged_report: " + std::move(message)};
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// Sorted by stride, each dimension must step over everything that the smaller ones reach. Enough
// for views that torch makes by slicing, transposing and reshaping; interleaved strides that happen
// not to collide are refused too.
bool shares_memory(const OutputReport& report) {
  std::vector<std::uint32_t> order(report.rank);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t d) { return report.stride[d]; });
  Wide reach = 0;  // largest offset of the dimensions so far
  for (std::uint32_t d : order) {
    if (report.shape[d] == 1) continue;
    if (static_cast<Wide>(report.stride[d]) <= reach) return true;
    reach += static_cast<Wide>(report.shape[d] - 1) * report.stride[d];
  }
  return false;
}

}  // namespace

ReturnedCheck check_returned(const OutputReport& report, const task::Argument& expected,
                             std::size_t arena_bytes) {
  if (report.dtype > static_cast<std::uint32_t>(tensor::DType::kBool))
    return forged("unknown dtype");
  if (report.rank > kMaxRank) return forged("too many dimensions");
  std::span<const std::int64_t> shape(report.shape, report.rank);
  for (std::uint32_t d = 0; d < report.rank; ++d) {
    if (report.shape[d] < 0 || report.stride[d] < 0) return forged("negative size or stride");
  }
  auto dtype = static_cast<tensor::DType>(report.dtype);
  if (dtype != expected.dtype) {
    return {task::Outcome::kWrongDtype,
            fmt::format("output {} has dtype {}, not {}", expected.name, tensor::to_string(dtype),
                        tensor::to_string(expected.dtype))};
  }
  if (!std::ranges::equal(shape, expected.shape)) {
    return {task::Outcome::kWrongShape, fmt::format("output {} has shape {}, not {}", expected.name,
                                                    shape_text(shape), shape_text(expected.shape))};
  }
  if (std::ranges::find(shape, 0) != shape.end()) return {};
  Wide last = 0;
  for (std::uint32_t d = 0; d < report.rank; ++d)
    last += static_cast<Wide>(report.shape[d] - 1) * report.stride[d];
  std::size_t size = tensor::size_of(dtype);
  Wide end = static_cast<Wide>(report.offset) + (last + 1) * static_cast<Wide>(size);
  if (report.offset % size != 0 || end > static_cast<Wide>(arena_bytes))
    return forged("elements outside the memory for results");
  if (shares_memory(report)) {
    return {task::Outcome::kWrongShape,
            fmt::format("elements of output {} share memory (a broadcast or expanded tensor): "
                        "return a full one",
                        expected.name)};
  }
  return {};
}

bool is_contiguous(const OutputReport& report) {
  std::int64_t step = 1;
  for (std::uint32_t d = report.rank; d-- > 0;) {
    if (report.shape[d] != 1 && report.stride[d] != step) return false;
    step *= report.shape[d];
  }
  return true;
}

void gather_returned(const OutputReport& report, std::span<const std::byte> arena,
                     std::span<std::byte> out) {
  std::size_t size = tensor::size_of(static_cast<tensor::DType>(report.dtype));
  if (out.empty()) return;
  auto columns = report.rank == 0 ? std::int64_t{1} : report.shape[report.rank - 1];
  std::int64_t step = report.rank == 0 ? 1 : report.stride[report.rank - 1];
  std::array<std::int64_t, kMaxRank> index{};
  std::byte* to = out.data();
  for (std::size_t left = out.size() / size / static_cast<std::size_t>(columns); left > 0; --left) {
    std::int64_t place = 0;
    for (std::uint32_t d = 0; d + 1 < report.rank; ++d) place += index.at(d) * report.stride[d];
    std::size_t from = report.offset + static_cast<std::size_t>(place) * size;
    KW_CHECK(from + (static_cast<std::size_t>((columns - 1) * step) + 1) * size <= arena.size());
    if (step == 1) {
      std::memcpy(to, arena.data() + from, static_cast<std::size_t>(columns) * size);
    } else {
      for (std::int64_t c = 0; c < columns; ++c) {
        std::memcpy(to + static_cast<std::size_t>(c) * size,
                    arena.data() + from + static_cast<std::size_t>(c * step) * size, size);
      }
    }
    to += static_cast<std::size_t>(columns) * size;
    for (std::uint32_t d = report.rank - 1; report.rank > 1 && d-- > 0;) {
      if (++index.at(d) < report.shape[d]) break;
      index.at(d) = 0;
    }
  }
}

std::span<const std::byte> returned_bytes(const OutputReport& report,
                                          std::span<const std::byte> arena, std::size_t bytes,
                                          std::vector<std::byte>& copy) {
  if (bytes == 0) return {};
  if (is_contiguous(report)) return arena.subspan(report.offset, bytes);
  copy.resize(bytes);
  gather_returned(report, arena, copy);
  return copy;
}

}  // namespace kw::gym
