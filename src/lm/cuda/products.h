// Products: the matrix products of a step, done the way that is fastest for its number of rows,
// among all or among those that add in one order (ProductChoice).
//
// The four of a layer are chosen together. Joined ones are all our own: output and down add to the
// residual stream and leave what the next product multiplies but for a factor of each row, which
// that product applies (product.cu). Otherwise each is cuBLASLt's or our own, and a norm comes
// after output and down.
//
// Batch-invariant, decoded rows take joined products with fixed splits of k. Prompts, and the head,
// take plain ones: k in one piece, from its beginning to its end. That is what our own unsplit
// product does, for any number of rows; of cuBLASLt's ways those are taken whose results for a
// number of rows are equal to its results to the bit (plain_products.cc).
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

#include "cuda/stream.h"
#include "lm/cuda/cuda_engine.h"
#include "lm/cuda/kernels.h"
#include "lm/cuda/lt_product.h"
#include "lm/cuda/product_tiling.h"
#include "lm/engine.h"

namespace kw::lm::cuda {

enum class ProductKind { kQkv, kOutput, kGateUp, kDown, kHead };
inline constexpr std::array kProductKinds = {ProductKind::kQkv, ProductKind::kOutput,
                                             ProductKind::kGateUp, ProductKind::kDown,
                                             ProductKind::kHead};
inline constexpr std::array kLayerProducts = {ProductKind::kQkv, ProductKind::kOutput,
                                              ProductKind::kGateUp, ProductKind::kDown};
std::string_view to_string(ProductKind kind);
constexpr bool adds_to_residual(ProductKind kind) {
  return kind == ProductKind::kOutput || kind == ProductKind::kDown;
}

// What products of a kind have in common; addresses stay. Of each layer, or 0:
struct ProductPlace {
  std::int64_t n = 0, k = 0;
  DevicePointer x = 0;                 // [rows, k]; room for the next multiple of 64 rows
  std::vector<DevicePointer> weights;  // [n, k]
  std::vector<DevicePointer> biases;   // of output, gate_up, down: [n]
  std::vector<DevicePointer> norms;    // of output, down: the next norm's weight, [n]
};

// Where results go.
struct ProductTargets {
  DevicePointer parts = 0;      // float32
  std::size_t part_floats = 0;  // room
  DevicePointer residual = 0;   // float32 [rows, D]
  DevicePointer normed = 0;     // [rows, D]
  DevicePointer squares = 0;    // float32 [rows, D / 32]
  DevicePointer activated = 0;  // [rows, F]
  DevicePointer logits = 0;     // float32 [rows, logit_pitch]
  std::int64_t logit_pitch = 0;
};

// Rows that go through a layer's products together.
struct ProductRows {
  Phase phase = Phase::kDecode;  // with kFastest always
  std::int64_t count = 0;
  friend auto operator<=>(const ProductRows&, const ProductRows&) = default;
};

// How the next kernel gets the result: so many parts to be added up; 0: it is where it belongs
// (added to the residual, activated, logits).
using PartCount = int;

inline constexpr std::int64_t kFewRows = 256;  // up to so many, our own product may be the faster
// More: a product takes so long that any good way does, and none is timed.
inline constexpr std::int64_t kMostTimedRows = 2048;

class Products {
 public:
  struct Setting {
    bool float32 = false, overlap = true;
    ProductChoice choice = ProductChoice::kBatchInvariant;
    int multiprocessors = 0;
    float epsilon = 0;  // of norms
  };
  // Borrows all but the setting and the places.
  Products(const Lt& lt, const Kernels& kernels, const kw::cuda::Stream& stream, Setting setting)
      : lt_(lt), kernels_(kernels), stream_(stream), setting_(setting) {}
  void set_places(std::array<ProductPlace, kProductKinds.size()> places, ProductTargets targets) {
    places_ = std::move(places);
    targets_ = targets;
  }
  // Room that parts of any number of rows up to this take, in floats.
  static std::size_t part_floats(const ModelConfig& config, const Setting& setting,
                                 std::int64_t rows);

  // Puts a layer's attention, of these parts of q, k and v, on the stream.
  using Attention = std::function<Status(std::size_t layer, PartCount parts)>;
  // Choose how products of so many rows are done; write over x and the results. Not while a graph
  // is recorded. With can_join and an attention, whole layers are timed; otherwise products are
  // chosen by themselves, and joined if they can be.
  bool can_join(const ProductRows& rows) const;
  Status prepare_layer(const ProductRows& rows, const Attention& attention);
  bool is_prepared(const ProductRows& rows) const { return layers_.contains(rows); }
  Status prepare_head(std::int64_t rows);

  // After prepare_layer: no norms come between the layers' products.
  bool joined(const ProductRows& rows) const { return layers_.at(rows).joined; }
  // After prepare. part_rows of the parts are rows.count; of the head any phase.
  Result<PartCount> run(ProductKind kind, std::size_t layer, const ProductRows& rows);
  // What the norm after output or down of `part_rows` reads and writes; for use where not joined.
  NormInput norm_after(ProductKind kind, std::size_t layer, std::int64_t part_rows,
                       PartCount parts) const;
  // For people: "qkv 64: own 64x64x6 split 7, 4.1 us".
  std::vector<std::string> choices() const;

 private:
  // Our own variant, its tiling and what it reads; or cuBLASLt's way.
  struct Plan {
    std::optional<std::size_t> own;
    ProductTiling tiling;
    bool early = true;  // lets the next kernel start before it has what it waits for
    kw::cuda::TensorMap x;
    std::vector<kw::cuda::TensorMap> weights;
    std::shared_ptr<LtProduct> lt;
    std::size_t way = 0;
    double us = 0;  // with a small kernel before it and the norm after it; 0: not timed
  };
  struct LayerPlans {
    bool joined = false;
    std::array<Plan, kLayerProducts.size()> plans;
    double us = 0;  // 0: not timed
  };
  using LayerWays = std::array<std::vector<Plan>, kLayerProducts.size()>;

  const ProductPlace& place(ProductKind kind) const {
    return places_[static_cast<std::size_t>(kind)];
  }
  bool own_can(ProductKind kind) const;
  bool is_invariant() const { return setting_.choice == ProductChoice::kBatchInvariant; }
  Result<LayerWays> joined_ways(std::int64_t rows);
  Status make_separate(LayerWays& ways, std::int64_t rows);
  Result<LayerPlans> fastest_layer(const LayerWays& ways, bool joined, std::int64_t rows,
                                   const Attention& attention);
  std::vector<ProductTiling> tilings(const ProductVariant& variant, const ProductSize& size,
                                     bool whole) const;
  Result<std::vector<Plan>> own_plans(ProductKind kind, std::int64_t rows, bool joined) const;
  Result<Plan> own_plan(ProductKind kind, std::int64_t rows, std::size_t variant,
                        const ProductTiling& tiling) const;
  Result<std::vector<Plan>> separate_ways(ProductKind kind, std::int64_t rows);
  LtShape lt_shape(ProductKind kind, std::int64_t rows) const;
  Status add_lt(ProductKind kind, std::int64_t rows, std::vector<Plan>& out) const;
  Result<std::vector<Plan>> plain_ways(ProductKind kind, std::int64_t rows);
  struct Region {
    DevicePointer address = 0;
    std::int64_t bytes = 0;  // a multiple of 4
  };
  Region result_of(ProductKind kind, std::int64_t rows) const;
  Result<std::uint64_t> checksum(const Plan& plan, ProductKind kind, std::int64_t rows);
  Status randomise(const Region& region, std::uint32_t number);
  Result<std::vector<Plan>> ranked(std::vector<Plan> plans, ProductKind kind, std::int64_t rows);
  Result<double> time(const Plan& plan, ProductKind kind, std::int64_t rows);
  double adding_us(const Plan& plan, ProductKind kind, std::int64_t rows) const;
  Status try_layer(LayerPlans& best, std::size_t product, const Plan& plan, std::int64_t rows,
                   const Attention& attention);
  Result<double> time_layer(const LayerPlans& plans, std::int64_t rows, const Attention& attention);
  Status run_timed(const Plan& plan, ProductKind kind, std::size_t layer, std::int64_t rows,
                   bool factors);
  bool adds_itself(const Plan& plan) const;
  Result<PartCount> run_plan(const Plan& plan, ProductKind kind, std::size_t layer,
                             std::int64_t rows, bool factors);
  Status run_own(const Plan& plan, ProductKind kind, std::size_t layer, std::int64_t rows,
                 bool factors);
  Result<PartCount> run_lt(const Plan& plan, ProductKind kind, std::size_t layer,
                           std::int64_t rows);
  std::string describe(ProductKind kind, std::int64_t rows, const Plan& plan) const;

  const Lt& lt_;
  const Kernels& kernels_;
  const kw::cuda::Stream& stream_;
  Setting setting_;
  std::array<ProductPlace, kProductKinds.size()> places_;
  ProductTargets targets_;
  kw::cuda::DeviceBuffer checksum_;
  std::map<ProductRows, LayerPlans> layers_;
  std::map<std::int64_t, Plan> heads_;
};

}  // namespace kw::lm::cuda
