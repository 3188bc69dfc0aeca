#include "train/data/step_drawer.h"

#include <algorithm>
#include <utility>

#include "train/data/share.h"

namespace kw::train {

Status check_tokens(const Sample& sample, std::int64_t vocabulary) {
  for (std::int32_t token : sample.tokens)
    if (token >= vocabulary)
      return fail(ErrorCode::kInvalidArgument,
                  "data: token {} is not one of the model's {}: is it another model's tokenizer?",
                  token, vocabulary);
  return {};
}

double weight_of(std::span<const Sample> samples) {
  double out = 0;
  for (const Sample& one : samples)
    for (std::size_t i = 1; i < one.weights.size(); ++i) out += double{one.weights[i]};
  return out;
}

Result<DrawnStep> StepDrawer::next() {
  Result<DrawnStep> out = ahead_.valid() ? ahead_.get() : draw();
  if (out) ahead_ = std::async(std::launch::async, [this] { return draw(); });
  return out;
}

// Samples until the next one would be over the step's tokens; that one begins the next step.
Result<DrawnStep> StepDrawer::draw() {
  std::vector<Sample> samples;
  std::int64_t tokens = 0;
  for (;;) {
    if (!held_) {
      before_held_ = stream_.position();
      KW_TRY(held_, stream_.next());
      KW_TRY_STATUS(check_tokens(*held_, settings_.vocabulary));
    }
    tokens += static_cast<std::int64_t>(held_->size()) - 1;
    if (!samples.empty() && tokens > settings_.step_tokens) break;
    samples.push_back(std::move(*held_));
    held_.reset();
  }
  DrawnStep out{{}, weight_of(samples), before_held_, 0};
  for (int rank = 0; rank < settings_.ranks; ++rank) {
    auto packed = pack(share_of(samples, rank, settings_.ranks), settings_.micro_tokens);
    out.rounds = std::max(out.rounds, packed.size());
    if (rank == settings_.rank) out.micro_batches = std::move(packed);
  }
  return out;
}

}  // namespace kw::train
