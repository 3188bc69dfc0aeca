#include "train/cuda/engine_products.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cuda/tensor_map.h"
#include "lm/cuda/matmul_tiling.h"
#include "lm/cuda/operands.h"
#include "train/cuda/fused.h"
#include "train/cuda/launch.h"

namespace kw::train::cuda {

namespace engine = lm::cuda;
using kw::cuda::Event;
using kw::cuda::LtAlgorithm;
using kw::cuda::LtMatmul;
using kw::cuda::LtShape;

namespace {

constexpr int kTimedEqualRuns = 2;
// Bytes. A piece of k begins at a multiple of kMatmulStep bfloat16 numbers of a row, and rows of
// one phase begin at a row.
constexpr unsigned kProductAlignment = 128;
static_assert(kProductAlignment == engine::kMatmulStep * 2);

// Numbers of rows that share their ways, though cuBLASLt may refuse one of them: four between one
// power of two and the next.
std::int64_t shared_rows(std::int64_t rows) {
  const auto step = static_cast<std::int64_t>(
      std::max<std::uint64_t>(std::bit_floor(static_cast<std::uint64_t>(rows)) / 4, 64));
  return (rows + step - 1) / step * step;
}

// Columns [first, first + count) of k are a piece's.
struct Piece {
  std::int64_t first, count;
};
Piece piece_of(std::int64_t k, int piece, int pieces) {
  const std::int64_t each =
      engine::divided_up(k / engine::kMatmulStep, pieces) * engine::kMatmulStep;
  return {piece * each, std::min(each, k - piece * each)};
}

double time_of(const kw::cuda::Stream& stream, const std::function<void()>& work) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTimedEqualRuns; ++i) {
    const Event begin = checked(Event::make()), end = checked(Event::make());
    checked(stream.record(begin));
    work();
    checked(stream.record(end));
    checked(end.synchronize());
    least = std::min(least, checked(kw::cuda::elapsed_ms(begin, end)));
  }
  return least;
}

DevicePointer begin_of(const at::Tensor& x) {
  return reinterpret_cast<DevicePointer>(x.const_data_ptr());
}

}  // namespace

EngineProducts::EngineProducts(std::vector<engine::MatmulVariant> variants, int multiprocessors)
    : variants_(std::move(variants)), multiprocessors_(multiprocessors) {
  if (auto made = kw::cuda::Lt::make()) lt_ = std::move(*made);
}

int EngineProducts::decode_splits(const at::Tensor& w) const {
  return engine::fixed_splits({1, w.size(0), w.size(1), multiprocessors_});
}

void EngineProducts::run_own(engine::MatmulOutput output, const at::Tensor& x, const at::Tensor& w,
                             int splits, engine::MatmulInput in) const {
  const std::int64_t rows = x.size(0), n = w.size(0), k = w.size(1);
  TORCH_CHECK(x.size(1) == k && k % engine::kMatmulStep == 0, "an engine's product of ", k);
  if (rows == 0) return;
  const engine::MatmulSize size{rows, n, k, multiprocessors_};
  const engine::MatmulVariant* best = nullptr;
  engine::MatmulTiling tiling;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const engine::MatmulVariant& one : variants_) {
    if (one.output != output) continue;
    const auto some = engine::best_tiling(size, splits, one.columns, engine::width_unit(output));
    const std::int64_t cost = engine::tiling_cost(size, some);
    if (cost >= least) continue;
    least = cost;
    best = &one;
    tiling = some;
  }
  TORCH_CHECK(best != nullptr, "no kernel for an engine's product");
  checked(engine::check_operands("an engine's product",
                                 {{"x", address(x), 16}, {"w", address(w), 16}}));
  in.x =
      checked(kw::cuda::map_of_boxes(address(x), rows, k, static_cast<int>(engine::kMatmulRows)));
  const bool halves = output == engine::MatmulOutput::kSilu;
  in.w =
      checked(kw::cuda::map_of_boxes(address(w), n, k, halves ? tiling.width / 2 : tiling.width));
  in.part_rows = rows;
  if (in.pitch == 0) in.pitch = n;
  in.rows = static_cast<std::int32_t>(rows);
  in.n = static_cast<std::int32_t>(n);
  in.k = static_cast<std::int32_t>(k);
  in.early = 1;
  checked(engine::check_operands(output, in));
  const LaunchShape shape = best->launch_shape(tiling.width, splits, in);
  launch(best->function, shape, in);
}

void EngineProducts::run_all_own(const at::Tensor& x, const at::Tensor& w,
                                 const at::Tensor& y) const {
  engine::MatmulInput in{};
  in.y = begin_of(y);
  in.pitch = y.stride(1);
  run_own(engine::MatmulOutput::kParts, x, w, static_cast<int>(y.size(0)), in);
}

// Rows of N numbers, where N may be an odd vocabulary, have the pitch that rows of logits have.
at::Tensor EngineProducts::own_pieces(const at::Tensor& x, const at::Tensor& w, int pieces) const {
  const std::int64_t n = w.size(0);
  const at::Tensor out =
      at::empty({pieces, x.size(0), row_pitch(n)}, x.options().dtype(at::kFloat)).narrow(2, 0, n);
  run_all_own(x, w, out);
  return out;
}

// y: [R, N].
LtShape EngineProducts::shape_of(const at::Tensor& x, const at::Tensor& w, int piece, int pieces,
                                 const at::Tensor& y, bool adds) const {
  LtShape out;
  out.rows = x.size(0);
  out.n = w.size(0);
  out.k = piece_of(w.size(1), piece, pieces).count;
  out.pitch = y.stride(0);
  out.x_pitch = out.w_pitch = w.size(1);
  out.adds = adds;
  out.unsplit = true;
  out.alignment = kProductAlignment;
  return out;
}

Status EngineProducts::run_piece(const LtAlgorithm& way, const at::Tensor& x, const at::Tensor& w,
                                 int piece, int pieces, const at::Tensor& y, bool adds) const {
  KW_TRY(const LtMatmul matmul,
         LtMatmul::make_as(*lt_, shape_of(x, w, piece, pieces, y, adds), way));
  const auto begin =
      static_cast<DevicePointer>(piece_of(w.size(1), piece, pieces).first * x.element_size());
  checked(engine::check_operands("a product of cuBLASLt's",
                                 {{"x", begin_of(x) + begin, kProductAlignment},
                                  {"w", begin_of(w) + begin, kProductAlignment},
                                  {"y", begin_of(y), kProductAlignment}}));
  return matmul.run(0, begin_of(x) + begin, begin_of(w) + begin, begin_of(y), stream_);
}

EngineProducts::Choice EngineProducts::choose(const at::Tensor& x, const at::Tensor& w,
                                              int splits) const {
  Choice out;
  const at::Tensor wanted = own_pieces(x, w, splits);
  out.own_ms = time_of(stream_, [&] { run_all_own(x, w, wanted); });
  Ways ways;
  const at::Tensor got =
      at::empty_strided(wanted[0].sizes(), wanted[0].strides(), wanted.options());
  for (int piece = 0; piece < splits; ++piece) {
    LtShape shape = shape_of(x, w, piece, splits, got, false);
    shape.rows = shared_rows(shape.rows);
    const auto named = LtMatmul::make(*lt_, shape);
    out.equal.push_back(0);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; named && i < named->ways(); ++i) {
      const LtAlgorithm& way = named->algorithm(i);
      got.zero_();
      if (!run_piece(way, x, w, piece, splits, got, false)) continue;  // it may refuse
      if (!got.equal(wanted[piece])) continue;
      ++out.equal.back();
      const double ms =
          time_of(stream_, [&] { checked(run_piece(way, x, w, piece, splits, got, false)); });
      if (ms >= least) continue;
      least = ms;
      ways.resize(static_cast<std::size_t>(piece));
      ways.push_back(way);
    }
    out.ms += least;
    if (std::ssize(ways) <= piece) return out;
  }
  if (out.ms < out.own_ms) out.ways = std::move(ways);
  return out;
}

const EngineProducts::Ways* EngineProducts::ways(const at::Tensor& x, const at::Tensor& w,
                                                 int splits) const {
  if (!lt_ || x.size(0) == 0) return nullptr;
  const Key key{shared_rows(x.size(0)), w.size(0), w.size(1), splits};
  auto found = choices_.find(key);
  if (found == choices_.end()) found = choices_.emplace(key, choose(x, w, splits)).first;
  return found->second.ways ? &*found->second.ways : nullptr;
}

void EngineProducts::run(const Ways& ways, const at::Tensor& x, const at::Tensor& w,
                         const at::Tensor& y) const {
  const int pieces = static_cast<int>(ways.size());
  for (int piece = 0; piece < pieces; ++piece)
    if (!run_piece(ways[static_cast<std::size_t>(piece)], x, w, piece, pieces, y[piece], false))
      return run_all_own(x, w, y);
}

void EngineProducts::add(const Ways& ways, const at::Tensor& x, const at::Tensor& w,
                         const at::Tensor& y) const {
  const int pieces = static_cast<int>(ways.size());
  at::Tensor own;  // where cuBLASLt refuses so many rows
  for (int piece = 0; piece < pieces; ++piece) {
    if (run_piece(ways[static_cast<std::size_t>(piece)], x, w, piece, pieces, y, true)) continue;
    if (!own.defined()) own = own_pieces(x, w, pieces);
    y.add_(own[piece]);
  }
}

void EngineProducts::multiply(const at::Tensor& x, const at::Tensor& w, const at::Tensor& y) const {
  TORCH_CHECK(y.stride(0) == row_pitch(w.size(0)), "rows of logits lie ", y.stride(0), " apart");
  const at::Tensor whole = y.unsqueeze(0);
  if (const Ways* some = ways(x, w, 1))
    run(*some, x, w, whole);
  else
    run_all_own(x, w, whole);
}

std::vector<std::string> EngineProducts::lines() const {
  std::vector<std::string> out;
  for (const auto& [key, choice] : choices_) {
    const auto& [rows, n, k, pieces] = key;
    out.push_back(fmt::format("[{}, {}] of {} in {}: {}, {:.3f} ms, own {:.3f}, equal ways {}",
                              rows, n, k, pieces, choice.ways ? "cuBLASLt" : "own", choice.ms,
                              choice.own_ms, fmt::join(choice.equal, " ")));
  }
  return out;
}

}  // namespace kw::train::cuda
