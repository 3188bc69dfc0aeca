// Making and running the trials.
#include "gym/checker/kernelbench_trials.h"

#include <algorithm>
#include <cstring>

#include "gym/correctness/compat.h"

namespace kw::gym {
namespace {

Result<SharedTensors> shared_copy(const char* name,
                                  const std::vector<const task::Argument*>& tensors,
                                  OracleClient& oracle,
                                  std::span<std::byte> (OracleClient::*tensor)(std::size_t)) {
  KW_TRY(SharedTensors copy, SharedTensors::make(name, Layout::for_reading(tensors), true));
  for (std::size_t i = 0; i < tensors.size(); ++i)
    std::memcpy(copy.tensor(i).data(), (oracle.*tensor)(i).data(), copy.layout().bytes(i));
  return copy;
}

}  // namespace

Result<OracleAnswer> KernelBenchTrials::make(const task::Signature& signature, OracleClient& oracle,
                                             std::unique_ptr<KernelBenchTrials>& made) {
  std::unique_ptr<KernelBenchTrials> trials(new KernelBenchTrials(signature));
  KW_TRY(OracleAnswer answer, oracle.state(kParamSeed, false));
  if (!answer.ok) return answer;
  if (auto tensors = tensors_of(signature.statics); !tensors.empty()) {
    KW_TRY(SharedTensors statics,
           shared_copy("statics", tensors, oracle, &OracleClient::static_tensor));
    trials->statics_ = std::make_unique<SharedTensors>(std::move(statics));
  }
  for (std::uint64_t seed : kInputSeeds) {
    KW_TRY(answer, oracle.generate(seed));
    if (!answer.ok) return answer;
    KW_TRY(SharedTensors inputs,
           shared_copy("inputs", tensors_of(signature.inputs), oracle, &OracleClient::input));
    trials->inputs_.push_back(std::move(inputs));
    KW_TRY(answer, oracle.run({.precision = Precision::kDeclared}));
    if (!answer.ok) return answer;
    trials->slowest_reference_ = std::max(trials->slowest_reference_, answer.took);
    auto& outputs = trials->expected_.emplace_back();
    for (std::size_t j = 0; j < signature.outputs.size(); ++j) {
      auto bytes = std::as_const(oracle).output(j);
      outputs.emplace_back(bytes.begin(), bytes.end());
    }
  }
  made = std::move(trials);
  return answer;
}

ExecutorMemory KernelBenchTrials::memory(OutputMemory& output) const {
  ExecutorMemory memory;
  for (const SharedTensors& inputs : inputs_) memory.inputs.push_back(&inputs);
  memory.output = &output;
  memory.statics = statics_.get();
  return memory;
}

bool KernelBenchTrials::close(Side& candidate, std::uint32_t trial) const {
  for (std::size_t j = 0; j < signature_->outputs.size(); ++j) {
    const task::Argument& declared = signature_->outputs[j];
    TensorView ours{declared.dtype, declared.shape, candidate.output(trial, j)};
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
    GoResult go;
    KW_TRY(fault, candidate.call(std::span(&trial, 1), timeout, go));
    if (!fault) fault = candidate.take_snapshot(std::span(&trial, 1));
    if (!fault && !close(candidate, trial)) return false;
  }
  return !fault;
}

}  // namespace kw::gym
