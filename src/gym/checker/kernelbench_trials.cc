// Making and running the trials.
#include "gym/checker/kernelbench_trials.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "gym/correctness/compat.h"

namespace kw::gym {
namespace {

Result<std::unique_ptr<TensorMemory>> copy_of_exchange(
    const char* name, const std::vector<const task::Argument*>& tensors, TensorAllocator& allocator,
    const std::function<std::span<const std::byte>(std::size_t)>& tensor) {
  KW_TRY(auto copy, allocator.allocate(name, Layout::for_reading(tensors), true));
  for (std::size_t i = 0; i < tensors.size(); ++i) KW_TRY_STATUS(copy->write(i, tensor(i)));
  return copy;
}

}  // namespace

Status KernelBenchTrials::add_trial(std::uint64_t seed, Oracle& oracle, TensorAllocator& allocator,
                                    OracleAnswer& answer) {
  KW_TRY(answer, oracle.generate(seed));
  if (!answer.ok) return {};
  KW_TRY(auto inputs, copy_of_exchange("inputs", tensors_of(signature_->inputs), allocator,
                                       [&](std::size_t i) { return oracle.input(i); }));
  inputs_.push_back(std::move(inputs));
  KW_TRY(answer, oracle.run({.precision = Precision::kDeclared}));
  if (!answer.ok) return {};
  slowest_reference_ = std::max(slowest_reference_, answer.took);
  auto& outputs = expected_.emplace_back();
  for (std::size_t j = 0; j < signature_->outputs.size(); ++j) {
    auto bytes = oracle.output(j);
    outputs.emplace_back(bytes.begin(), bytes.end());
  }
  return {};
}

Result<OracleAnswer> KernelBenchTrials::make(const task::Signature& signature, Oracle& oracle,
                                             TensorAllocator& allocator,
                                             std::unique_ptr<KernelBenchTrials>& made) {
  std::unique_ptr<KernelBenchTrials> trials(new KernelBenchTrials(signature));
  KW_TRY(OracleAnswer answer, oracle.state(kParamSeed, false));
  if (!answer.ok) return answer;
  if (auto tensors = tensors_of(signature.statics); !tensors.empty()) {
    KW_TRY(trials->statics_, copy_of_exchange("statics", tensors, allocator, [&](std::size_t i) {
             return oracle.static_tensor(i);
           }));
  }
  for (std::uint64_t seed : kInputSeeds) {
    KW_TRY_STATUS(trials->add_trial(seed, oracle, allocator, answer));
    if (!answer.ok) return answer;
  }
  made = std::move(trials);
  return answer;
}

ExecutorMemory KernelBenchTrials::memory(OutputMemory& output) const {
  ExecutorMemory memory;
  for (const auto& inputs : inputs_) memory.inputs.push_back(inputs.get());
  memory.output = &output;
  memory.statics = statics_.get();
  return memory;
}

Result<bool> KernelBenchTrials::close(const Side& candidate, std::uint32_t trial) const {
  for (std::size_t j = 0; j < signature_->outputs.size(); ++j) {
    const task::Argument& declared = signature_->outputs[j];
    KW_TRY(auto bytes, candidate.outputs().output(trial, j));
    TensorView ours{declared.dtype, declared.shape, bytes};
    TensorView theirs{declared.dtype, declared.shape, expected_[trial][j]};
    if (!kernelbench_compare(ours, theirs).close) return false;
  }
  return true;
}

Result<bool> KernelBenchTrials::run(Side& candidate) {
  StartTimes times;
  KW_TRY(auto fault, candidate.start(times));
  const auto timeout = call_timeout(slowest_reference_);
  for (std::uint32_t trial = 0; !fault && trial < kInputSeeds.size(); ++trial) {
    const std::span<const std::uint32_t> sets(&trial, 1);
    LaunchResult result;
    KW_TRY(fault, candidate.launch(sets, timeout, result));
    if (fault) break;
    KW_TRY(fault, candidate.outputs().take_snapshot(sets));
    if (fault) break;
    KW_TRY(bool is_close, close(candidate, trial));
    if (!is_close) return false;
  }
  return !fault;
}

}  // namespace kw::gym
