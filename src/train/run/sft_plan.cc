#include "train/run/sft_plan.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/text.h"
#include "lm/model/lora.h"
#include "train/model/distill_head.h"
#include "train/model/lm_head.h"

namespace kw::train {
namespace {

// What one token leaves for the backward pass of one layer (LayerTape): the sums that are normed in
// float32, heads, the attention's result, gate and up in the compute dtype.
std::uint64_t bytes_per_token(const lm::ModelConfig& c, bool narrow) {
  const std::int64_t qkv = c.query_width() + 2 * c.kv_width();
  const std::int64_t wide = 2 * c.hidden + (c.qk_norm ? qkv : 0);
  const std::int64_t operands = qkv + c.query_width() + 2 * c.intermediate;
  return static_cast<std::uint64_t>(4 * wide + (narrow ? 2 : 4) * operands);
}

// Weights of the projections of one layer, and of the largest of them.
std::int64_t projections(const lm::ModelConfig& c) {
  return c.hidden * (2 * c.query_width() + 2 * c.kv_width() + 3 * c.intermediate);
}
std::int64_t largest_projection(const lm::ModelConfig& c) {
  return c.hidden * std::max(c.query_width(), c.intermediate);
}

// Muon has one moment for a matrix where AdamW has two, and copies of some matrices at a time.
void plan_muon(const lm::ModelConfig& c, const SftSettings& settings, bool narrow, SftPlan& out) {
  const bool is_adapter = settings.lora.trains_adapter();
  const std::int64_t matrices = is_adapter ? out.trained : c.layers * projections(c);
  const std::int64_t largest =
      is_adapter ? settings.lora.rank * std::max({c.hidden, c.query_width(), c.intermediate})
                 : largest_projection(c);
  out.moments -= 4 * static_cast<std::uint64_t>(matrices);
  const std::int64_t together = std::min(std::max(kMuonNumbers, largest), c.layers * largest);
  out.muon = static_cast<std::uint64_t>(kMuonBlocks * (narrow ? 2 : 4) * together);
}

// One for the embedding, in which an untied head's gradient is made before, two for layers by
// turns, and the final norm (Weights::buckets).
void plan_buckets(const lm::ModelConfig& c, SftPlan& out) {
  const std::int64_t embedding = c.vocabulary * c.hidden;
  const std::int64_t outside = embedding * (c.tied_embeddings ? 1 : 2) + c.hidden;
  const std::int64_t layer = (out.parameters - outside) / c.layers;
  out.buckets = static_cast<std::uint64_t>(
      4 * (embedding + std::min<std::int64_t>(c.layers, 2) * layer + c.hidden));
  out.vectors = static_cast<std::uint64_t>(4 * (c.layers * (layer - projections(c)) + c.hidden));
}

}  // namespace

std::int64_t recomputed_layers(const SftSettings& settings, std::int64_t layers) {
  if (!settings.recompute) return 0;
  return settings.recompute_layers == 0 ? layers : std::min(settings.recompute_layers, layers);
}

SftPlan plan_sft(const lm::ModelConfig& config, const SftSettings& settings, bool narrow,
                 std::int64_t sequence) {
  SftPlan out;
  out.parameters = config.parameters();
  const auto count = static_cast<std::uint64_t>(out.parameters);
  const bool is_adapter = settings.lora.trains_adapter();
  out.trained = is_adapter ? lm::lora_parameters(config, {settings.lora.rank, settings.lora.alpha,
                                                          settings.lora.targets})
                           : out.parameters;
  const auto trained = static_cast<std::uint64_t>(out.trained);
  out.masters = 4 * trained;
  out.moments = 8 * trained;
  out.gradients = 4 * trained;
  if (settings.muon.is_chosen()) plan_muon(config, settings, narrow, out);
  out.frozen = is_adapter ? 4 * count : 0;
  out.checkpoint = out.masters + out.moments + out.frozen;
  plan_buckets(config, out);
  if (narrow || is_adapter) out.computed = (narrow ? 2 : 4) * count;
  const auto tokens =
      static_cast<std::uint64_t>(std::max(settings.micro_tokens, settings.max_tokens));
  const auto again = static_cast<std::uint64_t>(recomputed_layers(settings, config.layers));
  const std::uint64_t kept = static_cast<std::uint64_t>(config.layers) - again;
  const std::uint64_t layer = bytes_per_token(config, narrow);
  const std::uint64_t input = 4 * static_cast<std::uint64_t>(config.hidden);
  // Layers that are computed again leave their input, and one at a time is there whole.
  out.activations = tokens * (again * input + kept * layer + (again > 0 ? layer : 0));
  const std::int64_t chunk =
      settings.head_chunk > 0 ? settings.head_chunk : head_chunk_tokens(config.vocabulary, narrow);
  out.logits = (narrow ? 4U : 12U) *
               static_cast<std::uint64_t>(std::min(chunk, static_cast<std::int64_t>(tokens)) *
                                          config.vocabulary);
  const std::int64_t looked_up =
      config.tied_embeddings ? 0 : config.vocabulary * config.hidden;  // an embedding is no product
  out.forward_flop_per_token =
      2.0 * static_cast<double>(out.parameters - looked_up) +
      2.0 * static_cast<double>(config.layers * config.query_width() * sequence);
  // Backward: two products for each of the forward pass, but those for the weights' own gradients.
  out.flop_per_token = 3 * out.forward_flop_per_token -
                       (is_adapter ? 2.0 * static_cast<double>(out.parameters - looked_up) : 0);
  return out;
}

SftPlan plan_distill(const lm::ModelConfig& config, const lm::ModelConfig& teacher,
                     const DistillSettings& settings, bool narrow, std::int64_t sequence) {
  SftPlan out = plan_sft(config, settings.rows, narrow, sequence);
  // A frozen model has its float32 numbers, and a GPU their bfloat16 copy too.
  out.teacher = (narrow ? 6 : 4) * static_cast<std::uint64_t>(teacher.parameters());
  const std::int64_t chunk = settings.rows.head_chunk > 0
                                 ? settings.rows.head_chunk
                                 : distill_chunk_tokens(config.vocabulary, narrow);
  const std::int64_t tokens = std::max(settings.rows.micro_tokens, settings.rows.max_tokens);
  out.logits =
      static_cast<std::uint64_t>(4 * kDistillBlocks * std::min(chunk, tokens) * config.vocabulary);
  out.flop_per_token += plan_sft(teacher, settings.rows, narrow, sequence).forward_flop_per_token;
  return out;
}

SftPlan plan_of_rank(SftPlan plan, int ranks) {
  plan.ranks = ranks;
  if (ranks == 1) return plan;
  auto share = [ranks](std::uint64_t bytes) {
    const auto count = static_cast<std::uint64_t>(ranks);
    return (bytes + count - 1) / count;
  };
  plan.moments = share(plan.moments);
  if (plan.frozen > 0) return plan;  // an adapter is whole on every rank
  plan.gradients = share(plan.gradients) + plan.buckets;
  if (plan.computed > 0) {
    plan.masters = share(plan.masters);
    plan.computed += plan.vectors;
  }
  return plan;
}

std::string to_text(const SftPlan& plan, const SftSettings& settings, double flop_per_second) {
  std::string out;
  auto line = [&](std::string_view name, const std::string& value) {
    out += fmt::format("{:<22} {:>12}\n", name, value);
  };
  line("parameters", short_count(plan.parameters));
  if (plan.trained != plan.parameters) line("of an adapter", short_count(plan.trained));
  if (plan.ranks > 1) line("ranks", std::to_string(plan.ranks));
  line("masters", format_bytes(plan.masters));
  line("moments", format_bytes(plan.moments));
  line("gradients", format_bytes(plan.gradients));
  if (plan.muon > 0) line("products of Muon", format_bytes(plan.muon));
  if (plan.frozen > 0) line("frozen weights", format_bytes(plan.frozen));
  if (plan.computed > 0) line("computed weights", format_bytes(plan.computed));
  if (plan.teacher > 0) line("teacher", format_bytes(plan.teacher));
  line("activations (about)", format_bytes(plan.activations));
  line("logits of a chunk", format_bytes(plan.logits));
  line(plan.ranks == 1 ? "memory together" : "memory of a rank", format_bytes(plan.total()));
  line("checkpoint copy (host)", format_bytes(plan.checkpoint));
  line("tokens of a step", short_count(settings.step_tokens));
  const double step = plan.flop_per_token * static_cast<double>(settings.step_tokens);
  line("TFLOP of a step", fmt::format("{:.3f}", step / 1e12));
  if (settings.seconds > 0) {
    line("time of the run", format_ms(settings.seconds * 1000));
  } else if (flop_per_second > 0) {
    const double milliseconds = step / flop_per_second / plan.ranks * 1000;
    line("a step (about)", format_ms(milliseconds));
    line("the run (about)", format_ms(milliseconds * static_cast<double>(settings.steps)));
  }
  return out;
}

}  // namespace kw::train
