#include "train/run/checkpoint_writer.h"

#include <utility>

#include "train/run/device.h"

namespace kw::train {

namespace fs = std::filesystem;

Status CheckpointWriter::begin(const TrainingState& state, const Weights& weights,
                               const Optimizer& optimizer, const at::Tensor& average) {
  KW_TRY([[maybe_unused]] const fs::path before, finish());
  if (!snapshot_) {
    KW_TRY(Snapshot made, Snapshot::make(weights, optimizer));
    snapshot_.emplace(std::move(made));
  }
  snapshot_->take(state, weights, optimizer, average);
  writing_ = std::async(std::launch::async,
                        [this] { return without_exceptions([this] { return write(); }); });
  return {};
}

Result<fs::path> CheckpointWriter::write() const {
  if (standstill_ == nullptr) return snapshot_->write(run_, base_model_, keep_);
  os::Standstill::Helping helping(*standstill_);
  return snapshot_->write(run_, base_model_, keep_, [&] { helping.rest(); });
}

Result<fs::path> CheckpointWriter::finish() {
  if (!writing_.valid()) return newest_;
  KW_TRY(newest_, writing_.get());
  saved_(newest_);
  return newest_;
}

}  // namespace kw::train
