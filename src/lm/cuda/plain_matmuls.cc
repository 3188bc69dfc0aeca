// Plain matmuls: ways to multiply that add the same numbers in the same order as our own unsplit
// matmul, found by their results.
//
// Why results tell. A way's order of additions is a function of its shape and of the number of
// rows, not of what is multiplied; sums of random numbers in another order differ in almost every
// row. So a way is tried on as many rows as it will be used for, all of them random, and taken if
// its result has not one other bit. A row of our own matmul does not depend on the others, so no
// row of an equal way does. Which of the equal ways is taken may then be decided by time.
#include <algorithm>

#include "lm/cuda/matmuls.h"

namespace kw::lm::cuda {
namespace {

using kw::cuda::DeviceBuffer;
using kw::cuda::LaunchShape;

// If our own matmul cannot do it, one way of cuBLASLt's serves every number of rows: the first that
// it names for `rows`.
constexpr std::int64_t kTypicalRows = 8192;

LaunchShape many_blocks() {
  LaunchShape out;
  out.threads = 256;
  out.grid[0] = 1024;
  return out;
}

}  // namespace

Result<std::vector<Matmuls::Plan>> Matmuls::plain_ways(MatmulKind kind, std::int64_t rows) {
  std::vector<Plan> out;
  if (!own_can(kind)) {
    KW_TRY(LtMatmul made, LtMatmul::make_as_of(lt_, lt_shape(kind, rows), kTypicalRows));
    Plan plan;
    plan.lt = std::make_shared<LtMatmul>(std::move(made));
    out.push_back(std::move(plan));
    return out;
  }
  KW_TRY(std::vector<Plan> own, own_plans(kind, rows, false));
  KW_TRY(const std::uint64_t wanted, checksum(own.front(), kind, rows));
  std::vector<Plan> others;
  if (Status found = add_lt(kind, rows, others); !found) others.clear();
  for (Plan& plan : others) {
    auto sum = checksum(plan, kind, rows);  // it may refuse what it has named
    if (!sum || *sum != wanted) continue;
    out.push_back(std::move(plan));
    if (rows > kMaxTimedRows) return out;
  }
  if (rows <= kFewRows || out.empty()) {
    if (rows > kMaxTimedRows) own.resize(1);
    out.insert(out.end(), own.begin(), own.end());
  }
  return out;
}

Matmuls::Region Matmuls::result_of(MatmulKind kind, std::int64_t rows) const {
  switch (kind) {
    case MatmulKind::kQkv:
      return {targets_.parts, rows * place(kind).n * 4};
    case MatmulKind::kGateUp:
      return {targets_.activated, rows * place(kind).n / 2 * 2};
    case MatmulKind::kHead:
      return {targets_.logits, rows * targets_.logit_pitch * 4};
    case MatmulKind::kOutput:
    case MatmulKind::kDown:
      break;
  }
  return {targets_.residual, rows * place(kind).n * 4};
}

Status Matmuls::randomise(const Region& region, std::uint32_t number) {
  return kernels_.initial.launch(stream_, many_blocks(), region.address, region.bytes / 2,
                                 std::uint64_t{1}, number, 1.0F);
}

// The checksum of a matmul of random rows, with the norm after it. A matmul that adds does so to
// random numbers.
Result<std::uint64_t> Matmuls::checksum(const Plan& plan, MatmulKind kind, std::int64_t rows) {
  if (checksum_.bytes() == 0) {
    KW_TRY(checksum_, DeviceBuffer::make(sizeof(std::uint64_t)));
  }
  const Region result = result_of(kind, rows);
  KW_TRY_STATUS(randomise({place(kind).x, rows * place(kind).k * 2}, 4'000'000));
  if (adds_to_residual(kind)) {
    KW_TRY_STATUS(randomise(result, 4'000'001));
  } else {
    KW_TRY_STATUS(stream_.fill(result.address, 0, static_cast<std::size_t>(result.bytes)));
  }
  KW_TRY_STATUS(run_timed(plan, kind, 0, rows, false));
  KW_TRY_STATUS(stream_.fill(checksum_.address(), 0, checksum_.bytes()));
  KW_TRY_STATUS(kernels_.checksum.launch(stream_, many_blocks(), result.address, result.bytes / 4,
                                         checksum_.address()));
  std::uint64_t out = 0;
  KW_TRY_STATUS(stream_.copy(&out, checksum_.address(), sizeof(out)));
  KW_TRY_STATUS(stream_.synchronize());
  return out;
}

}  // namespace kw::lm::cuda
