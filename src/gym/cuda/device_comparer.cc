// Tasks for kernels/compare.cu, and what their reports say.
#include "gym/cuda/device_comparer.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "gym/cuda/kernel_tasks.h"

namespace kw::gym {
namespace {

using tensor::DType;

constexpr std::size_t kReportBytes = 1024;
static_assert(sizeof(kernels::CompareReport) <= kReportBytes);
constexpr std::size_t kMaxRows = std::size_t{1} << 20U;  // of a launch
constexpr std::size_t kSegment = 8192;                   // elements that a warp looks at
constexpr unsigned long long kNoSample = ~0ULL;
constexpr unsigned kWarps = 8, kMaxBlocks = 4096;
// As baseline.cc: of long rows, every eighth chunk gives the mean.
constexpr std::size_t kLongRow = std::size_t{1} << 18U, kChunk = 1024, kStride = 8 * kChunk;

KernelShape shape_for(std::size_t units) {
  return {.blocks = static_cast<unsigned>(
              std::clamp<std::size_t>((units + kWarps - 1) / kWarps, 1, kMaxBlocks)),
          .threads = 32 * kWarps};
}

kernels::ScaleTask scale_task(const DevicePair& pair, const Slices& slices) {
  kernels::ScaleTask task{};
  task.b = pair.expected;
  task.dtype = static_cast<int>(pair.dtype);
  task.columns = slices.columns;
  task.segment = task.stride = kSegment;
  task.segments = pieces_of(slices.columns, kSegment);
  if (slices.columns <= kLongRow) return task;
  task.segment = kChunk;
  task.stride = kStride;
  task.segments = (slices.columns - kChunk) / kStride + 1;
  return task;
}

kernels::CompareTask compare_task(const DevicePair& pair, const Slices& slices,
                                  const BaselineRule& rule) {
  kernels::CompareTask task{};
  task.a = pair.candidate;
  task.b = pair.expected;
  task.dtype = static_cast<int>(pair.dtype);
  task.is_exact = rule.is_exact ? 1 : 0;
  task.columns = slices.columns;
  task.segment = kSegment;
  task.segments = pieces_of(slices.columns, kSegment);
  task.relative = rule.learned.relative;
  task.slice = rule.learned.slice;
  task.least = rule.learned.least;
  task.sides = rule.sides;
  std::ranges::copy(rule.learned.by_magnitude, task.by_magnitude);
  task.least_exponent = BaselineCoefficients::kMinExponent;
  return task;
}

}  // namespace

bool DeviceComparison::is_possible(DType dtype) {
  return !tensor::is_floating(dtype) || has_rules(dtype) || dtype == DType::kFloat64;
}

bool DeviceComparison::has_rules(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

Result<std::uint64_t> DeviceComparison::scratch(std::size_t bytes) {
  if (scratch_ == nullptr || scratch_->size() < bytes) {
    KW_TRY(scratch_, source_->make(bytes));
  }
  KW_TRY_STATUS(scratch_->upload(0, std::vector<std::byte>(kReportBytes)));
  return scratch_->address();
}

Status DeviceComparison::compare_rows(const DevicePair& pair, const BaselineRule& rule) {
  const Slices slices = slices_of(pair.shape);
  const std::size_t rows = std::min(slices.rows, kMaxRows);
  kernels::ScaleTask scale = scale_task(pair, slices);
  KW_TRY(const std::uint64_t memory,
         scratch(kReportBytes + rows * (scale.segments + 1) * sizeof(double)));
  kernels::CompareTask compare = compare_task(pair, slices, rule);
  compare.report = memory;
  kernels::CompareReport nothing{};
  std::ranges::fill(nothing.sample, kNoSample);
  KW_TRY_STATUS(scratch_->upload(0, std::as_bytes(std::span(&nothing, 1))));
  scale.scales = compare.scales = memory + kReportBytes;
  scale.parts = scale.scales + rows * sizeof(double);
  KernelRunner& kernels = *source_->kernels();
  for (std::size_t first = 0; first < slices.rows; first += rows) {
    scale.first_row = compare.first_row = first;
    scale.rows = compare.rows = std::min(rows, slices.rows - first);
    if (!rule.is_exact) {
      KW_TRY_STATUS(kernels.run("kw_row_parts", shape_for(scale.rows * scale.segments), &scale));
      const auto blocks = static_cast<unsigned>(pieces_of(scale.rows, 256));
      KW_TRY_STATUS(kernels.run("kw_row_scales", {.blocks = blocks, .threads = 256}, &scale));
    }
    KW_TRY_STATUS(kernels.run("kw_compare", shape_for(compare.rows * compare.segments), &compare));
  }
  return {};
}

Result<CheckReport> DeviceComparison::compare(const DevicePair& pair, const BaselineRule& rule) {
  KW_TRY_STATUS(compare_rows(pair, rule));
  kernels::CompareReport found{};
  KW_TRY_STATUS(scratch_->download(0, std::as_writable_bytes(std::span(&found, 1))));
  CheckReport report;
  report.elements = static_cast<std::uint64_t>(elements_of(pair.shape));
  report.wrong = found.wrong;
  report.nan = found.nan;
  report.infinite = found.infinite;
  report.max_absolute = std::bit_cast<double>(found.max_absolute);
  report.max_relative = std::bit_cast<double>(found.max_relative);
  report.max_of_budget = std::bit_cast<double>(found.max_of_budget);
  report.passed = report.wrong == 0;
  for (unsigned long long key : found.sample)
    if (key != kNoSample) report.sample.push_back(key & ((1ULL << 40U) - 1));
  return report;
}

Result<RulesResult> DeviceComparison::by_rules(const DevicePair& pair) {
  const FlashInferRule rule;
  kernels::RulesTask task{};
  task.a = pair.candidate;
  task.b = pair.expected;
  task.dtype = static_cast<int>(pair.dtype);
  task.elements = static_cast<unsigned long long>(elements_of(pair.shape));
  task.kernelbench_tolerance = static_cast<float>(kernelbench_tolerance(pair.dtype));
  task.atol = static_cast<float>(rule.atol);
  task.rtol = static_cast<float>(rule.rtol);
  KW_TRY(task.report, scratch(kReportBytes));
  KW_TRY_STATUS(
      source_->kernels()->run("kw_rules", shape_for(pieces_of(task.elements, 2048)), &task));
  kernels::RulesReport found{};
  KW_TRY_STATUS(scratch_->download(0, std::as_writable_bytes(std::span(&found, 1))));
  const auto as_float = [](unsigned long long bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  };
  const FlashInferCounts counts = {found.infinite > 0,           found.nan > 0,
                                   found.nan_error > 0,          static_cast<double>(found.wrong),
                                   as_float(found.max_absolute), as_float(found.max_relative)};
  return RulesResult{found.outside == 0, flashinfer_result(counts, task.elements, rule)};
}

namespace {

// nullopt: not both lie on a GPU.
std::optional<DevicePair> pair_of(const task::Argument& declared, std::size_t j,
                                  const ComparedCall& call) {
  const auto ours = call.candidate->address(call.set, j);
  const auto theirs = call.baseline->address(call.set, j);
  if (!ours || !theirs) return std::nullopt;
  return DevicePair{*ours, *theirs, declared.dtype, declared.shape};
}

}  // namespace

Result<std::vector<CheckReport>> DeviceCallComparer::compare_call(const OutputChecker& checker,
                                                                  const ComparedCall& call) {
  std::vector<CheckReport> reports;
  std::optional<std::vector<CheckReport>> by_host;
  for (std::size_t j = 0; j < checker.count(); ++j) {
    const task::Argument& declared = checker.declared(j);
    const auto rule = checker.baseline_rule(j);
    const auto pair = pair_of(declared, j, call);
    if (has_kernels_ && rule && pair && DeviceComparison::is_possible(declared.dtype)) {
      KW_TRY(CheckReport report, comparison_.compare(*pair, *rule));
      reports.push_back(report);
      continue;
    }
    if (!by_host) {
      KW_TRY(auto all, host_.compare(checker, std::span(&call, 1)));
      by_host = std::move(all.front());
    }
    reports.push_back((*by_host)[j]);
  }
  return reports;
}

Result<std::vector<std::vector<CheckReport>>> DeviceCallComparer::compare(
    const OutputChecker& checker, std::span<const ComparedCall> calls) {
  std::vector<std::vector<CheckReport>> out;
  for (const ComparedCall& call : calls) {
    KW_TRY(std::vector<CheckReport> reports, compare_call(checker, call));
    out.push_back(std::move(reports));
  }
  return out;
}

Result<RulesResult> DeviceCallComparer::compare_by_rules(const task::Argument& declared,
                                                         std::size_t j, const ComparedCall& call) {
  const auto pair = pair_of(declared, j, call);
  if (has_kernels_ && pair && DeviceComparison::has_rules(declared.dtype))
    return comparison_.by_rules(*pair);
  return host_.compare_by_rules(declared, j, call);
}

}  // namespace kw::gym
