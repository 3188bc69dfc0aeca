// The arrangement is walked by one function that counts, places, copies and fills.
#include "lm/cuda/device_parameters.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/check.h"

namespace kw::lm::cuda {
namespace {

using kw::cuda::Event;
using kw::cuda::LaunchShape;
using kw::cuda::PinnedBuffer;
using kw::cuda::Stream;

constexpr std::size_t kAlignment = 256;  // what cuBLASLt's fastest kernels want
constexpr std::size_t kPiece = 32ULL << 20U;

enum class Content { kMatrix, kNorm, kBias };

// Two page-locked pieces in turns: one is filled while the other travels.
class Uploader {
 public:
  static Result<Uploader> make(const Stream& stream) {
    Uploader out(stream);
    for (Half& half : out.halves_) {
      KW_TRY(half.memory, PinnedBuffer::make(kPiece));
      KW_TRY(half.done, Event::make());
      KW_TRY_STATUS(stream.record(half.done));
    }
    return out;
  }
  Status copy(DevicePointer to, const std::byte* from, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += kPiece) {
      Half& half = halves_[next_];
      next_ = 1 - next_;
      const std::size_t size = std::min(kPiece, bytes - at);
      KW_TRY_STATUS(half.done.synchronize());
      std::memcpy(half.memory.data(), from + at, size);
      KW_TRY_STATUS(stream_.copy(to + at, half.memory.data(), size));
      KW_TRY_STATUS(stream_.record(half.done));
    }
    return {};
  }

 private:
  struct Half {
    PinnedBuffer memory;
    Event done;
  };
  explicit Uploader(const Stream& stream) : stream_(stream) {}
  const Stream& stream_;
  Half halves_[2];
  std::size_t next_ = 0;
};

}  // namespace

class DeviceParameters::Layout {
 public:
  struct Tensor {
    DevicePointer address = 0;
    std::size_t elements = 0, bytes = 0;
    Content content = Content::kMatrix;
  };

  Layout(DevicePointer base, WeightType type) : base_(base), type_(type) {}
  DevicePointer matrix(std::int64_t rows, std::int64_t columns) {
    return take(Content::kMatrix, rows * columns, size_of(type_));
  }
  DevicePointer norm(std::int64_t size) { return take(Content::kNorm, size, sizeof(float)); }
  DevicePointer norm_if(bool wanted, std::int64_t size) { return wanted ? norm(size) : 0; }
  DevicePointer bias_if(bool wanted, std::int64_t size) {
    return wanted ? take(Content::kBias, size, sizeof(float)) : 0;
  }
  std::size_t used() const { return used_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  DevicePointer take(Content content, std::int64_t elements, std::size_t element) {
    const auto count = static_cast<std::size_t>(elements);
    const DevicePointer out = base_ + used_;
    tensors_.push_back({out, count, count * element, content});
    used_ += (count * element + kAlignment - 1) / kAlignment * kAlignment;
    return out;
  }

  DevicePointer base_;
  WeightType type_;
  std::size_t used_ = 0;
  std::vector<Tensor> tensors_;
};

void DeviceParameters::place(Layout& layout, const ModelConfig& c) {
  const std::int64_t qkv = c.query_width() + 2 * c.kv_width();
  embedding = layout.matrix(c.vocabulary, c.hidden);
  layers.assign(static_cast<std::size_t>(c.layers), {});
  for (DeviceLayer& layer : layers) {
    layer.input_norm = layout.norm(c.hidden);
    layer.qkv = layout.matrix(qkv, c.hidden);
    layer.qkv_bias = layout.bias_if(c.qkv_bias, qkv);
    layer.q_norm = layout.norm_if(c.qk_norm, c.head_dim);
    layer.k_norm = layout.norm_if(c.qk_norm, c.head_dim);
    layer.output = layout.matrix(c.hidden, c.query_width());
    layer.output_bias = layout.bias_if(c.output_bias, c.hidden);
    layer.post_norm = layout.norm(c.hidden);
    layer.gate_up = layout.matrix(2 * c.intermediate, c.hidden);
    layer.gate_up_bias = layout.bias_if(c.mlp_bias, 2 * c.intermediate);
    layer.down = layout.matrix(c.hidden, c.intermediate);
    layer.down_bias = layout.bias_if(c.mlp_bias, c.hidden);
  }
  final_norm = layout.norm(c.hidden);
  head = c.tied_embeddings ? embedding : layout.matrix(c.vocabulary, c.hidden);
}

std::size_t DeviceParameters::bytes_of(const ModelConfig& config, WeightType type) {
  DeviceParameters counted;
  Layout layout(kAlignment, type);
  counted.place(layout, config);
  return layout.used();
}

Result<DeviceParameters> DeviceParameters::upload(const Parameters& p, const Stream& stream) {
  DeviceParameters out;
  KW_TRY(out.memory_, kw::cuda::DeviceBuffer::make(bytes_of(p.config(), p.type())));
  Layout layout(out.memory_.address(), p.type());
  out.place(layout, p.config());
  KW_TRY(Uploader uploader, Uploader::make(stream));
  auto matrix = [&](DevicePointer to, const Matrix& from) {
    return uploader.copy(to, from.data,
                         static_cast<std::size_t>(from.rows * from.columns) * size_of(from.type));
  };
  auto vector = [&](DevicePointer to, std::span<const float> from) {
    return uploader.copy(to, reinterpret_cast<const std::byte*>(from.data()), from.size_bytes());
  };
  KW_TRY_STATUS(matrix(out.embedding, p.embedding));
  for (std::size_t i = 0; i < out.layers.size(); ++i) {
    const LayerParameters& from = p.layers[i];
    const DeviceLayer& to = out.layers[i];
    KW_TRY_STATUS(vector(to.input_norm, from.input_norm));
    KW_TRY_STATUS(matrix(to.qkv, from.qkv));
    KW_TRY_STATUS(vector(to.qkv_bias, from.qkv_bias));
    KW_TRY_STATUS(vector(to.q_norm, from.q_norm));
    KW_TRY_STATUS(vector(to.k_norm, from.k_norm));
    KW_TRY_STATUS(matrix(to.output, from.output));
    KW_TRY_STATUS(vector(to.output_bias, from.output_bias));
    KW_TRY_STATUS(vector(to.post_norm, from.post_norm));
    KW_TRY_STATUS(matrix(to.gate_up, from.gate_up));
    KW_TRY_STATUS(vector(to.gate_up_bias, from.gate_up_bias));
    KW_TRY_STATUS(matrix(to.down, from.down));
    KW_TRY_STATUS(vector(to.down_bias, from.down_bias));
  }
  KW_TRY_STATUS(vector(out.final_norm, p.final_norm));
  if (!p.config().tied_embeddings) KW_TRY_STATUS(matrix(out.head, p.head));
  KW_TRY_STATUS(stream.synchronize());
  return out;
}

DeviceParameters DeviceParameters::view(const SharedWeights& weights) {
  const Parameters& p = *weights.arrangement;
  KW_CHECK(p.type() == WeightType::kFloat32);
  const auto* first = reinterpret_cast<const float*>(p.embedding.data);
  const auto vectors = reinterpret_cast<DevicePointer>(weights.vectors),
             matrices = reinterpret_cast<DevicePointer>(weights.matrices);
  auto matrix = [&](const Matrix& one) {
    const auto number = reinterpret_cast<const float*>(one.data) - first;
    const DevicePointer out = matrices + static_cast<DevicePointer>(number) * 2;
    KW_CHECK(out % kAlignment == 0);
    return out;
  };
  auto vector = [&](std::span<const float> one) -> DevicePointer {
    if (one.empty()) return 0;
    return vectors + static_cast<DevicePointer>(one.data() - first) * sizeof(float);
  };
  DeviceParameters out;
  out.embedding = matrix(p.embedding);
  for (const LayerParameters& from : p.layers) {
    DeviceLayer to;
    to.input_norm = vector(from.input_norm);
    to.qkv = matrix(from.qkv);
    to.qkv_bias = vector(from.qkv_bias);
    to.q_norm = vector(from.q_norm);
    to.k_norm = vector(from.k_norm);
    to.output = matrix(from.output);
    to.output_bias = vector(from.output_bias);
    to.post_norm = vector(from.post_norm);
    to.gate_up = matrix(from.gate_up);
    to.gate_up_bias = vector(from.gate_up_bias);
    to.down = matrix(from.down);
    to.down_bias = vector(from.down_bias);
    out.layers.push_back(to);
  }
  out.final_norm = vector(p.final_norm);
  out.head = p.config().tied_embeddings ? out.embedding : matrix(p.head);
  return out;
}

Result<DeviceParameters> DeviceParameters::random(const ModelConfig& config, WeightType type,
                                                  std::uint64_t seed, const Makers& makers,
                                                  const Stream& stream) {
  DeviceParameters out;
  KW_TRY(out.memory_, kw::cuda::DeviceBuffer::make(bytes_of(config, type)));
  Layout layout(out.memory_.address(), type);
  out.place(layout, config);
  const auto deviation = static_cast<float>(config.initializer_range);
  unsigned number = 0;
  for (const Layout::Tensor& tensor : layout.tensors()) {
    const auto size = static_cast<std::int64_t>(tensor.elements);
    LaunchShape shape;
    shape.threads = 256;
    shape.grid[0] = static_cast<unsigned>(std::clamp<std::int64_t>(size / 1024, 1, 8192));
    if (tensor.content == Content::kMatrix)
      KW_TRY_STATUS(
          makers.normal.launch(stream, shape, tensor.address, size, seed, number++, deviation));
    else
      KW_TRY_STATUS(makers.fill.launch(stream, shape, tensor.address, size,
                                       tensor.content == Content::kNorm ? 1.0F : 0.0F));
  }
  KW_TRY_STATUS(stream.synchronize());
  return out;
}

}  // namespace kw::lm::cuda
