// Making and clearing of output memory.
#include "gym/checker/output_memory.h"

namespace kw::gym {
namespace {

// Results that the executor still holds, beside one result for each set of a launch.
constexpr std::size_t kResultsInFlight = 3;

}  // namespace

Result<OutputMemory> OutputMemory::make(TensorAllocator& allocator,
                                        const task::Signature& signature, std::size_t sets) {
  OutputMemory memory;
  const Layout layout = Layout::for_writing(tensors_of(signature.outputs));
  for (std::size_t s = 0; s < sets; ++s) {
    KW_TRY(auto destination, allocator.allocate("outputs", layout, false));
    memory.destinations.push_back(std::move(destination));
  }
  return memory;
}

Status OutputMemory::ensure_arena(TensorAllocator& allocator, const task::Signature& signature) {
  if (arena != nullptr) return {};
  const Layout layout = Layout::for_writing(tensors_of(signature.outputs));
  KW_TRY(arena, allocator.allocate_arena(layout.total_bytes() *
                                         (destinations.size() / 2 + kResultsInFlight)));
  return {};
}

Status OutputMemory::clear() {
  for (const auto& destination : destinations) KW_TRY_STATUS(destination->clear());
  if (!destinations.empty()) KW_TRY_STATUS(destinations.front()->settle());
  return arena != nullptr ? arena->clear() : Status();
}

}  // namespace kw::gym
