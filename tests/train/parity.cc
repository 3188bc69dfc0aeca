// kw_train_parity: how far the trainer's log-probabilities are from those that the engine recorded
// when it sampled.
//   kw_train_parity FOLDER cpu|cuda float32|bfloat16 SEQUENCES TOKENS [TOP_P] [--new-weights]
//     [--variants]
// Random prompts of 32 tokens, TOKENS sampled tokens each at temperature 1. Prints JSON: tokens,
// mean k3 of KL(engine || trainer), mean difference, largest difference. Under 1, TOP_P truncates,
// and both are of the truncated distribution. --new-weights: random ones, the folder has
// config.json alone. --variants, of cuda and bfloat16: a line for each of many ways to compute the
// forward pass, then one for the gradients and the time of a step.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "base/json.h"
#include "base/random.h"
#include "lm/cpu/cpu_engine.h"
#include "lm/cuda/cuda_engine.h"
#include "lm/model/checkpoint.h"
#include "lm/model/rope.h"
#include "parity_variants.h"
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

// How a forward pass is computed: what the head takes, [T, D], and with which product the head
// makes its logits.
struct Way {
  std::function<at::Tensor(const Batch&)> hidden;
  const cuda::EngineProducts* head = nullptr;
  double slack = 0;  // of truncated distributions
  bool only_prompts = false, only_decoded = false;
};

Batch batch_of(const Weights& weights, const std::vector<Sampled>& all, std::size_t first,
               std::size_t count, std::vector<float>* cutoffs, const Way* way = nullptr) {
  std::vector<std::int32_t> tokens, targets;
  std::vector<std::int64_t> lengths;
  std::vector<lm::Phase> phases;
  for (std::size_t s = first; s < std::min(first + count, all.size()); ++s) {
    tokens.insert(tokens.end(), all[s].tokens.begin(), all[s].tokens.end() - 1);
    targets.insert(targets.end(), all[s].tokens.begin() + 1, all[s].tokens.end());
    lengths.push_back(std::ssize(all[s].tokens) - 1);
    phases.insert(phases.end(), kPrompt, lm::Phase::kPrefill);
    phases.resize(tokens.size(), lm::Phase::kDecode);
    if (cutoffs == nullptr) continue;
    cutoffs->insert(cutoffs->end(), kPrompt - 1, lm::kNoCutoff);
    cutoffs->insert(cutoffs->end(), all[s].cutoffs.begin(), all[s].cutoffs.end());
  }
  Batch out = make_batch(tokens, targets, lengths, weights.device());
  if (way != nullptr && (way->only_prompts || way->only_decoded))
    phases.assign(phases.size(), way->only_prompts ? lm::Phase::kPrefill : lm::Phase::kDecode);
  out.phases = std::move(phases);
  return out;
}

// [sequences, tokens] float64: the trainer's log-probabilities of the sampled tokens.
at::Tensor recompute(const Weights& weights, const std::vector<Sampled>& all, const Way& way) {
  std::vector<at::Tensor> out;
  for (std::size_t first = 0; first < all.size(); first += 8) {
    std::vector<float> cutoffs;
    const Batch batch = batch_of(weights, all, first, 8, &cutoffs, &way);
    HeadSettings head;
    head.engine = way.head;
    const at::Tensor logprobs =
        head_logprobs(way.hidden(batch), weights.head.value, batch.targets, head,
                      {.cutoffs = at::tensor(cutoffs).to(weights.device()), .slack = way.slack})
            .logprobs;
    out.push_back(logprobs.view({std::ssize(batch.bounds) - 1, -1})
                      .narrow(1, kPrompt - 1, batch.longest - kPrompt + 1));
  }
  return at::cat(out).to(at::kCPU, at::kDouble);
}

// [sequences, tokens] float64.
at::Tensor recorded_of(const std::vector<Sampled>& all) {
  std::vector<double> out;
  for (const Sampled& one : all) out.insert(out.end(), one.logprobs.begin(), one.logprobs.end());
  return at::tensor(out).view({std::ssize(all), -1});
}

Json compared(const at::Tensor& got, const at::Tensor& recorded) {
  const at::Tensor d = got - recorded;
  auto largest = [](const at::Tensor& x) { return x.abs().max().item<double>(); };
  return Json{{"tokens", d.numel()},
              {"mean_k3", (d.exp() - d - 1).mean().item<double>()},
              {"mean_difference", d.mean().item<double>()},
              {"largest_difference", largest(d)},
              // Where the first difference comes in: after a prompt alone, after one decoded token.
              {"largest_of_first_samples", largest(d.narrow(1, 0, 1))},
              {"largest_of_second_samples",
               largest(d.narrow(1, std::min<std::int64_t>(1, d.size(1) - 1), 1))},
              {"share_within_4e-6", (d.abs() <= 4e-6).to(at::kDouble).mean().item<double>()}};
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
                                                lm::EngineLimits limits,
                                                lm::cuda::MatmulChoice choice) {
  if (device == "cuda") {
    lm::cuda::CudaOptions options;
    options.limits = limits;
    options.matmuls = choice;
    return lm::cuda::make_cuda_engine(parameters, options);
  }
  return lm::cpu::make_cpu_engine(parameters, {.threads = 2, .limits = limits});
}

struct Options {
  std::string folder, device, dtype;
  std::int64_t sequences = 0, tokens = 0;
  double top_p = 1;
  bool new_weights = false, variants = false;

  bool cuda() const { return device == "cuda"; }
  bool narrow() const { return dtype == "bfloat16"; }
  std::int64_t context() const { return kPrompt + tokens + 1; }
};

Result<lm::Parameters> parameters_of(const Options& o) {
  KW_TRY(const lm::ModelConfig config, lm::read_model_config(o.folder));
  if (!o.new_weights) return lm::load_checkpoint(o.folder, config, lm::WeightType::kFloat32);
  KW_TRY(lm::Parameters wide, lm::Parameters::make(config, lm::WeightType::kFloat32));
  lm::initialise(wide, 1);
  return wide;
}

// The same weights, rounded.
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

struct Record {
  std::vector<Sampled> sequences;
  at::Tensor as_prompts;  // [sequences, tokens]; undefined unless asked for
  double seconds = 0;     // of sampling
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<Record> record_of(const Options& o, const lm::Parameters& parameters,
                         lm::cuda::MatmulChoice choice) {
  // A whole sequence as a prompt, and a token of each sequence.
  const std::int64_t step_tokens = std::max(o.sequences * kPrompt, o.context());
  KW_TRY(const auto engine,
         make_engine(o.device, parameters, {o.sequences, o.context(), step_tokens}, choice));
  Record out;
  if (o.variants) sample(*engine, o.sequences, 4, o.top_p);  // matmuls are chosen
  const double begun = now();
  out.sequences = sample(*engine, o.sequences, o.tokens, o.top_p);
  out.seconds = now() - begun;
  if (o.variants) out.as_prompts = as_prompts(*engine, out.sequences, o.top_p);
  return out;
}

void print(Json line) {
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

// A step of training without the optimizer: [numbers of the gradient], on the GPU.
at::Tensor gradient_of(Weights& weights, const Decoder& decoder, const Batch& batch) {
  weights.clear_gradients();
  HeadSettings head;
  head.chunk_tokens = head_chunk_tokens(weights.config().vocabulary, true);
  head.engine = decoder.engine_products();
  Tape tape = decoder.forward(batch);
  const at::Tensor slopes =
      at::full({batch.targets.size(0)}, -1.0 / static_cast<double>(batch.targets.size(0)),
               at::TensorOptions(at::kFloat).device(weights.device()));
  const HeadGradients by_head =
      head_loss_gradients(tape.last.normed, weights.head, batch.targets, slopes, head);
  decoder.backward(batch, tape, by_head.hidden);
  return weights.gradients();
}

// Milliseconds, the least of three.
double time_of(const Weights& weights, const std::function<at::Tensor()>& work) {
  double least = 1e30;
  for (int i = 0; i < 4; ++i) {
    at::zeros({}, at::TensorOptions(weights.device())).item<float>();  // all before is complete
    const double begun = now();
    work().flatten()[0].item<float>();
    if (i > 0) least = std::min(least, now() - begun);
  }
  return least * 1e3;
}

void print_steps(Weights& weights, const std::vector<std::pair<std::string, const Decoder*>>& ways,
                 const std::vector<Sampled>& all) {
  const Batch batch = batch_of(weights, all, 0, 8, nullptr);
  at::Tensor first;
  for (const auto& [name, decoder] : ways) {
    const at::Tensor gradient = gradient_of(weights, *decoder, batch);
    if (!first.defined()) first = gradient.clone();
    const double error = ((gradient - first).norm() / first.norm()).item<double>();
    const double forward = time_of(weights, [&] { return decoder->hidden(batch); });
    const double step = time_of(weights, [&] { return gradient_of(weights, *decoder, batch); });
    print({{"step", name},
           {"tokens", batch.tokens.size(0)},
           {"gradient_beside_the_first", error},
           {"forward_ms", forward},
           {"forward_and_backward_ms", step}});
  }
}

using NamedWays = std::vector<std::pair<std::string, Way>>;

void print_record(const std::string& choice, const Options& o, const Weights& weights,
                  const Record& record, const NamedWays& ways) {
  print({{"sampled", choice},
         {"tokens_per_second", static_cast<double>(o.sequences * o.tokens) / record.seconds}});
  const at::Tensor recorded = recorded_of(record.sequences);
  auto line = [&](const std::string& name, const std::function<at::Tensor()>& compute) {
    Json out;
    try {
      out = compared(compute(), recorded);
    } catch (const std::exception& error) {
      out["error"] = std::string(error.what()).substr(0, 500);
    }
    out["sampled"] = choice;
    out["top_p"] = o.top_p;
    out["computed"] = name;
    print(std::move(out));
  };
  line("the engine again, as prompts", [&] { return record.as_prompts; });
  for (const auto& [name, way] : ways)
    line(name, [&] { return recompute(weights, record.sequences, way); });
}

Status print_variants(const Options& o) {
  using lm::cuda::MatmulChoice;
  std::optional<Record> joined, plain;
  KW_TRY(lm::Parameters masters, parameters_of(o));
  {
    KW_TRY(const lm::Parameters parameters, rounded(masters));
    KW_TRY(joined, record_of(o, parameters, MatmulChoice::kBatchInvariant));
    KW_TRY(plain, record_of(o, parameters, MatmulChoice::kPlain));
  }
  Weights weights(masters, at::Device(at::kCUDA, 0), at::kBFloat16);
  const Decoder fastest(weights, {.context = o.context()});
  auto engine_of = [&](MatmulChoice choice, bool own) {
    return DecoderSettings{.context = o.context(), .engine = cuda::EngineNumbers{choice, own}};
  };
  const Decoder engine(weights, engine_of(MatmulChoice::kBatchInvariant, true));
  const Decoder equal(weights, engine_of(MatmulChoice::kBatchInvariant, false));
  const Decoder plain_engine(weights, engine_of(MatmulChoice::kPlain, true));
  const Decoder plain_equal(weights, engine_of(MatmulChoice::kPlain, false));
  const lm::RopeTable rope(weights.config(), o.context());
  auto table = [&](const std::vector<float>& values) {
    return at::tensor(values).view({-1, rope.half}).to(weights.device());
  };
  const at::Tensor cosines = table(rope.cosine), sines = table(rope.sine);
  auto of = [](const Decoder& decoder) {
    return [&decoder](const Batch& batch) { return decoder.hidden(batch); };
  };
  auto with = [&](Roundings roundings) {
    return [&, roundings](const Batch& batch) {
      return hidden_with(weights, cosines, sines, batch, roundings);
    };
  };
  const cuda::EngineProducts* const products = engine.engine_products();
  NamedWays of_joined = {
      {"fastest", {of(fastest), nullptr, 0.02}},
      {"engine's kernels", {of(engine), products, 1e-4}},
      {"engine's order, cuBLASLt where equal", {of(equal), equal.engine_products(), 1e-4}},
      {"engine's kernels, cuBLASLt's head", {of(engine), nullptr, 1e-4}},
      {"engine's kernels, all as prompts", {of(engine), products, 1e-4, true, false}},
      {"engine's kernels, all as decoded", {of(engine), products, 1e-4, false, true}},
  };
  const NamedWays of_plain = {
      {"fastest", {of(fastest), nullptr, 0.02}},
      {"engine's plain kernels", {of(plain_engine), products, 1e-4}},
      {"engine's plain order, cuBLASLt where equal",
       {of(plain_equal), plain_equal.engine_products(), 1e-4}},
  };
  const std::pair<std::string, Roundings> roundings[] = {
      {"today's", {}},
      {"factor after", {.factor_after = true}},
      {"wide inner", {.wide_inner = true}},
      {"wide attention", {.wide_attention = true}},
      {"wide inner and attention", {.wide_inner = true, .wide_attention = true}},
      {"factor after, wide inner and attention", {true, true, true}}};
  for (const auto& [name, some] : roundings)
    if (o.top_p == 1) of_joined.push_back({"roundings: " + name, {with(some), nullptr, 0.02}});
  print_record("batch_invariant", o, weights, *joined, of_joined);
  print_record("plain", o, weights, *plain, of_plain);
  print_steps(weights,
              {{"fastest", &fastest},
               {"engine's kernels", &engine},
               {"engine's order, cuBLASLt where equal", &equal},
               {"engine's plain kernels", &plain_engine},
               {"engine's plain order, cuBLASLt where equal", &plain_equal}},
              joined->sequences);
  for (const Decoder* one : {&equal, &plain_equal})
    for (const std::string& line : one->engine_products()->lines()) print({{"product", line}});
  return {};
}

Result<Json> measure(const Options& o) {
  std::optional<Record> record;
  KW_TRY(lm::Parameters masters, parameters_of(o));
  if (o.narrow()) {
    KW_TRY(const lm::Parameters parameters, rounded(masters));
    KW_TRY(record, record_of(o, parameters, lm::cuda::MatmulChoice::kBatchInvariant));
  } else {
    KW_TRY(record, record_of(o, masters, lm::cuda::MatmulChoice::kBatchInvariant));
  }
  const Weights weights(masters, o.cuda() ? at::Device(at::kCUDA, 0) : at::Device(at::kCPU),
                        o.narrow() ? at::kBFloat16 : at::kFloat);
  const Decoder decoder(weights, {.context = o.context()});
  Way way;
  way.hidden = [&](const Batch& batch) { return decoder.hidden(batch); };
  way.slack = o.narrow() ? 0.02 : 2e-5;
  Json out = compared(recompute(weights, record->sequences, way), recorded_of(record->sequences));
  out["top_p"] = o.top_p;
  return out;
}

Status run(const Options& o) {
  if (o.variants) return print_variants(o);
  KW_TRY(const Json line, measure(o));
  print(line);
  return {};
}

std::optional<Options> options_of(std::vector<std::string> words) {
  Options out;
  out.new_weights = std::erase(words, "--new-weights") > 0;
  out.variants = std::erase(words, "--variants") > 0;
  if (words.size() != 5 && words.size() != 6) return std::nullopt;
  out.folder = words[0];
  out.device = words[1];
  out.dtype = words[2];
  out.sequences = std::stoll(words[3]);
  out.tokens = std::stoll(words[4]);
  if (words.size() == 6) out.top_p = std::stod(words[5]);
  return out;
}

}  // namespace
}  // namespace kw::train

int main(int argc, char** argv) {
  const auto options = kw::train::options_of({argv + 1, argv + argc});
  if (!options) {
    fmt::print(stderr,
               "usage: kw_train_parity FOLDER cpu|cuda float32|bfloat16 SEQUENCES TOKENS [TOP_P] "
               "[--new-weights] [--variants]\n");
    return 2;
  }
  if (const auto done = kw::train::run(*options); !done) {
    fmt::print(stderr, "error: {}\n", done.error().message());
    return 2;
  }
}
