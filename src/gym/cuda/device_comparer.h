// DeviceCallComparer: compares outputs where they lie, in a GPU's memory.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/later.h"
#include "base/result.h"
#include "gym/checker/call_comparer.h"
#include "gym/cuda/device_bytes.h"
#include "gym/cuda/device_reports.h"

namespace kw::gym {

// Two tensors of one dtype and shape at addresses of the GPU.
struct DevicePair {
  std::uint64_t candidate = 0, expected = 0;
  tensor::DType dtype = tensor::DType::kFloat32;
  std::span<const std::int64_t> shape;  // borrowed
};

// The comparisons of correctness/, which define them, by our kernels. Counts are the same but for
// differences within float32's rounding of the allowed one, and maxima are the same to that
// precision: here all arithmetic is float64. One thread.
class DeviceComparison {
 public:
  // Both borrowed; the source has kernels.
  DeviceComparison(DeviceSource& source, DeviceReports& reports)
      : source_(&source), reports_(&reports) {}

  // Whether compare() can do it; by_rules() needs a floating dtype of at most 32 bits too.
  static bool is_possible(tensor::DType dtype);
  static bool has_rules(tensor::DType dtype);
  // check_exact() or check_against_baseline(), of the tensors as they are now.
  Result<Later<CheckReport>> compare(const DevicePair& pair, const BaselineRule& rule);
  Result<RulesResult> by_rules(const DevicePair& pair);

 private:
  // Device memory of at least so many bytes.
  Result<std::uint64_t> scratch(std::size_t bytes);
  Status compare_rows(const DevicePair& pair, const BaselineRule& rule, std::uint64_t report);

  DeviceSource* source_;
  DeviceReports* reports_;
  std::unique_ptr<DeviceBytes> scratch_;
};

// Outputs whose rule looks at single elements are compared by kernels; others are copied, and
// compared by HostCallComparer. So are all where there are no kernels.
class DeviceCallComparer final : public CallComparer {
 public:
  // Both borrowed.
  DeviceCallComparer(DeviceSource& source, DeviceReports& reports)
      : has_kernels_(source.kernels() != nullptr), comparison_(source, reports) {}
  Result<ComparedReports> compare(const OutputChecker& checker,
                                  std::span<const ComparedCall> calls) override;
  Result<Later<ComparedReports>> compare_later(const OutputChecker& checker,
                                               std::span<const ComparedCall> calls) override;
  Result<RulesResult> compare_by_rules(const task::Argument& declared, std::size_t j,
                                       const ComparedCall& call) override;

 private:
  using CallReports = std::vector<Later<CheckReport>>;  // by output
  Result<CallReports> compare_call(const OutputChecker& checker, const ComparedCall& call);

  bool has_kernels_;
  DeviceComparison comparison_;
  HostCallComparer host_;
};

}  // namespace kw::gym
