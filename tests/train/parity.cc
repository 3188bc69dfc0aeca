// kw_train_parity: how far the trainer's log-probabilities are from those that the engine recorded
// when it sampled.
//   kw_train_parity FOLDER cpu|cuda float32|bfloat16 SEQUENCES TOKENS [TOP_P] [--new-weights]
//     [--variants]
// Random prompts of 32 tokens, TOKENS sampled tokens each at temperature 1. Prints JSON: tokens,
// mean k3 of KL(engine || trainer), differences. Under 1, TOP_P truncates, and both are of the
// truncated distribution. --new-weights: random ones, the folder has config.json alone. --variants,
// of cuda and bfloat16: a line for each way to compute the same log-probabilities (the engine, of
// the tokens as prompts; the trainer with products=fastest and with products=engine), then lines
// for the gradients and the time of a step with either.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "base/json.h"
#include "parity_record.h"
#include "train/model/decoder.h"
#include "train/model/lm_head.h"

namespace kw::train {
namespace {

Batch batch_of(const Weights& weights, const std::vector<Sampled>& all, std::size_t first,
               std::size_t count, std::vector<float>* cutoffs) {
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
  out.phases = std::move(phases);
  return out;
}

// The slack of truncated distributions, as in rl_step.cc.
double slack_of(const Weights& weights, const Decoder& decoder) {
  if (decoder.engine_products() != nullptr) return 5e-6;
  return weights.compute_dtype() == at::kFloat ? 2e-5 : 0.02;
}

// [sequences, tokens] float64: the trainer's log-probabilities of the sampled tokens.
at::Tensor recompute(const Weights& weights, const Decoder& decoder,
                     const std::vector<Sampled>& all) {
  std::vector<at::Tensor> out;
  for (std::size_t first = 0; first < all.size(); first += 8) {
    std::vector<float> cutoffs;
    const Batch batch = batch_of(weights, all, first, 8, &cutoffs);
    HeadSettings head;
    head.engine = decoder.engine_products();
    const at::Tensor logprobs =
        head_logprobs(decoder.hidden(batch), weights.head.value, batch.targets, head,
                      {.cutoffs = at::tensor(cutoffs).to(weights.device()),
                       .slack = slack_of(weights, decoder)})
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

// Differences of this size are float32 rounding of the head's sums.
constexpr double kRounding = 4e-6;

Json compared(const at::Tensor& got, const at::Tensor& recorded) {
  const at::Tensor d = got - recorded, alike = d.abs() <= kRounding;
  // The number of each sequence's samples before the first one that differs.
  const at::Tensor alike_so_far = alike.to(at::kLong).cumprod(1).sum(1);
  return Json{{"tokens", d.numel()},
              {"mean_k3", (d.exp() - d - 1).mean().item<double>()},
              {"mean_difference", d.mean().item<double>()},
              {"largest_difference", d.abs().max().item<double>()},
              {"share_within_4e-6", alike.to(at::kDouble).mean().item<double>()},
              {"first_difference", alike_so_far.min().item<std::int64_t>()}};
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

struct NamedDecoder {
  std::string name;
  Decoder decoder;
};

void print_step(Weights& weights, const NamedDecoder& way, const Batch& batch, at::Tensor& first) {
  const at::Tensor gradient = gradient_of(weights, way.decoder, batch);
  if (!first.defined()) first = gradient.clone();
  const double error = ((gradient - first).norm() / first.norm()).item<double>();
  const double forward = time_of(weights, [&] { return way.decoder.hidden(batch); });
  const double step = time_of(weights, [&] { return gradient_of(weights, way.decoder, batch); });
  print({{"step", way.name},
         {"tokens", batch.tokens.size(0)},
         {"gradient_beside_the_first", error},
         {"forward_ms", forward},
         {"forward_and_backward_ms", step}});
}

// A record of bfloat16 weights.
Result<Record> narrow_record(const Options& o, const lm::Parameters& masters) {
  KW_TRY(const lm::Parameters parameters, rounded(masters));
  return record_of(o, parameters);
}

Status print_variants(const Options& o) {
  KW_TRY(lm::Parameters masters, parameters_of(o));
  KW_TRY(const Record record, narrow_record(o, masters));
  print({{"sampled_tokens_per_second",
          static_cast<double>(o.sequences * o.tokens) / record.seconds}});
  const at::Tensor recorded = recorded_of(record.sequences);
  auto line = [&](const std::string& name, const at::Tensor& logprobs) {
    Json out = compared(logprobs, recorded);
    out["top_p"] = o.top_p;
    out["computed"] = name;
    print(std::move(out));
  };
  line("by the engine, as prompts", record.as_prompts);
  Weights weights(masters, at::Device(at::kCUDA, 0), at::kBFloat16);
  const NamedDecoder ways[] = {
      {"products=fastest", Decoder(weights, {.context = o.context()})},
      {"products=engine", Decoder(weights, {.context = o.context(), .by_engine = true})}};
  for (const NamedDecoder& way : ways)
    line(way.name, recompute(weights, way.decoder, record.sequences));
  const Batch batch = batch_of(weights, record.sequences, 0, 8, nullptr);
  at::Tensor first;
  for (const NamedDecoder& way : ways) print_step(weights, way, batch, first);
  for (const std::string& one : ways[1].decoder.engine_products()->lines())
    print({{"product", one}});
  return {};
}

Result<Json> measure(const Options& o) {
  KW_TRY(lm::Parameters masters, parameters_of(o));
  KW_TRY(const Record record, o.narrow() ? narrow_record(o, masters) : record_of(o, masters));
  const Weights weights(masters, o.cuda() ? at::Device(at::kCUDA, 0) : at::Device(at::kCPU),
                        o.narrow() ? at::kBFloat16 : at::kFloat);
  const Decoder decoder(weights, {.context = o.context()});
  Json out = compared(recompute(weights, decoder, record.sequences), recorded_of(record.sequences));
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
  try {
    if (const auto done = kw::train::run(*options); !done) {
      fmt::print(stderr, "error: {}\n", done.error().message());
      return 2;
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}
