// Range checks and strided gathering.
#include "gym/checker/reported_output.h"

#include <array>
#include <cstring>
#include <vector>

#include <fmt/ranges.h>

namespace kw::gym {
namespace {

// The bytes from the first to behind the last element, or nothing when that overflows.
bool span_of(const ReportedOutput& report, std::size_t element, std::uint64_t& bytes) {
  __extension__ using Wide = unsigned __int128;
  Wide last = 0;
  for (std::uint32_t d = 0; d < report.rank; ++d) {
    if (report.stride[d] < 0) return false;
    last += static_cast<Wide>(report.shape[d] - 1) * static_cast<std::uint64_t>(report.stride[d]);
  }
  Wide total = (last + 1) * element;
  if (total > UINT64_MAX / 2) return false;
  bytes = static_cast<std::uint64_t>(total);
  return true;
}

bool is_contiguous(const ReportedOutput& report) {
  std::int64_t expected = 1;
  for (std::uint32_t d = report.rank; d-- > 0;) {
    if (report.shape[d] != 1 && report.stride[d] != expected) return false;
    expected *= report.shape[d];
  }
  return true;
}

void gather(const ReportedOutput& report, std::size_t element, const std::byte* from,
            std::span<std::byte> out) {
  std::array<std::int64_t, kMaxRank> index{};
  for (std::size_t at = 0; at < out.size(); at += element) {
    std::int64_t place = 0;
    for (std::uint32_t d = 0; d < report.rank; ++d) place += index[d] * report.stride[d];
    std::memcpy(out.data() + at, from + place * static_cast<std::int64_t>(element), element);
    for (std::uint32_t d = report.rank; d-- > 0;) {
      if (++index[d] < report.shape[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace

ReportCheck gather_report(const ReportedOutput& report, const task::Argument& declared,
                          std::span<const std::byte> arena, std::span<std::byte> out) {
  if (report.dtype != static_cast<std::uint32_t>(declared.dtype)) {
    bool known = report.dtype <= static_cast<std::uint32_t>(task::DType::kBool);
    return {task::Outcome::kWrongDtype,
            fmt::format("dtype {} instead of {}",
                        known ? task::to_string(static_cast<task::DType>(report.dtype)) : "unknown",
                        task::to_string(declared.dtype))};
  }
  bool same = report.rank == declared.shape.size() && report.rank <= kMaxRank;
  for (std::size_t d = 0; same && d < declared.shape.size(); ++d)
    same = report.shape[d] == declared.shape[d];
  if (!same) {
    std::vector<std::int64_t> shape(report.shape, report.shape + std::min(report.rank, kMaxRank));
    return {task::Outcome::kWrongShape, fmt::format("shape {} instead of {}", fmt::join(shape, "x"),
                                                    fmt::join(declared.shape, "x"))};
  }
  if (out.empty()) return {};
  std::size_t element = task::size_of(declared.dtype);
  std::uint64_t bytes = 0;
  if (!span_of(report, element, bytes) || bytes > arena.size() ||
      report.offset > arena.size() - bytes) {
    return {task::Outcome::kViolation, "it does not lie in the memory for results"};
  }
  const std::byte* from = arena.data() + report.offset;
  if (is_contiguous(report)) {
    std::memcpy(out.data(), from, out.size());
  } else {
    gather(report, element, from, out);
  }
  return {};
}

}  // namespace kw::gym
