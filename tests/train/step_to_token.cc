// kw_train_step_to_token: how long it takes from an optimizer step to the next token that is
// sampled with the new weights, in the memory that both share.
//   kw_train_step_to_token FOLDER [ROUNDS]
// The folder has config.json; weights are random, the GPU computes in bfloat16. A round is an
// optimizer step and a prompt of 128 tokens of a new sequence, of which one token is sampled.
// Prints JSON: medians in milliseconds of the step, and from its end to the token.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "base/json.h"
#include "train/optimizer/optimizer.h"
#include "train/rl/policy_engine.h"
#include "train/run/device.h"
#include "train/run/open_model.h"

namespace kw::train {
namespace {

constexpr std::int32_t kPromptTokens = 128;
constexpr int kWarmUp = 3;

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

lm::Sample sample_after_prompt(lm::Engine& engine) {
  lm::Step step;
  for (std::int32_t i = 0; i < kPromptTokens; ++i) step.add(i * 7 % 500, i, 0);
  lm::SampleRequest request;
  request.row = kPromptTokens - 1;
  step.samples = {request};
  lm::Sample out;
  engine.run(step, {&out, 1});
  return out;
}

Result<Json> measure(const std::string& folder, int rounds) {
  RlSettings settings;
  settings.slots = 64;
  settings.max_tokens = 1024;
  ModelSettings model;
  model.model = folder;
  model.new_weights = true;
  model.max_tokens = settings.max_tokens;
  model.device = "cuda";
  KW_TRY(const OpenModel policy, open_model(model));
  KW_TRY(const auto engine, make_policy_engine(*policy.weights, settings));
  Optimizer optimizer(*policy.weights, {});
  std::vector<double> steps, tokens;
  for (int round = -kWarmUp; round < rounds; ++round) {
    policy.weights->clear_gradients();
    at::Tensor(policy.weights->gradients()).fill_(1e-3);
    wait_for(policy.weights->device());
    const double begun = now_ms();
    optimizer.step(1e-6);
    engine->weights_changed(round + kWarmUp + 1);
    wait_for(policy.weights->device());
    const double stepped = now_ms();
    if (sample_after_prompt(*engine).weights != round + kWarmUp + 1)
      return fail(ErrorCode::kInternal, "the token is of other weights");
    const double sampled = now_ms();
    if (round < 0) continue;
    steps.push_back(stepped - begun);
    tokens.push_back(sampled - stepped);
  }
  return Json{{"step_ms", median(steps)},
              {"step_to_token_ms", median(tokens)},
              {"longest_step_to_token_ms", std::ranges::max(tokens)}};
}

}  // namespace
}  // namespace kw::train

int main(int argc, char** argv) {
  const auto measured = kw::train::without_exceptions([&] {
    return kw::train::measure(argc > 1 ? argv[1] : "", argc > 2 ? std::stoi(argv[2]) : 20);
  });
  if (measured) fmt::print("{}\n", measured->dump());
  if (!measured) fmt::print(stderr, "{}\n", measured.error().message());
  return measured ? 0 : 1;
}
