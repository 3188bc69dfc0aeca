// kw_train_parity: how far the trainer's log-probabilities are from those that the engine recorded
// when it sampled.
//   kw_train_parity FOLDER cpu|cuda float32|bfloat16 SEQUENCES TOKENS [TOP_P] [--new-weights]
//     [--variants]
// Random prompts of 32 tokens, TOKENS sampled tokens each at temperature 1. Prints JSON: tokens,
// mean k3 of KL(engine || trainer), mean difference, largest difference. Under 1, TOP_P truncates,
// and both are of the truncated distribution. --new-weights: random ones, the folder has
// config.json alone. --variants, of cuda and bfloat16: a line for each of many ways to compute the
// forward pass, then one for the gradients and the time of a step. A way that fails prints a line
// {"variant": NAME, "error": REASON}; the others follow where the GPU still works. SEQUENCES and
// TOKENS may be small.
#include <algorithm>
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
#include "lm/model/rope.h"
#include "parity_record.h"
#include "parity_variants.h"
#include "train/model/decoder.h"
#include "train/model/lm_head.h"

namespace kw::train {
namespace {

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

// Variants one after the other: what fails is a line, and ends nothing but itself unless the GPU's
// context is lost by it.
class Attempts {
 public:
  // work: Status(). kUnavailable where the GPU is lost.
  Status run(const std::string& variant, const std::function<Status()>& work) {
    std::string error;
    try {
      if (const Status done = work(); !done) error = done.error().message();
    } catch (const std::exception& thrown) {
      error = thrown.what();
    }
    if (error.empty()) return {};
    failed_ = true;
    print({{"variant", variant}, {"error", error.substr(0, 500)}});
    if (gpu_works()) return {};
    return fail(ErrorCode::kUnavailable, "the GPU is lost after {:?}", variant);
  }
  bool failed() const { return failed_; }

 private:
  static bool gpu_works() {
    try {
      return at::ones({1}, at::TensorOptions(at::kCUDA)).item<float>() == 1;
    } catch (const std::exception&) {
      return false;
    }
  }
  bool failed_ = false;
};

struct NamedDecoder {
  std::string name;
  std::unique_ptr<const Decoder> decoder;  // null: it could not be made
  bool is_plain = false;
};

Status print_steps(Attempts& attempts, Weights& weights, const std::vector<NamedDecoder>& ways,
                   const std::vector<Sampled>& all) {
  const Batch batch = batch_of(weights, all, 0, 8, nullptr);
  at::Tensor first;
  for (const NamedDecoder& way : ways) {
    if (way.decoder == nullptr) continue;
    KW_TRY_STATUS(attempts.run("a step, " + way.name, [&]() -> Status {
      const at::Tensor gradient = gradient_of(weights, *way.decoder, batch);
      if (!first.defined()) first = gradient.clone();
      const double error = ((gradient - first).norm() / first.norm()).item<double>();
      const double forward = time_of(weights, [&] { return way.decoder->hidden(batch); });
      const double step =
          time_of(weights, [&] { return gradient_of(weights, *way.decoder, batch); });
      print({{"step", way.name},
             {"tokens", batch.tokens.size(0)},
             {"gradient_beside_the_first", error},
             {"forward_ms", forward},
             {"forward_and_backward_ms", step}});
      return {};
    }));
  }
  return {};
}

using NamedWays = std::vector<std::pair<std::string, Way>>;

// A record that could not be made is left out.
Status print_record(Attempts& attempts, const std::string& choice, const Options& o,
                    const Weights& weights, const std::optional<Record>& record,
                    const NamedWays& ways) {
  if (!record) return {};
  print({{"sampled", choice},
         {"tokens_per_second", static_cast<double>(o.sequences * o.tokens) / record->seconds}});
  const at::Tensor recorded = recorded_of(record->sequences);
  auto line = [&](const std::string& name, const std::function<at::Tensor()>& compute) {
    return attempts.run(choice + ", " + name, [&]() -> Status {
      Json out = compared(compute(), recorded);
      out["sampled"] = choice;
      out["top_p"] = o.top_p;
      out["computed"] = name;
      print(std::move(out));
      return {};
    });
  };
  KW_TRY_STATUS(line("the engine again, as prompts", [&] { return record->as_prompts; }));
  for (const auto& [name, way] : ways)
    KW_TRY_STATUS(line(name, [&] { return recompute(weights, record->sequences, way); }));
  return {};
}

// The trainer's decoder, and those by the engine's kernels, in the order of their lines.
Result<std::vector<NamedDecoder>> make_decoders(Attempts& attempts, const Options& o,
                                                const Weights& weights) {
  using lm::cuda::MatmulChoice;
  std::vector<NamedDecoder> out(1);
  out.front() = {"fastest", std::make_unique<Decoder>(weights, DecoderSettings{o.context()})};
  for (const auto& [choice, name] : {std::pair(MatmulChoice::kBatchInvariant, "engine's"),
                                     std::pair(MatmulChoice::kPlain, "engine's plain")}) {
    for (const bool own : {true, false}) {
      NamedDecoder one;
      one.name = fmt::format("{} {}", name, own ? "kernels" : "order, cuBLASLt where equal");
      one.is_plain = choice == MatmulChoice::kPlain;
      KW_TRY_STATUS(attempts.run(one.name, [&, choice = choice]() -> Status {
        DecoderSettings settings{o.context()};
        settings.engine = cuda::EngineNumbers{choice, own};
        one.decoder = std::make_unique<Decoder>(weights, settings);
        return {};
      }));
      out.push_back(std::move(one));
    }
  }
  return out;
}

NamedWays ways_of(const std::vector<NamedDecoder>& decoders, bool plain) {
  NamedWays out;
  for (const NamedDecoder& one : decoders) {
    const bool fastest = &one == &decoders.front();
    if (one.decoder == nullptr || (!fastest && one.is_plain != plain)) continue;
    Way way;
    way.hidden = [&one](const Batch& batch) { return one.decoder->hidden(batch); };
    way.head = one.decoder->engine_products();
    way.slack = fastest ? 0.02 : 1e-4;
    out.emplace_back(one.name, way);
  }
  if (plain || decoders[1].decoder == nullptr) return out;
  Way way;
  way.hidden = [&one = decoders[1]](const Batch& batch) { return one.decoder->hidden(batch); };
  way.slack = 1e-4;
  out.emplace_back("engine's kernels, cuBLASLt's head", way);
  way.head = decoders[1].decoder->engine_products();
  way.only_prompts = true;
  out.emplace_back("engine's kernels, all as prompts", way);
  way.only_prompts = false;
  way.only_decoded = true;
  out.emplace_back("engine's kernels, all as decoded", way);
  return out;
}

// Today's roundings replaced one by one.
void add_roundings(NamedWays& out, const Weights& weights, std::int64_t context) {
  const lm::RopeTable rope(weights.config(), context);
  auto table = [&](const std::vector<float>& values) {
    return at::tensor(values).view({-1, rope.half}).to(weights.device());
  };
  const at::Tensor cosines = table(rope.cosine), sines = table(rope.sine);
  const std::pair<std::string, Roundings> all[] = {
      {"today's", {}},
      {"factor after", {.factor_after = true}},
      {"wide inner", {.wide_inner = true}},
      {"wide attention", {.wide_attention = true}},
      {"wide inner and attention", {.wide_inner = true, .wide_attention = true}},
      {"factor after, wide inner and attention", {true, true, true}}};
  for (const auto& [name, roundings] : all) {
    Way way;
    way.hidden = [&weights, cosines, sines, roundings = roundings](const Batch& batch) {
      return hidden_with(weights, cosines, sines, batch, roundings);
    };
    way.slack = 0.02;
    out.emplace_back("roundings: " + name, way);
  }
}

Status print_variants(const Options& o) {
  using lm::cuda::MatmulChoice;
  Attempts attempts;
  std::optional<Record> joined, plain;
  KW_TRY(lm::Parameters masters, parameters_of(o));
  {
    KW_TRY(const lm::Parameters parameters, rounded(masters));
    auto make = [&](std::optional<Record>& record, const std::string& name, MatmulChoice choice) {
      return attempts.run("sampling, " + name, [&]() -> Status {
        KW_TRY(record, record_of(o, parameters, choice));
        return {};
      });
    };
    KW_TRY_STATUS(make(joined, "batch_invariant", MatmulChoice::kBatchInvariant));
    KW_TRY_STATUS(make(plain, "plain", MatmulChoice::kPlain));
  }
  Weights weights(masters, at::Device(at::kCUDA, 0), at::kBFloat16);
  KW_TRY(const std::vector<NamedDecoder> decoders, make_decoders(attempts, o, weights));
  NamedWays of_joined = ways_of(decoders, false);
  if (o.top_p == 1) add_roundings(of_joined, weights, o.context());
  KW_TRY_STATUS(print_record(attempts, "batch_invariant", o, weights, joined, of_joined));
  KW_TRY_STATUS(print_record(attempts, "plain", o, weights, plain, ways_of(decoders, true)));
  if (joined || plain)
    KW_TRY_STATUS(print_steps(attempts, weights, decoders, (joined ? joined : plain)->sequences));
  for (const NamedDecoder& one : decoders)
    if (one.decoder != nullptr && one.decoder->engine_products() != nullptr)
      for (const std::string& line : one.decoder->engine_products()->lines())
        print({{"product", line}});
  if (attempts.failed()) return fail(ErrorCode::kUnavailable, "some variants failed");
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
