// Comparison on the host.
#include "gym/checker/call_comparer.h"

#include <functional>

#include "os/parallel.h"

namespace kw::gym {
namespace {

constexpr std::size_t kLargeCall = 4ULL << 20U;

using Tensors = std::vector<std::span<const std::byte>>;

// The bytes of one call, gathered before threads look at them.
struct CallBytes {
  Tensors candidate, baseline, inputs;

  static Result<CallBytes> of(const OutputChecker& checker, const ComparedCall& call) {
    CallBytes bytes;
    KW_TRY(bytes.candidate, call.candidate->outputs(call.set));
    KW_TRY(bytes.baseline, call.baseline->outputs(call.set));
    for (std::size_t i = 0; i < call.inputs->layout().count(); ++i) {
      bytes.inputs.emplace_back();
      if (!checker.needs_input(i)) continue;
      KW_TRY(bytes.inputs.back(), call.inputs->view(i));
    }
    return bytes;
  }
  std::size_t output_bytes() const {
    std::size_t total = 0;
    for (const auto& output : candidate) total += 2 * output.size();
    return total;
  }
};

// work(i) for every call; large ones one after the other, since each is worked on by all cores.
void for_calls(std::size_t count, std::size_t bytes_of_one,
               const std::function<void(std::size_t)>& work) {
  if (bytes_of_one < kLargeCall) return os::in_parallel(count, count * bytes_of_one, work);
  for (std::size_t i = 0; i < count; ++i) work(i);
}

}  // namespace

Result<ComparedReports> HostCallComparer::compare(const OutputChecker& checker,
                                                  std::span<const ComparedCall> calls) {
  std::vector<CallBytes> bytes;
  for (const ComparedCall& call : calls) {
    KW_TRY(CallBytes of_call, CallBytes::of(checker, call));
    bytes.push_back(std::move(of_call));
  }
  ComparedReports reports(calls.size());
  const std::size_t bytes_of_one = bytes.empty() ? 0 : bytes[0].output_bytes();
  for_calls(calls.size(), bytes_of_one, [&](std::size_t i) {
    const CallBytes& call = bytes[i];
    for (std::size_t j = 0; j < call.candidate.size(); ++j) {
      reports[i].push_back(
          checker.against_baseline(j, call.candidate[j], call.baseline, call.inputs));
    }
  });
  return reports;
}

Result<RulesResult> HostCallComparer::compare_by_rules(const task::Argument& declared,
                                                       std::size_t j, const ComparedCall& call) {
  KW_TRY(auto ours, call.candidate->output(call.set, j));
  KW_TRY(auto theirs, call.baseline->output(call.set, j));
  const TensorView candidate{declared.dtype, declared.shape, ours};
  const TensorView reference{declared.dtype, declared.shape, theirs};
  return RulesResult{kernelbench_compare(candidate, reference).close,
                     flashinfer_compare(candidate, reference)};
}

}  // namespace kw::gym
