// The kernels of a step, in their order. Launches of a layer when decoding: q k v, attention,
// output, gate and up (with silu), down; where matmuls are not joined a norm before the first and
// the fourth.
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

Status CudaEngine::marked(std::string_view name) {
  if (marks_ == nullptr) return {};
  KW_TRY(Event event, Event::make());
  KW_TRY_STATUS(stream_.record(event));
  marks_->push_back({std::string(name), std::move(event)});
  return {};
}

template <typename... Args>
Status CudaEngine::launch(const char* name, Function function, LaunchShape shape,
                          const Args&... arguments) {
  KW_TRY_STATUS(function.launch(stream_, shape, arguments...));
  return marked(name);
}

Status CudaEngine::forward(const Forward& f) {
  KW_TRY_STATUS(embed(f));
  for (std::size_t i = 0; i < weights_.layers.size(); ++i) {
    KW_TRY(PartCount qkv, multiply(MatmulKind::kQkv, i, f.matmuls));
    KW_TRY_STATUS(attend(f, i, qkv));
    KW_TRY_STATUS(add_to_residual(f, MatmulKind::kOutput, i));
    KW_TRY([[maybe_unused]] PartCount none, multiply(MatmulKind::kGateUp, i, f.matmuls));
    KW_TRY_STATUS(add_to_residual(f, MatmulKind::kDown, i));
  }
  return {};
}

Result<PartCount> CudaEngine::multiply(MatmulKind kind, std::size_t layer, const MatmulRows& rows) {
  KW_TRY(PartCount parts, matmuls_->run(kind, layer, rows));
  KW_TRY_STATUS(marked(to_string(kind)));
  return parts;
}

// The rows of the embedding, and the first norm. It does not overlap with the copy before it.
Status CudaEngine::embed(const Forward& f) {
  NormInput in{};
  in.residual = buffers_.residual.address();
  in.tokens = f.data->tokens();
  in.table = weights_.embedding;
  in.weight = weights_.layers.front().input_norm;
  in.out = buffers_.normed.address();
  in.keep = 1;
  in.epsilon = static_cast<float>(config_.norm_epsilon);
  return launch("norm", kernels_.norm, grid(f.rows, 1, 1, 256), in);
}

// The last layer's norm is that of the sampled rows alone.
Status CudaEngine::add_to_residual(const Forward& f, MatmulKind kind, std::size_t layer) {
  KW_TRY(PartCount parts, multiply(kind, layer, f.matmuls));
  const bool joined = matmuls_->joined(f.matmuls);
  NormInput in = matmuls_->norm_after(kind, layer, f.matmuls.count, parts);
  if (joined) in.bias = 0;  // it is added
  last_norm_ = in;
  const bool last = kind == MatmulKind::kDown && layer + 1 == weights_.layers.size();
  if (joined || last) return {};
  LaunchShape shape = grid(f.rows, 1, 1, 256);
  shape.overlaps = options_.overlap;
  return launch("norm", kernels_.norm, shape, in);
}

HeadInput CudaEngine::head_input(const Forward& f, std::size_t layer, PartCount parts) const {
  const DeviceLayer& weights = weights_.layers[layer];
  HeadInput in{};
  in.qkv = buffers_.parts.address();
  in.part_rows = f.matmuls.count;
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
  if (f.decode_rows > 0) KW_TRY_STATUS(attend_decoding(f, heads));
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

Status CudaEngine::attend_decoding(const Forward& f, const HeadInput& heads) {
  const std::int64_t group = config_.heads / config_.kv_heads;
  const DecodeInput in{heads,
                       f.decode_rows == f.rows ? 0 : f.data->decode_rows(),
                       buffers_.partial.address(),
                       buffers_.partial_statistics.address(),
                       buffers_.partial_counters.address(),
                       buffers_.attended.address()};
  LaunchShape shape = grid(f.splits, config_.kv_heads * ((group + 7) / 8), f.decode_rows, 128);
  shape.shared_bytes = kernels_.decode_shared_bytes;
  shape.overlaps = options_.overlap;
  return launch("attention", kernels_.attention_decode, shape, in);
}

// The final norm and the head, for the sampled rows only.
Status CudaEngine::logits_of(const Drawing& d) {
  NormInput in = last_norm_;
  in.row_list = d.data->sample_rows() + static_cast<DevicePointer>(d.first * 4);
  in.out = buffers_.last.address();
  in.keep = 0;
  LaunchShape shape = grid(d.count, 1, 1, 256);
  shape.overlaps = options_.overlap && d.data == &decode_data_;  // elsewhere masks are sent before
  KW_TRY_STATUS(launch("norm", kernels_.norm, shape, in));
  KW_TRY([[maybe_unused]] PartCount none,
         multiply(MatmulKind::kHead, 0, {Phase::kDecode, d.padded}));
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
  KW_CHECK(runs_whole(step));
  KW_TRY_STATUS(context_.make_current());
  std::map<std::string, double> out;
  auto drawing = [&](const Drawing& d) { return draw(d); };
  KW_TRY_STATUS(run_directly(step, drawing));  // matmuls are chosen, machine code is loaded
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
