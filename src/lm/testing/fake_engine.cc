#include "lm/testing/fake_engine.h"

#include <algorithm>

#include "base/check.h"

namespace kw::lm {

FakeEngine::FakeEngine(EngineLimits limits, std::int64_t vocabulary)
    : limits_(limits),
      vocabulary_(vocabulary),
      slots_(static_cast<std::size_t>(limits.slots)),
      versions_(limits.slots) {}

std::int32_t FakeEngine::next(const std::vector<std::int32_t>& tokens, std::uint64_t seed,
                              std::uint64_t sequence) const {
  std::uint64_t hash = 0xCBF29CE484222325ULL ^ seed ^ (sequence << 32U);
  for (std::int32_t token : tokens)
    hash = (hash ^ static_cast<std::uint64_t>(token)) * 0x100000001B3ULL;
  // The upper bits: a product carries upwards only, and the sequence stands in the upper half.
  return static_cast<std::int32_t>((hash >> 40U) % static_cast<std::uint64_t>(vocabulary_));
}

void FakeEngine::write(const Step& step) {
  KW_CHECK(!step.tokens.empty());
  KW_CHECK(step.tokens.size() <= static_cast<std::size_t>(limits_.step_tokens));
  step_sizes.push_back(step.tokens.size());
  versions_.write(step);
  for (std::size_t i = 0; i < step.tokens.size(); ++i) {
    auto& slot = slots_.at(static_cast<std::size_t>(step.slots[i]));
    const auto position = static_cast<std::size_t>(step.positions[i]);
    KW_CHECK(position <= slot.size());  // no hole
    KW_CHECK(position < static_cast<std::size_t>(limits_.context));
    slot.resize(position);
    slot.push_back(step.tokens[i]);
    if (step.phases[i] != Phase::kDecode) continue;
    ++decoded_rows;
    KW_CHECK(std::count(step.slots.begin(), step.slots.end(), step.slots[i]) == 1);
  }
}

void FakeEngine::run(const Step& step, std::span<Sample> samples) {
  write(step);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const SampleRequest& request = step.samples[i];
    const auto row = static_cast<std::size_t>(request.row);
    std::vector<std::int32_t> tokens = slots_.at(static_cast<std::size_t>(step.slots[row]));
    tokens.resize(static_cast<std::size_t>(step.positions[row]) + 1);
    KW_CHECK(request.position == tokens.size());
    samples[i].token = next(tokens, request.seed, request.sequence);
    samples[i].weights = versions_.weights();
  }
}

void FakeEngine::run_for_logits(const Step& step, std::span<float> logits) {
  write(step);
  std::fill(logits.begin(), logits.end(), 0.0F);
}

void FakeEngine::copy_slot(std::int32_t from, std::int32_t to, std::int32_t positions) {
  auto& source = slots_.at(static_cast<std::size_t>(from));
  versions_.copy(from, to);
  KW_CHECK(static_cast<std::size_t>(positions) <= source.size());
  slots_.at(static_cast<std::size_t>(to)).assign(source.begin(), source.begin() + positions);
}

}  // namespace kw::lm
