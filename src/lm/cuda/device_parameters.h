// DeviceParameters: a model's weights in the GPU's memory, in Parameters' arrangement, each tensor
// at a multiple of 256 bytes. The addresses never change; what stands there may, between steps.
#pragma once
#include <cstdint>
#include <vector>

#include "cuda/memory.h"
#include "cuda/module.h"
#include "cuda/stream.h"
#include "lm/cuda/shared_weights.h"
#include "lm/model/parameters.h"

namespace kw::lm::cuda {

using kw::cuda::DevicePointer;

// Shapes are those of LayerParameters. 0: the model has no such tensor.
struct DeviceLayer {
  DevicePointer input_norm = 0, qkv = 0, qkv_bias = 0, q_norm = 0, k_norm = 0, output = 0,
                output_bias = 0, post_norm = 0, gate_up = 0, gate_up_bias = 0, down = 0,
                down_bias = 0;
};

class DeviceParameters {
 public:
  DeviceParameters() = default;
  static std::size_t bytes_of(const ModelConfig& config, WeightType type);
  // Weights are copied through page-locked pieces, so that reading overlaps with the transfer.
  static Result<DeviceParameters> upload(const Parameters& parameters,
                                         const kw::cuda::Stream& stream);
  // Those that somebody else keeps: no copy is made.
  static DeviceParameters view(const SharedWeights& weights);
  struct Makers {
    kw::cuda::Function normal, fill;  // kw_initial, kw_fill
  };
  static Result<DeviceParameters> random(const ModelConfig& config, WeightType type,
                                         std::uint64_t seed, const Makers& makers,
                                         const kw::cuda::Stream& stream);

  DevicePointer embedding = 0, final_norm = 0, head = 0;
  std::vector<DeviceLayer> layers;

 private:
  class Layout;
  void place(Layout& layout, const ModelConfig& config);
  kw::cuda::DeviceBuffer memory_;
};

}  // namespace kw::lm::cuda
