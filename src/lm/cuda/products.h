// Products: the matrix products of a step, each done the way that is fastest for its number of
// rows.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/stream.h"
#include "lm/cuda/cuda_engine.h"
#include "lm/cuda/kernels.h"
#include "lm/cuda/lt_product.h"

namespace kw::lm::cuda {

enum class ProductKind { kQkv, kOutput, kGateUp, kDown, kHead };
inline constexpr std::array kProductKinds = {ProductKind::kQkv, ProductKind::kOutput,
                                             ProductKind::kGateUp, ProductKind::kDown,
                                             ProductKind::kHead};
std::string_view to_string(ProductKind kind);

// What products of a kind have in common; addresses stay.
struct ProductPlace {
  std::int64_t n = 0, k = 0;
  DevicePointer x = 0;                 // [rows, k]; room for the next multiple of 64 rows
  std::vector<DevicePointer> weights;  // [n, k] of each layer
  std::vector<DevicePointer> biases;   // of gate_up: [n] or 0 of each layer
};

// Where results go.
struct ProductTargets {
  DevicePointer parts = 0;      // float32
  std::size_t part_floats = 0;  // room
  DevicePointer residual = 0;   // float32 [rows, D]
  DevicePointer activated = 0;  // [rows, F]
  DevicePointer logits = 0;     // float32 [rows, logit_pitch]
  std::int64_t logit_pitch = 0;
};

// How the next kernel gets the result: so many parts to be added up; 0: it is where it belongs
// (added to the residual, activated, logits).
using PartCount = int;

class Products {
 public:
  struct Setting {
    bool float32 = false, overlap = true;
    ProductChoice choice = ProductChoice::kFastest;
    int multiprocessors = 0;
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

  // Chooses how products of so many rows are done; writes over x and the results. Not while a graph
  // is recorded.
  Status prepare(ProductKind kind, std::int64_t rows);
  // After prepare. part_rows of the parts are `rows`.
  Result<PartCount> run(ProductKind kind, std::size_t layer, std::int64_t rows);
  // For people: "qkv 64: own 64x64x4 split 4, 4.1 us".
  std::vector<std::string> choices() const;

 private:
  // Our own variant and splits of k, or cuBLASLt's way.
  struct Plan {
    std::optional<std::size_t> own;
    int splits = 1;
    std::shared_ptr<LtProduct> lt;
    std::size_t way = 0;
    double us = 0;  // of a product and a small kernel before it, as timed; 0: not timed
  };
  using Key = std::pair<ProductKind, std::int64_t>;

  const ProductPlace& place(ProductKind kind) const {
    return places_[static_cast<std::size_t>(kind)];
  }
  bool own_can(ProductKind kind) const;
  int fixed_splits(std::int64_t n, std::int64_t k, bool whole) const;
  std::vector<Plan> candidates(ProductKind kind, std::int64_t rows) const;
  void add_own(ProductKind kind, std::int64_t rows, std::vector<Plan>& out) const;
  Result<std::shared_ptr<LtProduct>> make_lt(ProductKind kind, std::int64_t rows) const;
  Result<double> time(const Plan& plan, ProductKind kind, std::int64_t rows);
  double adding_us(const Plan& plan, ProductKind kind, std::int64_t rows) const;
  Result<PartCount> run_plan(const Plan& plan, ProductKind kind, std::size_t layer,
                             std::int64_t rows);
  Status run_own(const Plan& plan, ProductKind kind, std::size_t layer, std::int64_t rows);
  Result<PartCount> run_lt(const Plan& plan, ProductKind kind, std::size_t layer,
                           std::int64_t rows);

  const Lt& lt_;
  const Kernels& kernels_;
  const kw::cuda::Stream& stream_;
  Setting setting_;
  std::array<ProductPlace, kProductKinds.size()> places_;
  ProductTargets targets_;
  std::map<Key, Plan> plans_;
};

}  // namespace kw::lm::cuda
