// Poison, canaries and snapshots of one executor's outputs.
#include "gym/checker/executor_outputs.h"

#include "gym/correctness/returned.h"
#include "gym/inputs/poison.h"

namespace kw::gym {

Status ExecutorOutputs::guard(std::uint32_t set, Rng& rng, Guards guards) {
  if (!writes_destinations()) return {};
  TensorMemory& destination = *memory_->destinations[set];
  if (guards.move) destination.move(rng);
  auto& seeds = poison_seeds_[set];
  seeds.clear();
  for (std::size_t j = 0; guards.poison && j < signature_->outputs.size(); ++j)
    seeds.push_back(rng.next());
  canary_seeds_.erase(set);
  if (guards.canaries) canary_seeds_[set] = rng.next();
  for (std::size_t j = 0; j < seeds.size(); ++j)
    KW_TRY_STATUS(destination.poison(j, signature_->outputs[j].dtype, seeds[j]));
  return guards.canaries ? destination.write_canaries(canary_seeds_[set]) : Status();
}

Result<Later<bool>> ExecutorOutputs::canaries_intact_later(
    std::span<const std::uint32_t> sets) const {
  std::vector<Later<bool>> parts;
  for (std::uint32_t set : sets) {
    auto seed = canary_seeds_.find(set);
    if (seed == canary_seeds_.end()) continue;
    KW_TRY(Later<bool> part, memory_->destinations[set]->canaries_intact_later(seed->second));
    parts.push_back(std::move(part));
  }
  return Later<bool>([parts = std::move(parts)]() mutable -> Result<bool> {
    for (Later<bool>& part : parts) {
      KW_TRY(const bool intact, part.get());
      if (!intact) return false;
    }
    return true;
  });
}

Result<bool> ExecutorOutputs::canaries_intact(std::span<const std::uint32_t> sets) const {
  KW_TRY(Later<bool> later, canaries_intact_later(sets));
  return later.get();
}

Result<std::optional<Fault>> ExecutorOutputs::take_snapshot(std::span<const std::uint32_t> sets) {
  for (std::uint32_t call = 0; call < sets.size(); ++call) {
    for (std::uint32_t j = 0; j < signature_->outputs.size(); ++j) {
      if (writes_destinations()) {
        KW_TRY_STATUS(memory_->destinations[sets[call]]->take_snapshot(
            j, executor_->is_still_between_launches()));
        continue;
      }
      KW_TRY(auto fault, take_returned(call, sets[call], j));
      if (fault) return fault;
    }
  }
  return std::optional<Fault>();
}

Result<std::optional<Fault>> ExecutorOutputs::take_returned(std::uint32_t call, std::uint32_t set,
                                                            std::uint32_t j) {
  const task::Argument& declared = signature_->outputs[j];
  ResultArena* arena = memory_->arena.get();
  const OutputReport report = executor_->report(call, j);
  const ReturnedCheck check =
      check_returned(report, declared, arena != nullptr ? arena->bytes() : 0);
  if (check.outcome != task::Outcome::kPassed) {
    const bool forged = check.outcome == task::Outcome::kViolation;
    return std::optional(Fault{check.outcome, forged ? "forged_report" : "", check.message});
  }
  if (arena != nullptr) {
    KW_TRY_STATUS(arena->take_snapshot(arena_number(set, j), report, declared.bytes(),
                                       executor_->is_still_between_launches()));
  }
  return std::optional<Fault>();
}

Result<std::span<const std::byte>> ExecutorOutputs::output(std::uint32_t set, std::size_t j) const {
  if (writes_destinations()) return memory_->destinations[set]->snapshot(j);
  // Without an arena only a tensor without elements can have been returned.
  if (memory_->arena == nullptr) return std::span<const std::byte>();
  return memory_->arena->snapshot(arena_number(set, j));
}

Result<std::vector<std::span<const std::byte>>> ExecutorOutputs::outputs(std::uint32_t set) const {
  std::vector<std::span<const std::byte>> out;
  for (std::size_t j = 0; j < signature_->outputs.size(); ++j) {
    KW_TRY(auto bytes, output(set, j));
    out.push_back(bytes);
  }
  return out;
}

Result<std::vector<std::byte>> ExecutorOutputs::copy(std::uint32_t set, std::size_t j) const {
  if (writes_destinations()) return memory_->destinations[set]->snapshot_copy(j);
  KW_TRY(auto all, output(set, j));
  return std::vector<std::byte>(all.begin(), all.end());
}

Result<std::vector<std::byte>> ExecutorOutputs::part(std::uint32_t set, std::size_t j,
                                                     const Selection& part) const {
  const std::size_t size = tensor::size_of(signature_->outputs[j].dtype);
  if (writes_destinations()) return memory_->destinations[set]->snapshot_part(j, part, size);
  KW_TRY(auto all, output(set, j));
  return part.of(all, size);
}

Result<std::size_t> ExecutorOutputs::unwritten(std::uint32_t set, std::size_t j) const {
  auto seeds = poison_seeds_.find(set);
  if (seeds == poison_seeds_.end() || j >= seeds->second.size()) return std::size_t{0};
  KW_TRY(auto bytes, output(set, j));
  return count_poisoned(signature_->outputs[j].dtype, seeds->second[j], bytes);
}

}  // namespace kw::gym
