// KernelBench's correctness trials: its seeds, its weight rule, its tolerance
// (src/kernelbench/eval.py at 423217d; docs/compat.md lists what differs). Reference and candidate
// are built under seed 42 and keep the weights that this gives them; five inputs come from
// get_inputs() under five seeds drawn from 42. None of it is secret, and nothing of it decides a
// reward.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "gym/checker/executor.h"
#include "gym/checker/oracle.h"
#include "gym/checker/output_memory.h"
#include "gym/checker/side.h"
#include "gym/checker/tensor_memory.h"
#include "task/signature.h"

namespace kw::gym {

// Inputs and expected outputs of one module problem. Not thread-safe.
class KernelBenchTrials {
 public:
  static constexpr std::uint64_t kParamSeed = 42;
  // torch.manual_seed(42), then torch.randint(0, 2**32 - 1, (1,)) five times.
  static constexpr std::array<std::uint64_t, 5> kInputSeeds = {734796314, 576165995, 2197670066,
                                                               839703249, 2584932063};

  // Runs the reference; the oracle's module is another one afterwards. Not ok when it fails.
  static Result<OracleAnswer> make(const task::Signature& signature, Oracle& oracle,
                                   TensorAllocator& allocator,
                                   std::unique_ptr<KernelBenchTrials>& made);

  // The memory that an executor for run() reads and writes. It is borrowed, and its outputs are its
  // own.
  ExecutorMemory memory(OutputMemory& output) const;
  // Starts the candidate and lets it run all trials. An Error is ours.
  Result<bool> run(Side& candidate);

 private:
  explicit KernelBenchTrials(const task::Signature& signature) : signature_(&signature) {}
  Result<bool> close(const Side& candidate, std::uint32_t trial) const;
  Status add_trial(std::uint64_t seed, Oracle& oracle, TensorAllocator& allocator,
                   OracleAnswer& answer);

  const task::Signature* signature_;                           // borrowed
  std::unique_ptr<TensorMemory> statics_;                      // null: none
  std::vector<std::unique_ptr<TensorMemory>> inputs_;          // one for each trial
  std::vector<std::vector<std::vector<std::byte>>> expected_;  // indexed by trial and output
  std::chrono::nanoseconds slowest_reference_{0};
};

}  // namespace kw::gym
