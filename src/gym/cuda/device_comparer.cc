// Tasks for kernels/compare.cu, and what their reports say.
#include "gym/cuda/device_comparer.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "gym/cuda/kernel_tasks.h"

namespace kw::gym {
namespace {

using tensor::DType;

constexpr std::size_t kMaxRows = std::size_t{1} << 20U;       // of a launch
constexpr std::size_t kMinSegment = 256, kMaxSegment = 8192;  // elements that a warp looks at
constexpr std::size_t kWantedWarps = 8192;                    // which a GPU can have at once
constexpr unsigned kWarps = 8, kMaxBlocks = 4096;
// As baseline.cc: of long rows, every eighth chunk gives the mean.
constexpr std::size_t kLongRow = std::size_t{1} << 18U, kChunk = 1024, kStride = 8 * kChunk;

KernelShape shape_for(std::size_t units) {
  return {.blocks = static_cast<unsigned>(
              std::clamp<std::size_t>((units + kWarps - 1) / kWarps, 1, kMaxBlocks)),
          .threads = 32 * kWarps};
}

// Short pieces of few rows: with a warp a row, most of the GPU would wait for the memory.
std::size_t segment_of(const Slices& slices) {
  const std::size_t share = slices.rows * slices.columns / kWantedWarps / 32 * 32;
  return std::clamp(share, kMinSegment, kMaxSegment);
}

kernels::ScaleTask scale_task(const DevicePair& pair, const Slices& slices) {
  kernels::ScaleTask task{};
  task.b = pair.expected;
  task.dtype = static_cast<int>(pair.dtype);
  task.columns = slices.columns;
  task.segment = task.stride = segment_of(slices);
  task.segments = pieces_of(slices.columns, task.segment);
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
  task.segment = segment_of(slices);
  task.segments = pieces_of(slices.columns, task.segment);
  task.relative = rule.learned.relative;
  task.slice = rule.learned.slice;
  task.least = rule.learned.least;
  task.sides = rule.sides;
  std::ranges::copy(rule.learned.by_magnitude, task.by_magnitude);
  task.least_exponent = BaselineCoefficients::kMinExponent;
  return task;
}

// A kernel's report counts once it has seen all elements.
template <typename Report>
Result<Report> whole_report(DeviceReports& reports, const DeviceReports::Report& report,
                            std::uint64_t elements) {
  KW_TRY(Report found, reports.read<Report>(report));
  if (found.seen != elements)
    return fail(ErrorCode::kInternal, "the GPU looked at {} elements of {}", found.seen, elements);
  return found;
}

CheckReport check_report(const kernels::CompareReport& found) {
  CheckReport report;
  report.elements = found.seen;
  report.wrong = found.wrong;
  report.nan = found.nan;
  report.infinite = found.infinite;
  report.max_absolute = std::bit_cast<double>(found.max_absolute);
  report.max_relative = std::bit_cast<double>(found.max_relative);
  report.max_of_budget = std::bit_cast<double>(found.max_of_budget);
  report.passed = report.wrong == 0;
  for (unsigned long long key : found.sample)
    if (key != 0) report.sample.push_back((key & ((1ULL << 40U) - 1)) - 1);
  return report;
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
  return scratch_->address();
}

Status DeviceComparison::compare_rows(const DevicePair& pair, const BaselineRule& rule,
                                      std::uint64_t report) {
  const Slices slices = slices_of(pair.shape);
  const std::size_t rows = std::min(slices.rows, kMaxRows);
  kernels::ScaleTask scale = scale_task(pair, slices);
  kernels::CompareTask compare = compare_task(pair, slices, rule);
  compare.report = report;
  KW_TRY(scale.scales, scratch(rows * (scale.segments + 1) * sizeof(double)));
  compare.scales = scale.scales;
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

Result<Later<CheckReport>> DeviceComparison::compare(const DevicePair& pair,
                                                     const BaselineRule& rule) {
  KW_TRY(const DeviceReports::Report report, reports_->make());
  KW_TRY_STATUS(compare_rows(pair, rule, report.address));
  const auto elements = static_cast<std::uint64_t>(elements_of(pair.shape));
  return Later<CheckReport>([reports = reports_, report, elements]() -> Result<CheckReport> {
    KW_TRY(const auto found, whole_report<kernels::CompareReport>(*reports, report, elements));
    return check_report(found);
  });
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
  KW_TRY(const DeviceReports::Report report, reports_->make());
  task.report = report.address;
  KW_TRY_STATUS(
      source_->kernels()->run("kw_rules", shape_for(pieces_of(task.elements, 2048)), &task));
  KW_TRY(const auto found, whole_report<kernels::RulesReport>(*reports_, report, task.elements));
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

Result<DeviceCallComparer::CallReports> DeviceCallComparer::compare_call(
    const OutputChecker& checker, const ComparedCall& call) {
  CallReports reports;
  std::optional<std::vector<CheckReport>> by_host;
  for (std::size_t j = 0; j < checker.count(); ++j) {
    const task::Argument& declared = checker.declared(j);
    const auto rule = checker.baseline_rule(j);
    const auto pair = pair_of(declared, j, call);
    if (has_kernels_ && rule && pair && DeviceComparison::is_possible(declared.dtype)) {
      KW_TRY(Later<CheckReport> report, comparison_.compare(*pair, *rule));
      reports.push_back(std::move(report));
      continue;
    }
    if (!by_host) {
      KW_TRY(auto all, host_.compare(checker, std::span(&call, 1)));
      by_host = std::move(all.front());
    }
    reports.emplace_back((*by_host)[j]);
  }
  return reports;
}

Result<Later<ComparedReports>> DeviceCallComparer::compare_later(
    const OutputChecker& checker, std::span<const ComparedCall> calls) {
  std::vector<CallReports> begun;
  for (const ComparedCall& call : calls) {
    KW_TRY(CallReports reports, compare_call(checker, call));
    begun.push_back(std::move(reports));
  }
  return Later<ComparedReports>([begun = std::move(begun)]() mutable -> Result<ComparedReports> {
    ComparedReports out;
    for (CallReports& of_call : begun) {
      out.emplace_back();
      for (Later<CheckReport>& later : of_call) {
        KW_TRY(CheckReport report, later.get());
        out.back().push_back(std::move(report));
      }
    }
    return out;
  });
}

Result<ComparedReports> DeviceCallComparer::compare(const OutputChecker& checker,
                                                    std::span<const ComparedCall> calls) {
  KW_TRY(Later<ComparedReports> later, compare_later(checker, calls));
  return later.get();
}

Result<RulesResult> DeviceCallComparer::compare_by_rules(const task::Argument& declared,
                                                         std::size_t j, const ComparedCall& call) {
  const auto pair = pair_of(declared, j, call);
  if (has_kernels_ && pair && DeviceComparison::has_rules(declared.dtype))
    return comparison_.by_rules(*pair);
  return host_.compare_by_rules(declared, j, call);
}

}  // namespace kw::gym
