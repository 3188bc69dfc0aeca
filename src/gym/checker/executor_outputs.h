// ExecutorOutputs: the outputs of one executor's launches, guarded before and fixed after.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/later.h"
#include "base/random.h"
#include "base/result.h"
#include "gym/checker/executor.h"
#include "gym/checker/fault.h"
#include "task/signature.h"

namespace kw::gym {

// Borrows all three. Not thread-safe; after a snapshot any thread may read it.
class ExecutorOutputs {
 public:
  ExecutorOutputs(Executor& executor, OutputMemory& memory, const task::Signature& signature)
      : executor_(&executor), memory_(&memory), signature_(&signature) {}

  // Before a launch: puts the set's destinations at new places, holding poison, between canaries.
  // Memory of returned results belongs to the candidate's allocator and is left alone: fresh inputs
  // make stale results wrong.
  struct Guards {
    bool move = true, poison = true, canaries = true;
  };
  Status guard(std::uint32_t set, Rng& rng, Guards guards);
  Result<bool> canaries_intact(std::span<const std::uint32_t> sets) const;
  Result<Later<bool>> canaries_intact_later(std::span<const std::uint32_t> sets) const;

  // Fixes the outputs of a launch over these sets: what the executor writes later does not count. A
  // fault for a returned shape, dtype or place that is not as declared.
  Result<std::optional<Fault>> take_snapshot(std::span<const std::uint32_t> sets);
  // Output j of a set as the last snapshot has it, on the host: contiguous, declared dtype. Valid
  // until the next launch.
  Result<std::span<const std::byte>> output(std::uint32_t set, std::size_t j) const;
  Result<std::vector<std::span<const std::byte>>> outputs(std::uint32_t set) const;
  // The same in memory of the caller's.
  Result<std::vector<std::byte>> copy(std::uint32_t set, std::size_t j) const;
  // A part of it, by itself.
  Result<std::vector<std::byte>> part(std::uint32_t set, std::size_t j,
                                      const Selection& part) const;
  // Its address on a GPU; nullopt: on no GPU. Valid as output() is.
  std::optional<std::uint64_t> address(std::uint32_t set, std::size_t j) const {
    if (!writes_destinations()) return std::nullopt;
    return memory_->destinations[set]->snapshot_address(j);
  }
  // How many elements of the last snapshot still hold the poison.
  Result<std::size_t> unwritten(std::uint32_t set, std::size_t j) const;

 private:
  bool writes_destinations() const { return executor_->style() == Style::kDestinationPassing; }
  std::size_t arena_number(std::uint32_t set, std::size_t j) const {
    return set * signature_->outputs.size() + j;
  }
  Result<std::optional<Fault>> take_returned(std::uint32_t call, std::uint32_t set,
                                             std::uint32_t j);

  Executor* executor_;
  OutputMemory* memory_;
  const task::Signature* signature_;
  std::map<std::uint32_t, std::vector<std::uint64_t>> poison_seeds_;  // the key is set and output
  std::map<std::uint32_t, std::uint64_t> canary_seeds_;               // the key is the set
};

}  // namespace kw::gym
