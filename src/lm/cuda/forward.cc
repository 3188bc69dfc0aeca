// The kernels of a step, in their order. Numbers of launches a layer when decoding: norm, q k v,
// attention, output, norm, gate and up (with silu), down.
#include <algorithm>

#include "base/check.h"
#include "lm/cuda/cuda_engine_impl.h"

namespace kw::lm::cuda {

using kw::cuda::Event;
using kw::cuda::Function;
using kw::cuda::LaunchShape;

namespace {

LaunchShape grid(std::int64_t x, std::int64_t y, std::int64_t z, unsigned threads) {
  LaunchShape out;
  out.grid[0] = static_cast<unsigned>(x);
  out.grid[1] = static_cast<unsigned>(y);
  out.grid[2] = static_cast<unsigned>(z);
  out.threads = threads;
  return out;
}

}  // namespace

Status CudaEngine::marked(const char* name) {
  if (marks_ == nullptr) return {};
  KW_TRY(Event event, Event::make());
  KW_TRY_STATUS(stream_.record(event));
  marks_->push_back({name, std::move(event)});
  return {};
}

template <typename... Args>
Status CudaEngine::launch(const char* name, Function function, LaunchShape shape,
                          const Args&... arguments) {
  KW_TRY_STATUS(function.launch(stream_, shape, arguments...));
  return marked(name);
}

Status CudaEngine::forward(const Forward& f) {
  const auto layers = weights_.layers.size();
  PartCount parts = 0;
  for (std::size_t i = 0; i < layers; ++i) {
    const DeviceLayer& layer = weights_.layers[i];
    const DevicePointer bias_before = i == 0 ? 0 : weights_.layers[i - 1].down_bias;
    KW_TRY_STATUS(normalise(f, parts, bias_before, layer.input_norm, i == 0));
    KW_TRY(PartCount qkv, multiply(ProductKind::kQkv, i, f.padded));
    KW_TRY_STATUS(attend(f, i, qkv));
    KW_TRY(parts, multiply(ProductKind::kOutput, i, f.padded));
    KW_TRY_STATUS(normalise(f, parts, layer.output_bias, layer.post_norm, false));
    KW_TRY([[maybe_unused]] PartCount none, multiply(ProductKind::kGateUp, i, f.padded));
    KW_TRY(parts, multiply(ProductKind::kDown, i, f.padded));
  }
  last_parts_ = parts;
  last_padded_ = f.padded;
  return {};
}

Result<PartCount> CudaEngine::multiply(ProductKind kind, std::size_t layer, std::int64_t rows) {
  KW_TRY(PartCount parts, products_->run(kind, layer, rows));
  KW_TRY_STATUS(marked(to_string(kind).data()));
  return parts;
}

Status CudaEngine::normalise(const Forward& f, PartCount parts, DevicePointer bias,
                             DevicePointer weight, bool embeds) {
  NormInput in{};
  in.residual = buffers_.residual.address();
  in.parts = buffers_.parts.address();
  in.part_rows = f.padded;
  in.part_count = parts;
  in.bias = bias;
  in.weight = weight;
  in.epsilon = static_cast<float>(config_.norm_epsilon);
  in.out = buffers_.normed.address();
  if (embeds) {
    in.tokens = f.data->tokens();
    in.table = weights_.embedding;
  }
  in.keep = embeds || parts > 0 || bias != 0 ? 1 : 0;
  LaunchShape shape = grid(f.rows, 1, 1, 256);
  shape.overlaps = options_.overlap && !embeds;  // before the first there is a copy
  return launch("norm", kernels_.norm, shape, in);
}

HeadInput CudaEngine::head_input(const Forward& f, std::size_t layer, PartCount parts) const {
  const DeviceLayer& weights = weights_.layers[layer];
  HeadInput in{};
  in.qkv = buffers_.parts.address();
  in.part_rows = f.padded;
  in.parts = parts;
  in.bias = weights.qkv_bias;
  in.q_norm = weights.q_norm;
  in.k_norm = weights.k_norm;
  in.cosine = buffers_.cosine.address();
  in.sine = buffers_.sine.address();
  in.positions = f.data->positions();
  in.slots = f.data->slots();
  in.kv = buffers_.kv.address() + layer * static_cast<std::size_t>(memory_.kv_layer);
  in.context = options_.limits.context;
  in.epsilon = static_cast<float>(config_.norm_epsilon);
  return in;
}

Status CudaEngine::attend(const Forward& f, std::size_t layer, PartCount parts) {
  const HeadInput heads = head_input(f, layer, parts);
  const std::int64_t group = config_.heads / config_.kv_heads;
  auto overlapping = [&](LaunchShape shape) {
    shape.overlaps = options_.overlap;
    return shape;
  };
  if (type_ == WeightType::kFloat32) {
    for (const auto& [rows, list] : {std::pair(f.decode_rows, f.data->decode_rows()),
                                     std::pair(f.prefill_rows, f.data->prefill_rows())}) {
      if (rows == 0) continue;
      KW_TRY_STATUS(
          launch("heads", kernels_.heads, overlapping(grid(rows, 1, 1, 256)), heads, list));
      KW_TRY_STATUS(launch("attention", kernels_.attention_exact,
                           overlapping(grid(rows, config_.heads, 1, 128)), heads, list,
                           buffers_.attended.address()));
    }
    return {};
  }
  if (f.decode_rows > 0) {
    const bool all = f.decode_rows == f.rows;
    const DecodeInput in{heads,
                         all ? 0 : f.data->decode_rows(),
                         buffers_.partial.address(),
                         buffers_.partial_statistics.address(),
                         buffers_.partial_counters.address(),
                         buffers_.attended.address()};
    LaunchShape shape =
        overlapping(grid(f.splits, config_.kv_heads * ((group + 7) / 8), f.decode_rows, 128));
    shape.shared_bytes = kernels_.decode_shared_bytes;
    KW_TRY_STATUS(launch("attention", kernels_.attention_decode, shape, in));
  }
  if (f.prefill_rows > 0) {
    KW_TRY_STATUS(launch("heads", kernels_.heads, overlapping(grid(f.prefill_rows, 1, 1, 256)),
                         heads, f.data->prefill_rows()));
    const PrefillInput in{heads, f.data->prefill_rows(), f.data->tiles(),
                          buffers_.attended.address()};
    LaunchShape shape = overlapping(grid(f.tiles, config_.heads, 1, 128));
    shape.shared_bytes = kernels_.prefill_shared_bytes;
    KW_TRY_STATUS(launch("attention", kernels_.attention_prefill, shape, in));
  }
  return {};
}

// The final norm of the sampled rows only, and the head.
Status CudaEngine::logits_of(const Drawing& d) {
  NormInput in{};
  in.residual = buffers_.residual.address();
  in.parts = buffers_.parts.address();
  in.part_rows = last_padded_;
  in.part_count = last_parts_;
  in.bias = weights_.layers.back().down_bias;
  in.weight = weights_.final_norm;
  in.row_list = d.data->sample_rows() + static_cast<DevicePointer>(d.first * 4);
  in.out = buffers_.last.address();
  in.epsilon = static_cast<float>(config_.norm_epsilon);
  LaunchShape shape = grid(d.count, 1, 1, 256);
  shape.overlaps = options_.overlap && d.data == &decode_data_;  // elsewhere masks are sent before
  KW_TRY_STATUS(launch("norm", kernels_.norm, shape, in));
  KW_TRY([[maybe_unused]] PartCount none, multiply(ProductKind::kHead, 0, d.padded));
  return {};
}

Status CudaEngine::draw(const Drawing& d) {
  SampleInput in{};
  in.logits = buffers_.logits.address();
  in.pitch = memory_.logit_pitch;
  in.settings = d.data->settings() + static_cast<DevicePointer>(d.first) * sizeof(SampleSettings);
  in.masks = buffers_.masks.address();
  in.mask_words = memory_.mask_words;
  in.own = buffers_.own_statistics.address();
  in.drawn = buffers_.drawn_statistics.address();
  in.out = reinterpret_cast<DevicePointer>(buffers_.samples.data());
  in.tops = reinterpret_cast<DevicePointer>(buffers_.tops.data());
  const std::int64_t pieces = (config_.vocabulary + kSamplePiece - 1) / kSamplePiece;
  LaunchShape statistics = grid(pieces, d.count, 1, 256), choose = grid(d.count, 1, 1, 512);
  statistics.overlaps = choose.overlaps = options_.overlap;
  KW_TRY_STATUS(launch("sampling", kernels_.sample_statistics, statistics, in));
  return launch("sampling", kernels_.sample_choose, choose, in);
}

Result<std::map<std::string, double>> CudaEngine::profile(const Step& step) {
  KW_TRY_STATUS(context_.make_current());
  std::map<std::string, double> out;
  auto drawing = [&](const Drawing& d) { return draw(d); };
  KW_TRY_STATUS(run_directly(step, drawing));  // products are chosen, machine code is loaded
  std::vector<Mark> marks;
  const bool overlap = options_.overlap;
  options_.overlap = false;
  marks_ = &marks;
  Status done = marked("");
  if (done) done = run_directly(step, drawing);
  marks_ = nullptr;
  options_.overlap = overlap;
  KW_TRY_STATUS(std::move(done));
  for (std::size_t i = 1; i < marks.size(); ++i) {
    KW_TRY(double ms, kw::cuda::elapsed_ms(marks[i - 1].event, marks[i].event));
    out[marks[i].name] += ms;
  }
  return out;
}

}  // namespace kw::lm::cuda
