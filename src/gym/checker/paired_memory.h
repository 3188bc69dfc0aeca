// PairedMemory: the output memory of baseline and candidate, made at once for both, and given from
// one pair of processes to the next.
#pragma once
#include <optional>

#include "base/result.h"
#include "gym/checker/output_memory.h"
#include "gym/checker/session_seeds.h"
#include "gym/checker/tensor_memory.h"
#include "task/signature.h"

namespace kw::gym {

// Borrows all that it is made of. Not thread-safe.
class PairedMemory {
 public:
  // clears: whether memory is zeroed before another executor gets it.
  PairedMemory(TensorAllocator& allocator, const task::Signature& signature, SessionSeeds& seeds,
               bool clears)
      : allocator_(&allocator), signature_(&signature), seeds_(&seeds), clears_(clears) {}

  // For the next pair of `sets` sets a side. is_free: nothing of the processes before can write to
  // the memory any more; it is used again then, else new memory is made. exchanged: whether each
  // side gets what the other had when it was drawn last; nullopt draws.
  Status renew(std::size_t sets, bool is_free, std::optional<bool> exchanged);
  // For the next candidate beside the same baseline.
  Status renew_candidate(std::size_t sets, bool is_free);

  OutputMemory& baseline() { return baseline_; }
  OutputMemory& candidate() { return candidate_; }

 private:
  TensorAllocator* allocator_;
  const task::Signature* signature_;
  SessionSeeds* seeds_;
  bool clears_;
  OutputMemory baseline_, candidate_;
  bool is_exchanged_ = false;        // since it was drawn which side gets which
  bool candidate_is_clear_ = false;  // no executor has had it since
};

}  // namespace kw::gym
