// Weights: the parameters of a model as training needs them. Masters and gradients are float32, one
// block each; matrices have a second copy in the dtype that is computed with, where that is not
// float32.
//
// With a LoRA adapter its matrices alone are masters. The model's own weights stand still, and what
// is computed with is always the sum W + s B A, rounded once: so the forward pass, sampling and
// checkpoints know nothing of adapters, and the backward pass takes the gradients of A and B from
// products as narrow as the rank.
//
// Where several ranks train all weights, each has the float32 gradients of its shard alone, and in
// bfloat16 the masters of its shard alone (ZeRO-2 with sharded masters, arXiv 1910.02054). What is
// computed with stays whole: the matrices in the compute dtype, the vectors in float32. A backward
// pass writes gradients into buckets, one for a layer at a time, whose sums over all ranks are
// added to the shards (optimizer/bucket_sums.h).
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "lm/model/lora.h"
#include "lm/model/parameters.h"
#include "train/parallel/shards.h"

namespace kw::train {

// The next multiple of 128: tensors of masters begin there, as lm::Parameters places those of
// float32.
constexpr std::int64_t aligned(std::int64_t count) {
  constexpr std::int64_t kNumbers = 128;
  return (count + kNumbers - 1) / kNumbers * kNumbers;
}

// A LoRA adapter of some rows of a matrix: they are W + scale B A.
struct LowRank {
  std::int64_t first_row = 0, rows = 0;
  double scale = 1;
  at::Tensor a, b;                    // [rank, K], [rows, rank], in the compute dtype
  at::Tensor a_gradient, b_gradient;  // float32, of the same shapes
};

// Views of the blocks; undefined where the model has no such tensor.
struct Weight {
  at::Tensor value;  // matrices: the compute dtype; vectors: float32
  // Float32, of the same shape; gradients of micro-batches add up here. Undefined without training,
  // and of matrices that stand still. What vectors that stand still get is not used.
  at::Tensor gradient;
  std::vector<LowRank> adapters = {};
  // True: the gradient's memory holds nothing yet, and the first product is written instead of
  // added. Null: it always holds a sum. Weights::gradients() fills what is still blank with zeros.
  std::shared_ptr<bool> is_blank = nullptr;
};

// Shapes as in lm::LayerParameters.
struct LayerWeights {
  Weight input_norm, qkv, qkv_bias, q_norm, k_norm, output, output_bias, post_norm;
  Weight gate_up, gate_up_bias, down, down_bias;
};

// The gradient as a sum: what was blank has zeros.
const at::Tensor& gradient_sum(const Weight& weight);

// A part of the blocks whose gradient is made together: a layer, or a tensor outside of the layers.
// Buckets of every second layer share their memory, and those of embedding and head do.
struct Bucket {
  Shard range;
  at::Tensor gradient;           // float32, [range.size()]
  std::vector<Weight> matrices;  // whose gradients begin blank
  std::vector<at::Tensor> rest;  // the gradient between them, vectors and padding: begins as zeros
};

// One thread at a time.
class Weights {
 public:
  // parameters: float32; borrowed, and must outlive this. On the CPU their memory is the masters'
  // memory: no copy is made, and what trains is what an engine over them computes with.
  // compute: kFloat or kBFloat16. Without `trains` there are no gradients.
  Weights(lm::Parameters& parameters, at::Device device, at::ScalarType compute,
          bool trains = true);
  // Trains the adapter alone. On the CPU the sums take the parameters' memory, and the model's own
  // weights are copied.
  Weights(lm::Parameters& parameters, at::Device device, at::ScalarType compute,
          lm::LoraAdapter adapter);
  // Trains as one of several ranks. In float32 the masters are whole, as they are what is computed
  // with; in bfloat16 they are a copy of the shard.
  Weights(lm::Parameters& parameters, at::Device device, at::ScalarType compute, Sharding sharding);

  Weight embedding, final_norm, head;  // head: the embedding's tensors where they are tied
  std::vector<LayerWeights> layers;

  const lm::ModelConfig& config() const { return parameters_->config(); }
  // Those given: in them, tensors lie as in the blocks.
  const lm::Parameters& parameters() const { return *parameters_; }
  at::ScalarType compute_dtype() const { return compute_; }
  at::Device device() const { return masters_.device(); }

  // How many numbers the blocks have together, on all ranks.
  std::int64_t count() const { return count_; }
  // What is trained, float32: whole blocks, or this rank's shard of them. Padding between tensors
  // is 0 and stays 0.
  const at::Tensor& masters() const { return masters_; }
  const at::Tensor& gradients() const;
  // Where in the whole blocks those of this rank begin, and its numbers [begin, begin + count) of
  // the whole blocks.
  std::int64_t masters_begin() const { return masters_begin_; }
  std::int64_t gradients_begin() const { return gradients_begin_; }
  at::Tensor masters_at(std::int64_t begin, std::int64_t count) const {
    return masters_.narrow(0, begin - masters_begin_, count);
  }
  at::Tensor gradients_at(std::int64_t begin, std::int64_t count) const {
    return gradients().narrow(0, begin - gradients_begin_, count);
  }
  // The masters in the compute dtype, laid out as the whole blocks; themselves in float32.
  const at::Tensor& rounded_masters() const { return rounded_; }

  // Of several ranks; nullptr: gradients and masters are whole.
  const Sharding* sharding() const { return sharding_ ? &*sharding_ : nullptr; }
  bool has_sharded_masters() const { return vectors_.defined(); }
  // The model's buckets in the order of the blocks: embedding, layers, final norm, and the head
  // where it is not tied. Empty without shards.
  const std::vector<Bucket>& buckets() const { return buckets_; }
  // A bucket whose gradient is no longer needed: it is blank again.
  void clear(const Bucket& bucket);
  // With sharded masters: the vectors that are computed with, float32, one after the other, and
  // what of them comes from each rank's shard.
  const at::Tensor& vectors() const { return vectors_; }
  const std::vector<Shard>& vector_shards() const { return vector_shards_; }
  // Whole float32 masters before training begins, which may be written: the masters themselves, or
  // with shards of them the parameters' memory, of which begin() takes the shard.
  const at::Tensor& start() const { return has_sharded_masters() ? host_ : masters_; }
  void begin();

  // The model, laid out as its parameters: its matrices in the compute dtype, and float32, of which
  // the vectors are used. Without an adapter these are rounded_masters() and masters(); the second
  // is undefined with sharded masters.
  const at::Tensor& computed() const { return computed_; }
  const at::Tensor& base() const { return base_; }
  // The model as a checkpoint has it, float32, into memory of the host that is laid out so. Not
  // with sharded masters (KW_CHECK), which Optimizer::copy_model() gathers.
  void copy_model(at::Tensor& host) const;
  // Moves weights that are not trained by `rate` of the way to the model of the others, which have
  // the same shape: an exponential moving average. The same device (KW_CHECK).
  void follow(const Weights& others, double rate);
  bool has_adapter() const { return adapter_.has_value(); }
  // The adapter as it is now; nullopt: there is none.
  std::optional<lm::LoraAdapter> adapter() const;

  // One tensor of the blocks, in the order of the layout: fused projections are one.
  struct Entry {
    std::string name;  // "layers.0.qkv", "model.layers.0.self_attn.q_proj.A"
    Shard place;       // in the whole blocks
    // Views; the master is undefined where masters are sharded, and the gradient is a bucket's
    // where gradients are.
    at::Tensor master, gradient;
    bool is_matrix = false;
  };
  const std::vector<Entry>& entries() const { return entries_; }

  void clear_gradients();
  // After masters changed: rounds them into their copies, and sums them up. With sharded masters
  // these are the shard's numbers alone, of matrices and of vectors.
  void publish();
  // The last part of it, where rounded_masters() is right already.
  void add_adapter();

 private:
  // Where a product goes: rows of the blocks that are laid out as the model.
  struct Sum {
    std::int64_t first = 0, rows = 0, columns = 0;  // first: a number's place in the block
    at::Tensor a, b;                                // masters
  };

  void place_adapter(at::Device device);
  void make_views();
  void make_buckets();
  void fill_buckets();
  const Weight* find_blank(const Entry& entry) const;
  void place_vectors();
  at::Tensor gradient_view(std::int64_t first, std::int64_t count) const;
  void begin_blank(Weight& matrix);
  Weight matrix(const std::string& name, const lm::Matrix& source);
  Weight vector(const std::string& name, std::span<float> source);
  std::int64_t place_of(const void* data) const;  // in the block, in numbers
  void add_sums(at::Tensor& block) const;

  lm::Parameters* parameters_;
  at::ScalarType compute_;
  at::Tensor host_;  // over the parameters' memory
  at::Tensor masters_, gradients_, rounded_, computed_, base_;
  std::int64_t count_ = 0, masters_begin_ = 0, gradients_begin_ = 0;
  std::optional<Sharding> sharding_;
  std::vector<Bucket> buckets_;
  at::Tensor vectors_;
  std::map<std::int64_t, std::int64_t> vector_places_;  // from the block to vectors_
  std::vector<Shard> vector_shards_;
  std::vector<at::Tensor> own_vectors_, own_vector_masters_;  // parts of both in the shard
  std::vector<Entry> entries_;
  std::optional<lm::LoraAdapter> adapter_;  // its matrices' values are those of the start
  std::vector<Sum> sums_;                   // of the adapter's matrices, in their order
  std::vector<at::Tensor> unused_;          // gradients of vectors that stand still
  // On a GPU, and with buckets: the head and the layers' matrices, whose gradients begin blank,
  // with buckets the embedding too. And the gradients of all else, without buckets.
  std::vector<Weight> blanks_;
  std::vector<at::Tensor> cleared_;
};

}  // namespace kw::train
