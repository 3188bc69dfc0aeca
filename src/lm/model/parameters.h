// Parameters: all weights of one model in one block of memory that never moves, projections that
// are computed together stored together: q, k and v; gate and up.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "lm/model/matrix.h"
#include "lm/model/model_config.h"
#include "os/memory.h"

namespace kw::lm {

// Vectors are float32, whatever the type of the matrices. Missing ones are empty.
struct LayerParameters {
  std::span<float> input_norm;      // [D]
  Matrix qkv;                       // [(H + 2 G) d, D]: q, then k, then v
  std::span<float> qkv_bias;        // [(H + 2 G) d]
  std::span<float> q_norm, k_norm;  // [d]
  Matrix output;                    // [D, H d]
  std::span<float> output_bias;     // [D]
  std::span<float> post_norm;       // [D]
  Matrix gate_up;                   // [2 F, D]: gate, then up
  std::span<float> gate_up_bias;    // [2 F]
  Matrix down;                      // [D, F]
  std::span<float> down_bias;       // [D]
};

// One tensor of Hugging Face's checkpoints: rows of a matrix, or a part of a vector.
struct NamedParameter {
  std::string name;  // "model.layers.0.self_attn.k_proj.weight"
  Matrix matrix;     // of the rows of this tensor alone; data is null for a vector
  std::span<float> vector;

  bool is_matrix() const { return matrix.data != nullptr; }
  std::vector<std::int64_t> shape() const;
};

// Movable; the memory stays where it is. Reading from several threads is safe.
class Parameters {
 public:
  // Zeros. Tensors of float32 begin at multiples of 128 numbers of the block, whose beginning is
  // the embedding. kResourceExhausted says how much memory the model takes, and what takes less.
  static Result<Parameters> make(const ModelConfig& config, WeightType type);

  const ModelConfig& config() const { return config_; }
  WeightType type() const { return type_; }
  Matrix embedding;  // [V, D]
  std::vector<LayerParameters> layers;
  std::span<float> final_norm;  // [D]
  Matrix head;                  // [V, D]; the embedding's memory where they are tied

  // In the order of the checkpoint's files; a tied head is left out.
  std::vector<NamedParameter> named() const;
  std::size_t bytes() const { return memory_.size(); }

 private:
  class Layout;
  Parameters(ModelConfig config, WeightType type) : config_(std::move(config)), type_(type) {}
  void place(Layout& layout);

  ModelConfig config_;
  WeightType type_;
  os::Mapping memory_;
};

// New weights: matrices normal with standard deviation initializer_range (embedding and head too),
// norms 1, biases 0, as transformers begins. The same seed gives the same weights, whatever the
// storage type and however many threads draw: each tensor draws from a stream of its name.
void initialise(Parameters& parameters, std::uint64_t seed, int threads = 1);

}  // namespace kw::lm
