// StepDrawer: the micro-batches of one optimizer step after the other, drawn and packed while the
// step before is computed.
#pragma once
#include <cstdint>
#include <future>
#include <optional>
#include <span>
#include <vector>

#include "train/data/packer.h"
#include "train/data/sample.h"
#include "train/data/stream.h"

namespace kw::train {

// kInvalidArgument: a token that is not under vocabulary.
Status check_tokens(const Sample& sample, std::int64_t vocabulary);

// The sum of the loss weights of all tokens that are predicted: all but the first of each sample.
double weight_of(std::span<const Sample> samples);

struct DrawnStep {
  std::vector<PackedSamples> micro_batches;  // of this rank's share
  double weight = 0;  // sum of the loss weights of all tokens that are predicted, of all ranks
  StreamPosition position;  // where the next step begins
  std::size_t rounds = 0;   // micro-batches of the rank that has most of them
};

struct StepSettings {
  std::int64_t step_tokens = 0;   // of a step at most, but one sample at least
  std::int64_t micro_tokens = 0;  // of a micro-batch at most, but one sample at least
  std::int64_t vocabulary = 0;    // tokens are under it
  int rank = 0, ranks = 1;        // whose share of each step is packed
};

// One thread at a time; draws on a thread of its own.
class StepDrawer {
 public:
  StepDrawer(Stream stream, const StepSettings& settings)
      : stream_(std::move(stream)), settings_(settings) {}
  StepDrawer(const StepDrawer&) = delete;
  StepDrawer& operator=(const StepDrawer&) = delete;

  // Errors of rows, and kInvalidArgument for a token of another vocabulary.
  Result<DrawnStep> next();
  // Before the first next(): steps begin there.
  void seek(StreamPosition position) { stream_.seek(std::move(position)); }
  // Before the first next(), or in a DrawnStep after it.
  const StreamPosition& position() const { return stream_.position(); }

 private:
  Result<DrawnStep> draw();

  Stream stream_;
  StepSettings settings_;
  std::optional<Sample> held_;  // drawn, but too long for the step before
  StreamPosition before_held_;
  std::future<Result<DrawnStep>> ahead_;  // last: its destructor waits, and it uses the others
};

}  // namespace kw::train
