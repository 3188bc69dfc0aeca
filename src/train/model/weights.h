// Weights: the parameters of a model as training needs them. Masters and gradients are float32, one
// block each; matrices have a second copy in the dtype that is computed with, where that is not
// float32.
#pragma once
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "lm/model/parameters.h"

namespace kw::train {

// Views of the blocks; undefined where the model has no such tensor.
struct Weight {
  at::Tensor value;  // matrices: the compute dtype; vectors: float32
  // Float32, of the same shape; gradients of micro-batches add up here. Undefined without training.
  at::Tensor gradient;
};

// Shapes as in lm::LayerParameters.
struct LayerWeights {
  Weight input_norm, qkv, qkv_bias, q_norm, k_norm, output, output_bias, post_norm;
  Weight gate_up, gate_up_bias, down, down_bias;
};

// One thread at a time.
class Weights {
 public:
  // parameters: float32; borrowed, and must outlive this. On the CPU their memory is the masters'
  // memory: no copy is made, and what trains is what an engine over them computes with.
  // compute: kFloat or kBFloat16. Without `trains` there are no gradients.
  Weights(lm::Parameters& parameters, at::Device device, at::ScalarType compute,
          bool trains = true);

  Weight embedding, final_norm, head;  // head: the embedding's tensors where they are tied
  std::vector<LayerWeights> layers;

  const lm::ModelConfig& config() const { return parameters_->config(); }
  // Those given: in them, tensors lie as in the blocks.
  const lm::Parameters& parameters() const { return *parameters_; }
  at::ScalarType compute_dtype() const { return compute_; }
  at::Device device() const { return masters_.device(); }

  // Whole blocks, float32. Padding between tensors is 0 and stays 0.
  const at::Tensor& masters() const { return masters_; }
  const at::Tensor& gradients() const { return gradients_; }
  // The matrices in the compute dtype, laid out alike; the masters themselves in float32.
  const at::Tensor& computed() const { return computed_; }

  // One tensor of the blocks, in the order of the layout: fused projections are one.
  struct Entry {
    std::string name;  // "layers.0.qkv"
    at::Tensor master, gradient;
    bool is_matrix = false;
  };
  const std::vector<Entry>& entries() const { return entries_; }

  void clear_gradients();
  // After masters changed: rounds them into the compute copies.
  void publish();

 private:
  Weight matrix(const std::string& name, const lm::Matrix& source);
  Weight vector(const std::string& name, std::span<float> source);

  lm::Parameters* parameters_;
  at::ScalarType compute_;
  at::Tensor host_;  // over the parameters' memory
  at::Tensor masters_, gradients_, computed_;
  std::vector<Entry> entries_;
};

}  // namespace kw::train
