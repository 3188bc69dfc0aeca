// Making and clearing of output memory.
#include "gym/checker/output_memory.h"

#include <cstring>

#include "os/parallel.h"

namespace kw::gym {
namespace {

// Beside one result a set of a go: those that the executor still holds meanwhile.
constexpr std::size_t kResultsInFlight = 3;
constexpr std::size_t kZeroedPiece = 1ULL << 20U;

void zero(std::span<std::byte> bytes) {
  os::in_parallel_pieces(bytes.size(), kZeroedPiece, 1, [&](std::size_t first, std::size_t last) {
    std::memset(bytes.data() + first, 0, last - first);
  });
}

}  // namespace

Result<OutputMemory> OutputMemory::make(const task::Signature& signature, std::size_t sets) {
  OutputMemory memory;
  Layout layout = Layout::for_writing(tensors_of(signature.outputs));
  for (std::size_t s = 0; s < sets; ++s) {
    KW_TRY(SharedTensors destination, SharedTensors::make("outputs", layout, false));
    memory.destinations.push_back(std::move(destination));
  }
  return memory;
}

Status OutputMemory::ensure_arena(const task::Signature& signature) {
  if (arena.valid()) return {};
  Layout layout = Layout::for_writing(tensors_of(signature.outputs));
  std::size_t bytes = layout.file_bytes() * (destinations.size() / 2 + kResultsInFlight);
  KW_TRY(arena_fd, os::make_memory_file("arena", bytes));
  KW_TRY(arena, os::Mapping::shared(arena_fd.get(), bytes, true));
  return os::seal_seals(arena_fd.get());
}

void OutputMemory::clear() {
  for (SharedTensors& destination : destinations) zero(destination.bytes());
  if (arena.valid()) zero(arena.bytes());
}

}  // namespace kw::gym
