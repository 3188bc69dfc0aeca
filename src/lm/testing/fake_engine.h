// An engine without a model: the next token is a hash of all tokens of the slot so far, so that a
// scheduler that loses, repeats or misplaces one is found out.
#pragma once
#include <vector>

#include "lm/engine.h"
#include "lm/slot_versions.h"

namespace kw::lm {

class FakeEngine : public Engine {
 public:
  FakeEngine(EngineLimits limits, std::int64_t vocabulary);

  const EngineLimits& limits() const override { return limits_; }
  std::int64_t vocabulary() const override { return vocabulary_; }
  void run(const Step& step, std::span<Sample> samples) override;
  void run_for_logits(const Step& step, std::span<float> logits) override;
  void copy_slot(std::int32_t from, std::int32_t to, std::int32_t positions) override;
  void weights_changed(std::int32_t version) override { versions_.weights_changed(version); }
  std::int32_t weight_version() const override { return versions_.weights(); }

  // The token that follows these, of this request.
  std::int32_t next(const std::vector<std::int32_t>& tokens, std::uint64_t seed,
                    std::uint64_t sequence) const;

  std::vector<std::size_t> step_sizes;  // of every run
  std::int64_t decoded_rows = 0;        // of all runs

 private:
  void write(const Step& step);
  EngineLimits limits_;
  std::int64_t vocabulary_;
  std::vector<std::vector<std::int32_t>> slots_;
  SlotVersions versions_;
};

}  // namespace kw::lm
