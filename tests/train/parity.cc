// kw_train_parity: how far the trainer's log-probabilities are from those that the engine recorded
// when it sampled.
//   kw_train_parity FOLDER cpu|cuda float32|bfloat16 SEQUENCES TOKENS [TOP_P]
// Random prompts of 32 tokens, TOKENS sampled tokens each at temperature 1. Prints JSON: tokens,
// mean k3 of KL(engine || trainer), mean difference, largest difference. Under 1, TOP_P truncates,
// and both are of the truncated distribution.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "base/json.h"
#include "base/random.h"
#include "lm/cpu/cpu_engine.h"
#include "lm/cuda/cuda_engine.h"
#include "lm/model/checkpoint.h"
#include "train/model/decoder.h"
#include "train/model/lm_head.h"

namespace kw::train {
namespace {

constexpr std::int64_t kPrompt = 32;

struct Sampled {
  std::vector<std::int32_t> tokens;  // prompt, then what was sampled
  // Of the sampled ones.
  std::vector<float> logprobs, cutoffs;
};

lm::SampleRequest request_of(std::size_t row, std::uint64_t sequence, std::size_t position,
                             double top_p) {
  lm::SampleRequest out;
  out.settings.top_p = top_p;
  out.row = static_cast<std::int32_t>(row);
  out.seed = 1;
  out.sequence = sequence;
  out.position = static_cast<std::uint32_t>(position);
  return out;
}

std::vector<Sampled> sample(lm::Engine& engine, std::int64_t sequences, std::int64_t tokens,
                            double top_p) {
  std::vector<Sampled> out(static_cast<std::size_t>(sequences));
  Rng rng(7);
  lm::Step step;
  for (std::size_t s = 0; s < out.size(); ++s) {
    for (std::int64_t i = 0; i < kPrompt; ++i) {
      out[s].tokens.push_back(
          static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(engine.vocabulary()))));
      step.add(out[s].tokens.back(), static_cast<std::int32_t>(i), static_cast<std::int32_t>(s));
    }
    step.samples.push_back(request_of(step.tokens.size() - 1, s, out[s].tokens.size(), top_p));
  }
  std::vector<lm::Sample> drawn(out.size());
  for (std::int64_t i = 0; i < tokens; ++i) {
    engine.run(step, drawn);
    step.clear();
    for (std::size_t s = 0; s < out.size(); ++s) {
      step.add(drawn[s].token, static_cast<std::int32_t>(out[s].tokens.size()),
               static_cast<std::int32_t>(s), lm::Phase::kDecode);
      out[s].tokens.push_back(drawn[s].token);
      out[s].logprobs.push_back(drawn[s].policy_logprob);
      out[s].cutoffs.push_back(drawn[s].cutoff);
      step.samples.push_back(request_of(s, s, out[s].tokens.size(), top_p));
    }
  }
  return out;
}

// [sequences x tokens] float64: the trainer's log-probabilities of the sampled tokens.
at::Tensor recompute(const Weights& weights, const Decoder& decoder,
                     const std::vector<Sampled>& all, double slack) {
  std::vector<at::Tensor> out;
  for (std::size_t first = 0; first < all.size(); first += 8) {
    std::vector<std::int32_t> tokens, targets;
    std::vector<std::int64_t> lengths;
    std::vector<float> cutoffs;
    for (std::size_t s = first; s < std::min(first + 8, all.size()); ++s) {
      tokens.insert(tokens.end(), all[s].tokens.begin(), all[s].tokens.end() - 1);
      targets.insert(targets.end(), all[s].tokens.begin() + 1, all[s].tokens.end());
      lengths.push_back(std::ssize(all[s].tokens) - 1);
      cutoffs.insert(cutoffs.end(), kPrompt - 1, lm::kNoCutoff);
      cutoffs.insert(cutoffs.end(), all[s].cutoffs.begin(), all[s].cutoffs.end());
    }
    const Batch batch = make_batch(tokens, targets, lengths, weights.device());
    const at::Tensor logprobs =
        head_logprobs(decoder.hidden(batch), weights.head.value, batch.targets, {},
                      {.cutoffs = at::tensor(cutoffs).to(weights.device()), .slack = slack})
            .logprobs;
    out.push_back(
        logprobs.view({std::ssize(lengths), -1}).narrow(1, kPrompt - 1, lengths[0] - kPrompt + 1));
  }
  return at::cat(out).to(at::kCPU, at::kDouble).flatten();
}

Result<std::unique_ptr<lm::Engine>> make_engine(const std::string& device,
                                                const lm::Parameters& parameters,
                                                lm::EngineLimits limits) {
  if (device == "cuda") {
    lm::cuda::CudaOptions options;
    options.limits = limits;
    return lm::cuda::make_cuda_engine(parameters, options);
  }
  return lm::cpu::make_cpu_engine(parameters, {.threads = 2, .limits = limits});
}

Result<Json> measure(const std::vector<std::string>& words) {
  const bool cuda = words[1] == "cuda", narrow = words[2] == "bfloat16";
  const std::int64_t sequences = std::stoll(words[3]), tokens = std::stoll(words[4]);
  const double top_p = words.size() > 5 ? std::stod(words[5]) : 1;
  const std::int64_t context = kPrompt + tokens + 1;
  KW_TRY(const lm::ModelConfig config, lm::read_model_config(words[0]));
  std::vector<Sampled> all;
  {
    KW_TRY(const lm::Parameters parameters,
           lm::load_checkpoint(words[0], config,
                               narrow ? lm::WeightType::kBFloat16 : lm::WeightType::kFloat32));
    KW_TRY(const auto engine,
           make_engine(words[1], parameters, {sequences, context, sequences * kPrompt}));
    all = sample(*engine, sequences, tokens, top_p);
  }
  KW_TRY(lm::Parameters masters, lm::load_checkpoint(words[0], config, lm::WeightType::kFloat32));
  const Weights weights(masters, cuda ? at::Device(at::kCUDA, 0) : at::Device(at::kCPU),
                        narrow ? at::kBFloat16 : at::kFloat);
  const Decoder decoder(weights, {.context = context});
  std::vector<double> recorded;
  for (const Sampled& one : all)
    recorded.insert(recorded.end(), one.logprobs.begin(), one.logprobs.end());
  const at::Tensor d =
      recompute(weights, decoder, all, narrow ? 0.02 : 2e-5) - at::tensor(recorded);
  return Json{{"tokens", d.numel()},
              {"top_p", top_p},
              {"mean_k3", (d.exp() - d - 1).mean().item<double>()},
              {"mean_difference", d.mean().item<double>()},
              {"largest_difference", d.abs().max().item<double>()}};
}

}  // namespace
}  // namespace kw::train

int main(int argc, char** argv) {
  if (argc != 6 && argc != 7) {
    fmt::print(
        stderr,
        "usage: kw_train_parity FOLDER cpu|cuda float32|bfloat16 SEQUENCES TOKENS [TOP_P]\n");
    return 2;
  }
  const auto result = kw::train::measure({argv + 1, argv + argc});
  if (!result) {
    fmt::print(stderr, "error: {}\n", result.error().message());
    return 2;
  }
  fmt::print("{}\n", result->dump());
}
