#include "train/cuda/engine_forward.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "cuda/context.h"
#include "lm/cuda/matmul_tiling.h"
#include "lm/cuda/operands.h"
#include "os/file.h"
#include "train/cuda/attention.h"
#include "train/cuda/decoded_attention.h"
#include "train/cuda/fused.h"
#include "train/cuda/launch.h"
#include "train/cuda/phase_rows.h"
#include "train/model/decoder.h"

namespace kw::train::cuda {

namespace engine = lm::cuda;
using engine::MatmulOutput;

namespace {

// Most positions of a part of the decoding attention, in kDecodeTile: what the engine takes for
// contexts of up to 64 such parts.
constexpr int kSplitTiles = 5;
constexpr std::int64_t kPartPositions = kSplitTiles * engine::kDecodeTile;
constexpr std::int64_t kMostParts = 64;

at::Tensor empty_like(const at::Tensor& like, at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::empty(sizes, like.options().dtype(dtype).requires_grad(false));
}

void check_operands(const FinishRowsInput& in) {
  checked(engine::check_operands("kw_finish_rows", {{"stream", in.stream, 16},
                                                    {"bias", in.bias, 16, true},
                                                    {"norm", in.norm, 16},
                                                    {"next", in.next, 8},
                                                    {"squares", in.squares, 4},
                                                    {"factors", in.factors, 4}}));
}

void check_operands(const ScaledSiluInput& in) {
  checked(engine::check_operands("kw_scaled_silu", {{"sums", in.sums, 16},
                                                    {"factors", in.factors, 4, true},
                                                    {"bias", in.bias, 16, true},
                                                    {"out", in.out, 8},
                                                    {"inner", in.inner, 8, true},
                                                    {"places", in.places, 8}}));
}

void check_operands(const AddPartsInput& in) {
  checked(engine::check_operands(
      "kw_add_parts", {{"parts", in.parts, 16}, {"places", in.places, 8}, {"out", in.out, 16}}));
}

LaunchShape blocks_of(std::int64_t x, std::int64_t y, std::int64_t z, unsigned threads,
                      unsigned shared_bytes = 0) {
  LaunchShape out;
  out.grid[0] = static_cast<unsigned>(x);
  out.grid[1] = static_cast<unsigned>(y);
  out.grid[2] = static_cast<unsigned>(z);
  out.threads = threads;
  out.shared_bytes = shared_bytes;
  return out;
}

}  // namespace

struct EngineForward::Loaded {
  explicit Loaded(kw::cuda::Context opened) : context(std::move(opened)) {}
  kw::cuda::Context context;  // before what lives in it
  engine::Kernels kernels;
  DecodedAttention decoded_attention;
};

// One forward pass. Tensors of rows are in the order of PhaseRows.
class EngineForward::Pass {
 public:
  Pass(const EngineForward& of, const Batch& batch)
      : all_(of),
        engine_(of.loaded_->kernels),
        config_(of.weights_.config()),
        batch_(batch),
        rows_(phase_rows(batch, decoded_group_rows(config_.head_dim), of.weights_.device())) {
    const std::int64_t tokens = batch.bounds.back();
    const lm::ModelConfig& c = config_;
    stream_ = of.weights_.embedding.value.index_select(0, batch.tokens.index_select(0, rows_.order))
                  .to(at::kFloat);
    normed_ = empty_like(stream_, {tokens, c.hidden}, at::kBFloat16);
    squares_ = empty_like(stream_, {rows_.decoded, c.hidden / engine::kSquaredColumns}, at::kFloat);
    factors_ = empty_like(stream_, {rows_.decoded}, at::kFloat);
    attended_ = empty_like(stream_, {tokens, c.heads * c.head_dim}, at::kBFloat16);
    kv_ = empty_like(stream_,
                     {std::ssize(batch.bounds) - 1, c.kv_heads, 2, batch.longest, c.head_dim},
                     at::kBFloat16);
  }

  at::Tensor run(Tape* tape, std::int64_t recompute_layers) {
    const std::vector<LayerWeights>& layers = all_.weights_.layers;
    norm(stream_, normed_, layers.front().input_norm);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const LayerWeights& w = layers[i];
      const Weight& next =
          i + 1 < layers.size() ? layers[i + 1].input_norm : all_.weights_.final_norm;
      LayerTape kept;
      const bool keeps = tape != nullptr && std::ssize(tape->layers) >= recompute_layers;
      if (keeps) kept.input = saved_norm(w.input_norm);
      if (tape != nullptr && !keeps) kept.input.sum = in_order(stream_);
      attend(w, i == 0, keeps ? &kept : nullptr);
      add_product(attended_, w.output, w.output_bias, w.post_norm);
      if (keeps) kept.middle = saved_norm(w.post_norm);
      const at::Tensor activated = activate(w, keeps ? &kept : nullptr);
      add_product(activated, w.down, w.down_bias, next);
      if (tape != nullptr) tape->layers.push_back(std::move(kept));
    }
    norm(decoded(stream_), decoded(normed_), all_.weights_.final_norm);
    if (tape != nullptr) tape->last = saved_norm(all_.weights_.final_norm);
    return in_order(normed_);
  }

 private:
  at::Tensor prompts(const at::Tensor& x) const { return x.narrow(0, 0, rows_.prompts); }
  at::Tensor decoded(const at::Tensor& x) const {
    return x.narrow(0, rows_.prompts, rows_.decoded);
  }
  at::Tensor in_order(const at::Tensor& x) const { return x.index_select(0, rows_.places); }

  Normed saved_norm(const Weight& scale) const {
    Normed out = add_norm({in_order(stream_), {}, {}}, scale.value, config_.norm_epsilon);
    out.normed = at::Tensor();
    return out;
  }

  // kw_norm of rows of the stream, after the bias, which is kept.
  void norm(const at::Tensor& stream, const at::Tensor& out, const Weight& scale,
            const Weight& bias = {}) const {
    if (stream.size(0) == 0) return;
    engine::NormInput in{};
    in.residual = address(stream);
    in.bias = address(bias.value);
    in.weight = address(scale.value);
    in.out = address(out);
    in.keep = in.bias != 0 ? 1 : 0;
    in.epsilon = static_cast<float>(config_.norm_epsilon);
    checked(engine::check_operands(in));
    launch(engine_.norm, blocks_of(stream.size(0), 1, 1, 256), in);
  }

  // stream += x W^T + bias, and the next norm, or all of it but a factor of each row.
  void add_product(const at::Tensor& x, const Weight& w, const Weight& bias, const Weight& scale) {
    if (rows_.prompts > 0) {
      all_.products_.add(prompts(x), w.value, 1, prompts(stream_));
      norm(prompts(stream_), prompts(normed_), scale, bias);
    }
    if (rows_.decoded > 0) {
      all_.products_.add(decoded(x), w.value, all_.products_.decode_splits(w.value),
                         decoded(stream_));
      finish_rows(bias, scale);
    }
  }

  // Makes what the engine's product of decoded rows leaves for the next one, when its sums are
  // made.
  void finish_rows(const Weight& bias, const Weight& scale) const {
    const FinishRowsInput in{address(decoded(stream_)),
                             address(bias.value),
                             address(scale.value),
                             address(decoded(normed_)),
                             address(squares_),
                             address(factors_),
                             static_cast<std::int32_t>(config_.hidden),
                             static_cast<float>(config_.norm_epsilon)};
    check_operands(in);
    launch(kernels().finish_rows,
           blocks_of(rows_.decoded, 1, 1, 128, static_cast<unsigned>(config_.hidden / 8)), in);
  }

  RowFactors row_factors() const {
    return {factors_, squares_, static_cast<float>(config_.norm_epsilon)};
  }

  // silu(gate) * up, [T, F].
  at::Tensor activate(const LayerWeights& w, LayerTape* tape) const {
    const std::int64_t tokens = stream_.size(0), width = config_.intermediate;
    const at::Tensor out = empty_like(stream_, {tokens, width}, at::kBFloat16);
    if (tape != nullptr) tape->inner = empty_like(stream_, {tokens, 2 * width}, at::kBFloat16);
    auto some_rows = [&](auto rows, const at::Tensor& factors) {
      const at::Tensor x = rows(normed_), y = rows(out);
      if (x.size(0) == 0) return;
      const at::Tensor sums = all_.products_.sums(x, w.gate_up.value, 1);
      const ScaledSiluInput in{address(sums),
                               address(factors),
                               address(w.gate_up_bias.value),
                               address(y),
                               tape != nullptr ? address(tape->inner) : 0,
                               address(rows(rows_.order)),
                               y.numel() / 4,
                               static_cast<std::int32_t>(width)};
      check_operands(in);
      launch(kernels().scaled_silu, (in.fours + 255) / 256, 256, in);
    };
    some_rows([this](const at::Tensor& x) { return prompts(x); }, {});
    some_rows([this](const at::Tensor& x) { return decoded(x); }, factors_);
    return out;
  }

  // The input is of rows [first, first + parts.size(1)).
  engine::HeadInput head_input(const LayerWeights& w, const at::Tensor& parts,
                               std::int64_t first) const {
    engine::HeadInput in{};
    in.qkv = address(parts);
    in.part_rows = parts.size(1);
    in.parts = static_cast<std::int32_t>(parts.size(0));
    in.bias = address(w.qkv_bias.value);
    in.q_norm = address(w.q_norm.value);
    in.k_norm = address(w.k_norm.value);
    in.cosine = address(all_.cosines_);
    in.sine = address(all_.sines_);
    in.positions = address(rows_.positions) + static_cast<DevicePointer>(first * 4);
    in.slots = address(rows_.slots) + static_cast<DevicePointer>(first * 4);
    in.kv = address(kv_);
    in.context = batch_.longest;
    in.epsilon = static_cast<float>(config_.norm_epsilon);
    checked(engine::check_operands("kw_heads", in));
    return in;
  }

  // Keys and values of all rows are written before any is read: what stands behind a row is not
  // looked at.
  void attend(const LayerWeights& w, bool is_first, LayerTape* tape) const {
    at::Tensor of_prompts, of_decoded;
    if (rows_.prompts > 0) of_prompts = all_.products_.sums(prompts(normed_), w.qkv.value, 1);
    if (rows_.decoded > 0)
      of_decoded = all_.products_.sums(decoded(normed_), w.qkv.value,
                                       all_.products_.decode_splits(w.qkv.value),
                                       is_first ? RowFactors{} : row_factors());
    if (tape != nullptr) save_heads(w, of_prompts, of_decoded, *tape);
    if (rows_.decoded > 0) {
      const engine::HeadInput in = head_input(w, of_decoded, rows_.prompts);
      all_.loaded_->decoded_attention.keep_keys_values(in, rows_.decoded);
    }
    if (rows_.prompts > 0) {
      const engine::HeadInput in = head_input(w, of_prompts, 0);
      launch(engine_.heads, blocks_of(rows_.prompts, 1, 1, 256), in, address(rows_.list));
      const engine::PrefillInput tiles{in, address(rows_.list), address(rows_.tiles),
                                       address(attended_)};
      checked(engine::check_operands(tiles));
      launch(engine_.attention_prefill,
             blocks_of(rows_.tiles.size(0), config_.heads, 1, 128, engine_.prefill_shared_bytes),
             tiles);
    }
    if (rows_.decoded > 0)
      all_.loaded_->decoded_attention.attend(head_input(w, of_decoded, rows_.prompts), rows_.groups,
                                             rows_.last_decoded_position, decoded(attended_));
    if (tape != nullptr)
      tape->attention.out = in_order(attended_).view({-1, config_.heads, config_.head_dim});
  }

  // Keeps that of which the backward pass makes the probabilities again.
  void save_heads(const LayerWeights& w, const at::Tensor& of_prompts, const at::Tensor& of_decoded,
                  LayerTape& tape) const {
    const at::Tensor qkv = empty_like(stream_, {stream_.size(0), w.qkv.value.size(0)}, at::kFloat);
    add_parts(of_prompts, prompts(rows_.order), qkv);
    add_parts(of_decoded, decoded(rows_.order), qkv);
    const HeadsShape shape{config_.heads, config_.kv_heads, config_.head_dim, config_.norm_epsilon};
    tape.attention.heads = heads_forward(shape, {w.qkv_bias, w.q_norm, w.k_norm},
                                         {all_.cosines_, all_.sines_, batch_.positions}, qkv);
    if (w.q_norm.value.defined()) tape.qkv = qkv;
    tape.attention.statistics = attention_forward(tape.attention.heads, shape, batch_).statistics;
  }

  // The sum of parts [P, R, W] to rows `places` of out [T, W].
  static void add_parts(const at::Tensor& parts, const at::Tensor& places, const at::Tensor& out) {
    if (!parts.defined()) return;
    const AddPartsInput in{address(parts),
                           address(places),
                           address(out),
                           parts[0].numel() / 4,
                           static_cast<std::int32_t>(out.size(1)),
                           static_cast<std::int32_t>(parts.size(0))};
    check_operands(in);
    launch(kernels().add_parts, (in.fours + 255) / 256, 256, in);
  }

  const EngineForward& all_;
  const engine::Kernels& engine_;
  const lm::ModelConfig& config_;
  const Batch& batch_;
  PhaseRows rows_;
  at::Tensor stream_;  // [T, D] float32
  at::Tensor normed_;  // [T, D] what the next product takes; decoded: but for a factor of each row
  // Decoded rows have squares [R, D / 32], which give factors [R], float32.
  at::Tensor squares_, factors_;
  at::Tensor attended_;  // [T, H d]
  at::Tensor kv_;        // [S, G, 2, longest, d]
};

EngineForward::EngineForward(const Weights& weights, const at::Tensor& cosines,
                             const at::Tensor& sines, std::unique_ptr<Loaded> loaded,
                             EngineProducts products)
    : weights_(weights),
      cosines_(cosines),
      sines_(sines),
      loaded_(std::move(loaded)),
      products_(std::move(products)) {}

EngineForward::~EngineForward() = default;

Status EngineForward::check(const lm::ModelConfig& config, std::int64_t context) {
  for (const auto& [name, k] :
       {std::pair("hidden_size", config.hidden), std::pair("queries", config.query_width()),
        std::pair("intermediate_size", config.intermediate)})
    if (k % engine::kMatmulStep != 0)
      return fail(ErrorCode::kUnsupported,
                  "products: the engine's are for widths that are multiples of {}, {} is {}",
                  engine::kMatmulStep, name, k);
  if (context > kPartPositions * kMostParts)
    return fail(ErrorCode::kUnsupported,
                "products: the engine's are for sequences of up to {} tokens, not {}",
                kPartPositions * kMostParts, context);
  // The backward pass is that of the trainer's own attention.
  if ((config.head_dim != 64 && config.head_dim != 128) || !has_attention(config.head_dim))
    return fail(ErrorCode::kUnsupported,
                "products: the engine's are for Hopper GPUs and heads of 64 or 128, head_dim is {}",
                config.head_dim);
  return {};
}

Result<std::unique_ptr<EngineForward>> EngineForward::make(const Weights& weights,
                                                           const at::Tensor& cosines,
                                                           const at::Tensor& sines) {
  const lm::ModelConfig& config = weights.config();
  KW_TRY_STATUS(check(config, cosines.size(0)));
  KW_TRY(kw::cuda::Context context, kw::cuda::Context::open(0));
  auto loaded = std::make_unique<Loaded>(std::move(context));
  KW_TRY(loaded->kernels, engine::Kernels::make(loaded->context, config, lm::WeightType::kBFloat16,
                                                kSplitTiles, os::cache_home() / "cubin"));
  KW_TRY(loaded->decoded_attention,
         DecodedAttention::make(loaded->context, config, loaded->kernels, kSplitTiles));
  KW_TRY(EngineProducts products, EngineProducts::make(loaded->context, loaded->kernels));
  return std::unique_ptr<EngineForward>(
      new EngineForward(weights, cosines, sines, std::move(loaded), std::move(products)));
}

at::Tensor EngineForward::hidden(const Batch& batch, Tape* tape,
                                 std::int64_t recompute_layers) const {
  return Pass(*this, batch).run(tape, recompute_layers);
}

}  // namespace kw::train::cuda
