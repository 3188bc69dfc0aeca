// Matmuls: the matmuls of a step. Each is done in the way that is fastest for its number of rows,
// among all ways or among those that add in one order (MatmulChoice).
//
// The four of a layer are chosen together. Joined ones are all our own: output and down add to the
// residual stream and leave what the next matmul multiplies but for a factor of each row, which
// that matmul applies (matmul.cu). Otherwise each is cuBLASLt's or our own, and a norm comes
// after output and down.
//
// Batch-invariant, decoded rows take joined matmuls with fixed splits of k. Prompts, and the head,
// take plain ones: k in one piece, from its beginning to its end. That is what our own unsplit
// matmul does, for any number of rows; of cuBLASLt's ways those are taken whose results for a
// number of rows are equal to its results to the bit (plain_matmuls.cc).
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cuda/lt_matmul.h"
#include "cuda/stream.h"
#include "lm/cuda/cuda_engine.h"
#include "lm/cuda/kernels.h"
#include "lm/cuda/matmul_tiling.h"
#include "lm/engine.h"

namespace kw::lm::cuda {

using kw::cuda::Lt;
using kw::cuda::LtMatmul;
using kw::cuda::LtShape;

enum class MatmulKind { kQkv, kOutput, kGateUp, kDown, kHead };
inline constexpr std::array kMatmulKinds = {MatmulKind::kQkv, MatmulKind::kOutput,
                                            MatmulKind::kGateUp, MatmulKind::kDown,
                                            MatmulKind::kHead};
inline constexpr std::array kLayerMatmuls = {MatmulKind::kQkv, MatmulKind::kOutput,
                                             MatmulKind::kGateUp, MatmulKind::kDown};
std::string_view to_string(MatmulKind kind);
constexpr bool adds_to_residual(MatmulKind kind) {
  return kind == MatmulKind::kOutput || kind == MatmulKind::kDown;
}

// The operands of all matmuls of a kind. Addresses stay the same. Vectors have an element for each
// layer, or 0:
struct MatmulPlace {
  std::int64_t n = 0, k = 0;
  DevicePointer x = 0;                 // [rows, k]; room for the next multiple of 64 rows
  std::vector<DevicePointer> weights;  // [n, k]
  std::vector<DevicePointer> biases;   // of output, gate_up, down: [n]
  std::vector<DevicePointer> norms;    // of output, down: the next norm's weight, [n]
};

// The memory for results.
struct MatmulTargets {
  DevicePointer parts = 0;      // float32
  std::size_t part_floats = 0;  // room
  DevicePointer residual = 0;   // float32 [rows, D]
  DevicePointer normed = 0;     // [rows, D]
  DevicePointer squares = 0;    // float32 [rows, D / 32]
  DevicePointer activated = 0;  // [rows, F]
  DevicePointer logits = 0;     // float32 [rows, logit_pitch]
  std::int64_t logit_pitch = 0;
};

// Rows that go through a layer's matmuls together.
struct MatmulRows {
  Phase phase = Phase::kDecode;  // with kFastest always
  std::int64_t count = 0;
  friend auto operator<=>(const MatmulRows&, const MatmulRows&) = default;
};

// The number of parts that the next kernel adds up. 0: the result is in its place already (added to
// the residual stream, activated, logits).
using PartCount = int;

inline constexpr std::int64_t kFewRows = 256;  // up to so many, our own matmul may be the faster
// With more rows a matmul takes so long that any good way will do, and none is timed.
inline constexpr std::int64_t kMaxTimedRows = 2048;

class Matmuls {
 public:
  struct Setting {
    bool float32 = false, overlap = true;
    MatmulChoice choice = MatmulChoice::kBatchInvariant;
    int multiprocessors = 0;
    float epsilon = 0;  // of norms
  };
  // It borrows all but the setting and the places.
  Matmuls(const Lt& lt, const Kernels& kernels, const kw::cuda::Stream& stream, Setting setting)
      : lt_(lt), kernels_(kernels), stream_(stream), setting_(setting) {}
  void set_places(std::array<MatmulPlace, kMatmulKinds.size()> places, MatmulTargets targets) {
    places_ = std::move(places);
    targets_ = targets;
  }
  // The room for parts, in floats, of any number of rows up to this one.
  static std::size_t part_floats(const ModelConfig& config, const Setting& setting,
                                 std::int64_t rows);

  // It puts a layer's attention over these parts of q, k and v on the stream.
  using Attention = std::function<Status(std::size_t layer, PartCount parts)>;
  // Choose how matmuls of so many rows are done; write over x and the results. Not while a graph
  // is recorded. With can_join and an attention, whole layers are timed; otherwise matmuls are
  // chosen by themselves, and joined if they can be.
  bool can_join(const MatmulRows& rows) const;
  Status prepare_layer(const MatmulRows& rows, const Attention& attention);
  bool is_prepared(const MatmulRows& rows) const { return layers_.contains(rows); }
  Status prepare_head(std::int64_t rows);

  // prepare_layer comes first. True: no norms come between the layers' matmuls.
  bool joined(const MatmulRows& rows) const { return layers_.at(rows).joined; }
  // prepare comes first. The parts have rows.count rows. The head may have any phase.
  Result<PartCount> run(MatmulKind kind, std::size_t layer, const MatmulRows& rows);
  // The operands of the norm after output or down, for matmuls that are not joined.
  NormInput norm_after(MatmulKind kind, std::size_t layer, std::int64_t part_rows,
                       PartCount parts) const;
  // For people: "qkv 64: own 64x64x6 split 7, 4.1 us".
  std::vector<std::string> choices() const;

 private:
  // Our own variant with its tiling and its input, or cuBLASLt's way.
  struct Plan {
    std::optional<std::size_t> own;
    MatmulTiling tiling;
    bool early = true;  // lets the next kernel start before it has what it waits for
    kw::cuda::TensorMap x;
    std::vector<kw::cuda::TensorMap> weights;
    std::shared_ptr<LtMatmul> lt;
    std::size_t way = 0;
    double us = 0;  // with a small kernel before it and the norm after it; 0: not timed
  };
  struct LayerPlans {
    bool joined = false;
    std::array<Plan, kLayerMatmuls.size()> plans;
    double us = 0;  // 0: not timed
  };
  using LayerWays = std::array<std::vector<Plan>, kLayerMatmuls.size()>;

  const MatmulPlace& place(MatmulKind kind) const {
    return places_[static_cast<std::size_t>(kind)];
  }
  bool own_can(MatmulKind kind) const;
  bool is_invariant() const { return setting_.choice == MatmulChoice::kBatchInvariant; }
  Result<LayerWays> joined_ways(std::int64_t rows);
  Status make_separate(LayerWays& ways, std::int64_t rows);
  Result<LayerPlans> fastest_layer(const LayerWays& ways, bool joined, std::int64_t rows,
                                   const Attention& attention);
  std::vector<MatmulTiling> tilings(const MatmulVariant& variant, const MatmulSize& size,
                                    bool whole) const;
  Result<std::vector<Plan>> own_plans(MatmulKind kind, std::int64_t rows, bool joined) const;
  Result<Plan> own_plan(MatmulKind kind, std::int64_t rows, std::size_t variant,
                        const MatmulTiling& tiling) const;
  Result<std::vector<Plan>> separate_ways(MatmulKind kind, std::int64_t rows);
  LtShape lt_shape(MatmulKind kind, std::int64_t rows) const;
  Status add_lt(MatmulKind kind, std::int64_t rows, std::vector<Plan>& out) const;
  Result<std::vector<Plan>> plain_ways(MatmulKind kind, std::int64_t rows);
  struct Region {
    DevicePointer address = 0;
    std::int64_t bytes = 0;  // a multiple of 4
  };
  Region result_of(MatmulKind kind, std::int64_t rows) const;
  Result<std::uint64_t> checksum(const Plan& plan, MatmulKind kind, std::int64_t rows);
  Status randomise(const Region& region, std::uint32_t number);
  Result<std::vector<Plan>> ranked(std::vector<Plan> plans, MatmulKind kind, std::int64_t rows);
  Result<double> time(const Plan& plan, MatmulKind kind, std::int64_t rows);
  double adding_us(const Plan& plan, MatmulKind kind, std::int64_t rows) const;
  Status try_layer(LayerPlans& best, std::size_t matmul, const Plan& plan, std::int64_t rows,
                   const Attention& attention);
  Result<double> time_layer(const LayerPlans& plans, std::int64_t rows, const Attention& attention);
  Status run_timed(const Plan& plan, MatmulKind kind, std::size_t layer, std::int64_t rows,
                   bool factors);
  bool adds_itself(const Plan& plan) const;
  Result<PartCount> run_plan(const Plan& plan, MatmulKind kind, std::size_t layer,
                             std::int64_t rows, bool factors);
  Status run_own(const Plan& plan, MatmulKind kind, std::size_t layer, std::int64_t rows,
                 bool factors);
  Result<PartCount> run_lt(const Plan& plan, MatmulKind kind, std::size_t layer, std::int64_t rows);
  std::string describe(MatmulKind kind, std::int64_t rows, const Plan& plan) const;

  const Lt& lt_;
  const Kernels& kernels_;
  const kw::cuda::Stream& stream_;
  Setting setting_;
  std::array<MatmulPlace, kMatmulKinds.size()> places_;
  MatmulTargets targets_;
  kw::cuda::DeviceBuffer checksum_;
  std::map<MatmulRows, LayerPlans> layers_;
  std::map<std::int64_t, Plan> heads_;
};

}  // namespace kw::lm::cuda
