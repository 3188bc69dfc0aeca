// CheckpointWriter: checkpoints that are written beside the steps of a run.
//
// Theory of operation: begin() copies weights and moments to the host, and a thread of its own
// writes the copy while training goes on. One checkpoint at a time: begin() and finish() wait for
// the one before, and give its error. A process that is killed meanwhile leaves the checkpoints
// before it (checkpoint_folders.h). The destructor waits too. The thread stands still with the
// run's work where that does (os/standstill.h).
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <utility>

#include "base/result.h"
#include "os/standstill.h"
#include "train/run/training_state.h"

namespace kw::train {

// One thread at a time.
class CheckpointWriter {
 public:
  // run, base_model, keep: as of Snapshot::write. saved: called by begin() and finish() for each
  // checkpoint that is complete. standstill: borrowed, or null.
  CheckpointWriter(std::filesystem::path run, std::filesystem::path base_model, std::int64_t keep,
                   std::function<void(const std::filesystem::path&)> saved,
                   os::Standstill* standstill = nullptr)
      : run_(std::move(run)),
        base_model_(std::move(base_model)),
        keep_(keep),
        saved_(std::move(saved)),
        standstill_(standstill) {}

  // The arguments may change as soon as this returns. kResourceExhausted where the copy finds no
  // memory. With several ranks rank 0 has the writer, and the others call
  // Optimizer::give_state() meanwhile.
  Status begin(const TrainingState& state, const Weights& weights, const Optimizer& optimizer,
               const at::Tensor& average = {});
  // The newest checkpoint that this has written; empty: none.
  Result<std::filesystem::path> finish();

 private:
  Result<std::filesystem::path> write() const;

  const std::filesystem::path run_, base_model_;
  const std::int64_t keep_;
  const std::function<void(const std::filesystem::path&)> saved_;
  os::Standstill* const standstill_;
  std::filesystem::path newest_;
  std::optional<Snapshot> snapshot_;  // kept, so that later checkpoints take no more memory
  std::future<Result<std::filesystem::path>> writing_;
};

}  // namespace kw::train
