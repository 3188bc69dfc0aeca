// Theory of operation. All threads walk the layers together; between phases that need each other's
// results they meet at a barrier. A thread's part of a product is a range of the matrix's rows, so
// that each weight is read by one thread, once a step. T tokens, D hidden, H query heads, G key and
// value heads, d their size, F inner width, V vocabulary.
#include "lm/cpu/cpu_engine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "lm/cpu/cpu_sampler.h"
#include "lm/cpu/kv_slots.h"
#include "lm/model/rope.h"
#include "lm/slot_versions.h"
#include "os/team.h"
#include "tensor/half.h"

namespace kw::lm::cpu {
namespace {

constexpr std::int64_t kRowPiece = 8;  // rows of a matrix that a thread takes at least

// Activations that go into a product, in the type that the product takes.
struct Operand {
  std::vector<float> f32;           // [T, width], for float32 weights
  std::vector<std::uint16_t> bf16;  // otherwise
  std::int64_t width = 0;
};

class CpuEngine : public Engine {
 public:
  static Result<std::unique_ptr<Engine>> make(const Parameters& parameters,
                                              const CpuOptions& options);

  const EngineLimits& limits() const override { return limits_; }
  std::int64_t vocabulary() const override { return config_.vocabulary; }
  void run(const Step& step, std::span<Sample> samples) override;
  void run_for_logits(const Step& step, std::span<float> logits) override;
  void copy_slot(std::int32_t from, std::int32_t to, std::int32_t positions) override {
    kv_.copy(from, to, positions);
    versions_.copy(from, to);
  }
  void weights_changed(std::int32_t version) override { versions_.weights_changed(version); }
  std::int32_t weight_version() const override { return versions_.weights(); }

 private:
  CpuEngine(const Parameters& parameters, const CpuOptions& options);

  void check_step(const Step& step) const;
  void forward(const Step& step, float* logits, int member);
  void embed(const Step& step, int member);
  void attend(const Step& step, const LayerParameters& layer, std::int64_t index, int member);
  void rotate_and_store(const Step& step, const LayerParameters& layer, std::int64_t index,
                        int member);
  template <typename T>
  void store(const float* in, T* out) const;
  void rotate(float* head, const float* norm, std::int64_t position) const;
  void feed_forward(const Step& step, const LayerParameters& layer, int member);
  void norm_into(const float* weight, const float* in, std::int64_t row, Operand& out);
  void put(const float* in, std::int64_t at, std::int64_t size, Operand& out) const;
  void multiply(const Operand& x, std::int64_t rows, const Matrix& w, os::Team::Share part,
                float* y, std::int64_t y_stride) const;
  void add_to_residual(std::int64_t tokens, std::span<const float> bias, os::Team::Share part);

  const Parameters& parameters_;
  const ModelConfig& config_;
  EngineLimits limits_;
  const Kernels& kernels_;
  const bool float32_;  // weights, and so operands, keys and values
  RopeTable rope_;
  KvSlots kv_;
  SlotVersions versions_;
  os::Team team_;
  std::vector<CpuSampler> samplers_;  // one a thread
  // One step's values; [T, .]
  std::vector<float> residual_, qkv_, attended_, inner_, projected_, logits_;
  Operand normed_, heads_out_, activated_, last_;
};

CpuEngine::CpuEngine(const Parameters& parameters, const CpuOptions& options)
    : parameters_(parameters),
      config_(parameters.config()),
      limits_(options.limits),
      kernels_(options.kernels != nullptr ? *options.kernels : best_kernels()),
      float32_(parameters.type() == WeightType::kFloat32),
      rope_(config_, options.limits.context),
      versions_(options.limits.slots),
      team_(options.threads),
      samplers_(static_cast<std::size_t>(team_.size()), CpuSampler(kernels_)) {
  auto sized = [&](std::int64_t width) {
    return static_cast<std::size_t>(limits_.step_tokens * width);
  };
  residual_.resize(sized(config_.hidden));
  projected_.resize(sized(config_.hidden));
  qkv_.resize(sized(config_.query_width() + 2 * config_.kv_width()));
  attended_.resize(sized(config_.query_width()));
  inner_.resize(sized(2 * config_.intermediate));
  auto make_operand = [&](Operand& one, std::int64_t width) {
    one.width = width;
    if (float32_)
      one.f32.resize(sized(width));
    else
      one.bf16.resize(sized(width));
  };
  make_operand(normed_, config_.hidden);
  make_operand(heads_out_, config_.query_width());
  make_operand(activated_, config_.intermediate);
  make_operand(last_, config_.hidden);
}

Result<std::unique_ptr<Engine>> CpuEngine::make(const Parameters& parameters,
                                                const CpuOptions& options) {
  const ModelConfig& config = parameters.config();
  const EngineLimits& limits = options.limits;
  if (options.threads < 1 || options.threads > 1024)
    return fail(ErrorCode::kInvalidArgument, "threads: expected 1 to 1024, not {}",
                options.threads);
  if (limits.slots < 1 || limits.step_tokens < 1)
    return fail(ErrorCode::kInvalidArgument, "slots and step tokens: expected 1 or more");
  if (limits.context < 1 || limits.context > config.max_position)
    return fail(ErrorCode::kInvalidArgument,
                "context: expected 1 to {}, the model's max_position_embeddings, not {}",
                config.max_position, limits.context);
  if (config.head_dim > kMaxHeadDim)
    return fail(ErrorCode::kUnsupported, "head_dim {}: at most {} is supported", config.head_dim,
                kMaxHeadDim);
  std::size_t element = parameters.type() == WeightType::kFloat32 ? 4 : 2;
  KW_TRY(KvSlots kv, KvSlots::make(config, limits.slots, limits.context, element));
  std::unique_ptr<CpuEngine> engine(new CpuEngine(parameters, options));
  engine->kv_ = std::move(kv);
  return std::unique_ptr<Engine>(std::move(engine));
}

void CpuEngine::check_step(const Step& step) const {
  const std::size_t tokens = step.tokens.size();
  KW_CHECK(tokens > 0 && tokens <= static_cast<std::size_t>(limits_.step_tokens));
  KW_CHECK(step.positions.size() == tokens && step.slots.size() == tokens);
  KW_CHECK(step.samples.size() <= static_cast<std::size_t>(limits_.step_tokens));
  for (std::size_t t = 0; t < tokens; ++t) {
    KW_CHECK(step.tokens[t] >= 0 && step.tokens[t] < config_.vocabulary);
    KW_CHECK(step.positions[t] >= 0 && step.positions[t] < limits_.context);
    KW_CHECK(step.slots[t] >= 0 && step.slots[t] < limits_.slots);
  }
  for (const SampleRequest& one : step.samples)
    KW_CHECK(one.row >= 0 && static_cast<std::size_t>(one.row) < tokens &&
             one.forced < config_.vocabulary);
}

void CpuEngine::run_for_logits(const Step& step, std::span<float> logits) {
  check_step(step);
  versions_.write(step);
  KW_CHECK(logits.size() == step.samples.size() * static_cast<std::size_t>(config_.vocabulary));
  team_.run([&](int member) { forward(step, logits.data(), member); });
}

void CpuEngine::run(const Step& step, std::span<Sample> samples) {
  check_step(step);
  versions_.write(step);
  KW_CHECK(samples.size() == step.samples.size());
  const auto width = static_cast<std::size_t>(config_.vocabulary);
  logits_.resize(std::max(logits_.size(), samples.size() * width));
  team_.run([&](int member) {
    forward(step, logits_.data(), member);
    if (samples.empty()) return;
    team_.barrier();
    auto mine = team_.share(member, static_cast<std::int64_t>(samples.size()));
    for (auto i = static_cast<std::size_t>(mine.first); i < static_cast<std::size_t>(mine.last);
         ++i) {
      samples[i] = samplers_[static_cast<std::size_t>(member)].draw(
          std::span<float>(logits_.data() + i * width, width), step.samples[i]);
      samples[i].weights = versions_.weights();
    }
  });
}

void CpuEngine::put(const float* in, std::int64_t at, std::int64_t size, Operand& out) const {
  if (float32_)
    std::memcpy(out.f32.data() + at, in, static_cast<std::size_t>(size) * sizeof(float));
  else
    kernels_.to_bf16(in, size, out.bf16.data() + at);
}

void CpuEngine::norm_into(const float* weight, const float* in, std::int64_t row, Operand& out) {
  const auto epsilon = static_cast<float>(config_.norm_epsilon);
  const std::int64_t at = row * out.width;
  if (float32_) {
    kernels_.rms_norm(in, weight, epsilon, out.width, out.f32.data() + at);
    return;
  }
  // The rows of projected_ are free between products.
  float* normed = projected_.data() + row * config_.hidden;
  kernels_.rms_norm(in, weight, epsilon, out.width, normed);
  kernels_.to_bf16(normed, out.width, out.bf16.data() + at);
}

void CpuEngine::multiply(const Operand& x, std::int64_t rows, const Matrix& w, os::Team::Share part,
                         float* y, std::int64_t y_stride) const {
  const auto of = [&]<typename X, typename W>(const std::vector<X>& operand, const W* weights) {
    return Matmul<X, W>{.x = operand.data(),
                        .rows = rows,
                        .k = w.columns,
                        .w = weights,
                        .scales = w.scales,
                        .first = part.first,
                        .last = part.last,
                        .y = y,
                        .y_stride = y_stride};
  };
  switch (w.type) {
    case WeightType::kFloat32:
      return kernels_.matmul_f32(of(x.f32, reinterpret_cast<const float*>(w.data)));
    case WeightType::kBFloat16:
      return kernels_.matmul_bf16(of(x.bf16, reinterpret_cast<const std::uint16_t*>(w.data)));
    case WeightType::kInt8:
      return kernels_.matmul_int8(of(x.bf16, reinterpret_cast<const std::int8_t*>(w.data)));
  }
}

void CpuEngine::add_to_residual(std::int64_t tokens, std::span<const float> bias,
                                os::Team::Share part) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    float* to = residual_.data() + t * config_.hidden;
    const float* from = projected_.data() + t * config_.hidden;
    for (std::int64_t i = part.first; i < part.last; ++i) to[i] += from[i];
    if (!bias.empty())
      for (std::int64_t i = part.first; i < part.last; ++i)
        to[i] += bias[static_cast<std::size_t>(i)];
  }
}

void CpuEngine::embed(const Step& step, int member) {
  auto mine = team_.share(member, static_cast<std::int64_t>(step.tokens.size()));
  const auto width = static_cast<std::size_t>(config_.hidden);
  for (auto t = static_cast<std::size_t>(mine.first); t < static_cast<std::size_t>(mine.last); ++t)
    decode_row(parameters_.embedding, step.tokens[t],
               std::span<float>(residual_.data() + t * width, width));
}

// Pairs are (i, i + d/2), as Hugging Face stores them; the norm of a head comes first (Qwen3).
void CpuEngine::rotate(float* head, const float* norm, std::int64_t position) const {
  if (norm != nullptr)
    kernels_.rms_norm(head, norm, static_cast<float>(config_.norm_epsilon), config_.head_dim, head);
  const float *cosines = rope_.cosines(position), *sines = rope_.sines(position);
  float *first = head, *second = head + rope_.half;
  for (std::int64_t i = 0; i < rope_.half; ++i) {
    float a = first[i], b = second[i];
    first[i] = a * cosines[i] - b * sines[i];
    second[i] = b * cosines[i] + a * sines[i];
  }
}

template <>
void CpuEngine::store(const float* in, float* out) const {
  std::memcpy(out, in, static_cast<std::size_t>(config_.head_dim) * sizeof(float));
}

template <>
void CpuEngine::store(const float* in, std::uint16_t* out) const {
  kernels_.to_bf16(in, config_.head_dim, out);
}

// Queries are scaled here, by 1 / sqrt(d).
void CpuEngine::rotate_and_store(const Step& step, const LayerParameters& layer, std::int64_t index,
                                 int member) {
  const std::int64_t d = config_.head_dim, width = config_.query_width() + 2 * config_.kv_width();
  const float scale = 1.0F / std::sqrt(static_cast<float>(d));
  const float* q_norm = layer.q_norm.empty() ? nullptr : layer.q_norm.data();
  const float* k_norm = layer.k_norm.empty() ? nullptr : layer.k_norm.data();
  auto mine = team_.share(member, static_cast<std::int64_t>(step.tokens.size()));
  for (std::int64_t t = mine.first; t < mine.last; ++t) {
    const auto at = static_cast<std::size_t>(t);
    const std::int64_t position = step.positions[at], slot = step.slots[at];
    float* row = qkv_.data() + t * width;
    for (std::size_t i = 0; i < layer.qkv_bias.size(); ++i) row[i] += layer.qkv_bias[i];
    for (std::int64_t head = 0; head < config_.heads; ++head) {
      rotate(row + head * d, q_norm, position);
      for (std::int64_t i = 0; i < d; ++i) row[head * d + i] *= scale;
    }
    for (std::int64_t head = 0; head < config_.kv_heads; ++head) {
      float* key = row + config_.query_width() + head * d;
      const float* value = key + config_.kv_width();
      rotate(key, k_norm, position);
      if (float32_) {
        store(key, kv_.keys<float>(index, slot, head) + position * d);
        store(value, kv_.values<float>(index, slot, head) + position * d);
      } else {
        store(key, kv_.keys<std::uint16_t>(index, slot, head) + position * d);
        store(value, kv_.values<std::uint16_t>(index, slot, head) + position * d);
      }
    }
  }
}

void CpuEngine::attend(const Step& step, const LayerParameters& layer, std::int64_t index,
                       int member) {
  const std::int64_t d = config_.head_dim, width = config_.query_width() + 2 * config_.kv_width();
  const std::int64_t group = config_.heads / config_.kv_heads;
  const auto tokens = static_cast<std::int64_t>(step.tokens.size());
  multiply(normed_, tokens, layer.qkv, team_.share(member, layer.qkv.rows, kRowPiece), qkv_.data(),
           width);
  team_.barrier();
  rotate_and_store(step, layer, index, member);
  team_.barrier();
  // Members take turns: later tokens of a prompt look back farther.
  for (std::int64_t item = member; item < tokens * config_.kv_heads; item += team_.size()) {
    const std::int64_t t = item / config_.kv_heads, head = item % config_.kv_heads;
    const auto at = static_cast<std::size_t>(t);
    const float* q = qkv_.data() + t * width + head * group * d;
    float* out = attended_.data() + t * config_.query_width() + head * group * d;
    const std::int64_t slot = step.slots[at], positions = step.positions[at] + 1;
    const auto attention = [&]<typename T>(void (*kernel)(const HeadGroup<T>&)) {
      kernel({.q = q,
              .group = group,
              .d = d,
              .keys = kv_.keys<T>(index, slot, head),
              .values = kv_.values<T>(index, slot, head),
              .positions = positions,
              .out = out});
    };
    if (float32_)
      attention(kernels_.attention_f32);
    else
      attention(kernels_.attention_bf16);
    put(out, out - attended_.data(), group * d, heads_out_);
  }
  team_.barrier();
  auto part = team_.share(member, config_.hidden, kRowPiece);
  multiply(heads_out_, tokens, layer.output, part, projected_.data(), config_.hidden);
  add_to_residual(tokens, layer.output_bias, part);
}

void CpuEngine::feed_forward(const Step& step, const LayerParameters& layer, int member) {
  const std::int64_t inner = config_.intermediate;
  const auto tokens = static_cast<std::int64_t>(step.tokens.size());
  // The same columns of gate and up, so that their product needs no one else.
  auto part = team_.share(member, inner, kRowPiece);
  for (std::int64_t half : {std::int64_t{0}, inner})
    multiply(normed_, tokens, layer.gate_up, {half + part.first, half + part.last}, inner_.data(),
             2 * inner);
  for (std::int64_t t = 0; t < tokens; ++t) {
    float *gate = inner_.data() + t * 2 * inner, *up = gate + inner;
    if (!layer.gate_up_bias.empty()) {
      for (std::int64_t i = part.first; i < part.last; ++i) {
        gate[i] += layer.gate_up_bias[static_cast<std::size_t>(i)];
        up[i] += layer.gate_up_bias[static_cast<std::size_t>(inner + i)];
      }
    }
    const std::int64_t size = part.last - part.first, at = t * inner + part.first;
    if (float32_) {
      kernels_.silu_multiply(gate + part.first, up + part.first, size, activated_.f32.data() + at);
    } else {
      kernels_.silu_multiply(gate + part.first, up + part.first, size, gate + part.first);
      kernels_.to_bf16(gate + part.first, size, activated_.bf16.data() + at);
    }
  }
  team_.barrier();
  auto rows = team_.share(member, config_.hidden, kRowPiece);
  multiply(activated_, tokens, layer.down, rows, projected_.data(), config_.hidden);
  add_to_residual(tokens, layer.down_bias, rows);
}

void CpuEngine::forward(const Step& step, float* logits, int member) {
  const auto tokens = static_cast<std::int64_t>(step.tokens.size());
  const auto mine = team_.share(member, tokens);
  auto norm = [&](std::span<const float> weight) {
    for (std::int64_t t = mine.first; t < mine.last; ++t)
      norm_into(weight.data(), residual_.data() + t * config_.hidden, t, normed_);
    team_.barrier();
  };
  embed(step, member);
  for (std::int64_t index = 0; index < config_.layers; ++index) {
    const LayerParameters& layer = parameters_.layers[static_cast<std::size_t>(index)];
    norm(layer.input_norm);
    attend(step, layer, index, member);
    team_.barrier();
    norm(layer.post_norm);
    feed_forward(step, layer, member);
    team_.barrier();
  }
  const auto wanted = static_cast<std::int64_t>(step.samples.size());
  const auto rows = team_.share(member, wanted);
  for (std::int64_t i = rows.first; i < rows.last; ++i) {
    const std::int64_t row = step.samples[static_cast<std::size_t>(i)].row;
    norm_into(parameters_.final_norm.data(), residual_.data() + row * config_.hidden, i, last_);
  }
  team_.barrier();
  multiply(last_, wanted, parameters_.head, team_.share(member, config_.vocabulary, kRowPiece),
           logits, config_.vocabulary);
}

}  // namespace

Result<std::unique_ptr<Engine>> make_cpu_engine(const Parameters& parameters,
                                                const CpuOptions& options) {
  return CpuEngine::make(parameters, options);
}

}  // namespace kw::lm::cpu
