#include "parity_record.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include <ATen/ATen.h>

#include "base/random.h"
#include "lm/cpu/cpu_engine.h"
#include "lm/cuda/cuda_engine.h"
#include "lm/model/checkpoint.h"

namespace kw::train {
namespace {

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

// The engine's own log-probabilities of the same tokens, computed as prompts.
at::Tensor as_prompts(lm::Engine& engine, const std::vector<Sampled>& all, double top_p) {
  std::vector<double> out;
  for (std::size_t s = 0; s < all.size(); ++s) {
    lm::Step step;
    for (std::size_t i = 0; i + 1 < all[s].tokens.size(); ++i) {
      step.add(all[s].tokens[i], static_cast<std::int32_t>(i), static_cast<std::int32_t>(s));
      if (i + 1 < static_cast<std::size_t>(kPrompt)) continue;
      step.samples.push_back(request_of(i, s, i + 1, top_p));
      step.samples.back().forced = all[s].tokens[i + 1];
    }
    std::vector<lm::Sample> drawn(step.samples.size());
    engine.run(step, drawn);
    for (const lm::Sample& one : drawn) out.push_back(one.policy_logprob);
  }
  return at::tensor(out).view({std::ssize(all), -1});
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

}  // namespace

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<lm::Parameters> parameters_of(const Options& o) {
  KW_TRY(const lm::ModelConfig config, lm::read_model_config(o.folder));
  if (!o.new_weights) return lm::load_checkpoint(o.folder, config, lm::WeightType::kFloat32);
  KW_TRY(lm::Parameters wide, lm::Parameters::make(config, lm::WeightType::kFloat32));
  lm::initialise(wide, 1, static_cast<int>(std::thread::hardware_concurrency()));
  return wide;
}

Result<lm::Parameters> rounded(const lm::Parameters& wide) {
  KW_TRY(lm::Parameters out, lm::Parameters::make(wide.config(), lm::WeightType::kBFloat16));
  const std::vector<lm::NamedParameter> from = wide.named(), to = out.named();
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::copy(from[i].vector.begin(), from[i].vector.end(), to[i].vector.begin());
    const lm::Matrix& matrix = from[i].matrix;
    for (std::int64_t row = 0; from[i].is_matrix() && row < matrix.rows; ++row)
      lm::encode_row({reinterpret_cast<const float*>(matrix.row(row)),
                      static_cast<std::size_t>(matrix.columns)},
                     to[i].matrix, row);
  }
  return out;
}

Result<Record> record_of(const Options& o, const lm::Parameters& parameters) {
  // A whole sequence as a prompt, and a token of each sequence.
  const std::int64_t step_tokens = std::max(o.sequences * kPrompt, o.context());
  KW_TRY(const auto engine,
         make_engine(o.device, parameters, {o.sequences, o.context(), step_tokens}));
  Record out;
  if (o.variants) sample(*engine, o.sequences, 4, o.top_p);  // matmuls are chosen
  const double begun = now();
  out.sequences = sample(*engine, o.sequences, o.tokens, o.top_p);
  out.seconds = now() - begun;
  if (o.variants) out.as_prompts = as_prompts(*engine, out.sequences, o.top_p);
  return out;
}

}  // namespace kw::train
