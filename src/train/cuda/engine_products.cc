#include "train/cuda/engine_products.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cuda/program.h"
#include "cuda/tensor_map.h"
#include "lm/cuda/kernel_sources.h"
#include "lm/cuda/matmul_tiling.h"
#include "lm/cuda/operands.h"
#include "os/file.h"
#include "train/cuda/fused.h"
#include "train/cuda/kernel_sources.h"
#include "train/cuda/launch.h"

namespace kw::train::cuda {

namespace engine = lm::cuda;
using engine::MatmulOutput;
using kw::cuda::Event;
using kw::cuda::LtAlgorithm;
using kw::cuda::LtMatmul;
using kw::cuda::LtShape;

namespace {

constexpr int kTimedEqualRuns = 2;
// Columns of y of a block of kw_adding_matmul, its stages, and the unit of a narrower block.
constexpr int kAddingColumns = 128, kAddingStages = 4;
constexpr int kWidthUnit = engine::width_unit(MatmulOutput::kParts);
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

engine::MatmulSize size_of(const at::Tensor& x, const at::Tensor& w, int multiprocessors) {
  return {x.size(0), w.size(0), w.size(1), multiprocessors};
}

// The input of one of our own kernels, but for its results and how much a block has.
engine::MatmulInput input_of(const at::Tensor& x, const at::Tensor& w, int width) {
  const std::int64_t rows = x.size(0), n = w.size(0), k = w.size(1);
  TORCH_CHECK(x.size(1) == k && k % engine::kMatmulStep == 0, "an engine's product of ", k);
  checked(engine::check_operands("an engine's product",
                                 {{"x", address(x), 16}, {"w", address(w), 16}}));
  engine::MatmulInput in{};
  in.x =
      checked(kw::cuda::map_of_boxes(address(x), rows, k, static_cast<int>(engine::kMatmulRows)));
  in.w = checked(kw::cuda::map_of_boxes(address(w), n, k, width));
  in.part_rows = rows;
  in.rows = static_cast<std::int32_t>(rows);
  in.n = static_cast<std::int32_t>(n);
  in.k = static_cast<std::int32_t>(k);
  in.early = 1;
  return in;
}

}  // namespace

Result<EngineProducts> EngineProducts::make(const kw::cuda::Context& context,
                                            const engine::Kernels& kernels) {
  namespace source = engine::source;
  EngineProducts out;
  for (const engine::MatmulVariant& one : kernels.matmuls)
    if (one.output == MatmulOutput::kParts) out.variants_.push_back(one);
  out.multiprocessors_ = context.multiprocessors();
  out.adding_ = {kAddingColumns, kAddingStages, MatmulOutput::kParts, {}};
  std::string text;
  for (const std::string_view one : {source::prelude, source::rounding, source::hopper,
                                     source::matmul, cuda::source::adding_matmul})
    text.append(one);
  const kw::cuda::Compiler compiler(context.architecture(), os::cache_home() / "cubin");
  KW_TRY(const std::string cubin,
         compiler.compile({"products that add",
                           std::move(text),
                           {"KW_F32=0", fmt::format("KW_MATMUL_COLUMNS={}", kAddingColumns),
                            fmt::format("KW_MATMUL_STAGES={}", kAddingStages)}}));
  KW_TRY(out.module_, kw::cuda::Module::load(cubin));
  KW_TRY(out.adding_.function, out.module_.function("kw_adding_matmul"));
  KW_TRY_STATUS(out.adding_.function.allow_shared_bytes(out.adding_.shared_bytes()));
  if (auto made = kw::cuda::Lt::make()) out.lt_ = std::move(*made);
  return out;
}

int EngineProducts::decode_splits(const at::Tensor& w) const {
  return engine::fixed_splits({1, w.size(0), w.size(1), multiprocessors_});
}

void EngineProducts::run_parts(const Product& product, const at::Tensor& y,
                               const RowFactors& factors) const {
  const engine::MatmulSize size = size_of(product.x, product.w, multiprocessors_);
  const engine::MatmulVariant* best = nullptr;
  engine::MatmulTiling tiling;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const engine::MatmulVariant& one : variants_) {
    const auto some = engine::best_tiling(size, product.pieces, one.columns, kWidthUnit);
    const std::int64_t cost = engine::tiling_cost(size, some);
    if (cost >= least) continue;
    least = cost;
    best = &one;
    tiling = some;
  }
  TORCH_CHECK(best != nullptr, "no kernel for an engine's product");
  engine::MatmulInput in = input_of(product.x, product.w, tiling.width);
  in.y = begin_of(y);
  in.pitch = y.stride(1);
  in.squares = address(factors.squares);
  in.epsilon = factors.epsilon;
  checked(engine::check_operands(MatmulOutput::kParts, in));
  const LaunchShape shape = best->launch_shape(tiling.width, product.pieces, in);
  launch(best->function, shape, in);
}

void EngineProducts::run_adding(const Product& product, const at::Tensor& y) const {
  const engine::MatmulSize size = size_of(product.x, product.w, multiprocessors_);
  const int width = engine::best_tiling(size, 1, adding_.columns, kWidthUnit).width;
  engine::MatmulInput in = input_of(product.x, product.w, width);
  in.y = begin_of(y);
  in.pitch = y.stride(0);
  checked(engine::check_operands(MatmulOutput::kParts, in));
  const LaunchShape shape = adding_.launch_shape(width, 1, in);
  const auto steps =
      static_cast<std::int32_t>(engine::divided_up(size.k / engine::kMatmulStep, product.pieces));
  launch(adding_.function, shape, in, steps);
}

// Rows of N numbers, where N may be an odd vocabulary, have the pitch that rows of logits have.
at::Tensor EngineProducts::parts_of(const Product& product) const {
  const std::int64_t n = product.w.size(0);
  return at::empty({product.pieces, product.x.size(0), row_pitch(n)},
                   product.x.options().dtype(at::kFloat))
      .narrow(2, 0, n);
}

// y: [R, N].
LtShape EngineProducts::shape_of(const Product& product, int piece, const at::Tensor& y) const {
  LtShape out;
  out.rows = product.x.size(0);
  out.n = product.w.size(0);
  out.k = piece_of(product.w.size(1), piece, product.pieces).count;
  out.pitch = y.stride(0);
  out.x_pitch = out.w_pitch = product.w.size(1);
  out.adds = product.adds;
  out.unsplit = true;
  out.alignment = kProductAlignment;
  return out;
}

Status EngineProducts::run_piece(const LtAlgorithm& way, const Product& product, int piece,
                                 const at::Tensor& y) const {
  const auto& [x, w, pieces, adds] = product;
  KW_TRY(const LtMatmul matmul, LtMatmul::make_as(*lt_, shape_of(product, piece, y), way));
  const auto begin =
      static_cast<DevicePointer>(piece_of(w.size(1), piece, pieces).first * x.element_size());
  checked(engine::check_operands("a product of cuBLASLt's",
                                 {{"x", begin_of(x) + begin, kProductAlignment},
                                  {"w", begin_of(w) + begin, kProductAlignment},
                                  {"y", begin_of(y), kProductAlignment}}));
  return matmul.run(0, begin_of(x) + begin, begin_of(w) + begin, begin_of(y), stream_);
}

// Ways are compared piece by piece, without adding.
EngineProducts::Choice EngineProducts::choose(const Product& product) const {
  Choice out;
  const Product apart{product.x, product.w, product.pieces};
  const at::Tensor wanted = parts_of(apart);
  run_parts(apart, wanted);
  const at::Tensor got =
      at::empty_strided(wanted[0].sizes(), wanted[0].strides(), wanted.options());
  got.zero_();
  out.own_ms = time_of(stream_, [&] {
    if (product.adds)
      run_adding(product, got);
    else
      run_parts(product, wanted);
  });
  Ways ways;
  for (int piece = 0; piece < product.pieces; ++piece) {
    LtShape shape = shape_of(apart, piece, got);
    shape.rows = shared_rows(shape.rows);
    const auto named = LtMatmul::make(*lt_, shape);
    out.equal.push_back(0);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; named && i < named->ways(); ++i) {
      const LtAlgorithm& way = named->algorithm(i);
      got.zero_();
      if (!run_piece(way, apart, piece, got)) continue;  // it may refuse
      if (!got.equal(wanted[piece])) continue;
      ++out.equal.back();
      const double ms = time_of(stream_, [&] { checked(run_piece(way, apart, piece, got)); });
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

const EngineProducts::Ways* EngineProducts::ways(const Product& product) const {
  if (!lt_ || product.x.size(0) == 0) return nullptr;
  const Key key{shared_rows(product.x.size(0)), product.w.size(0), product.w.size(1),
                product.pieces, product.adds};
  auto found = choices_.find(key);
  if (found == choices_.end()) found = choices_.emplace(key, choose(product)).first;
  return found->second.ways ? &*found->second.ways : nullptr;
}

at::Tensor EngineProducts::sums(const at::Tensor& x, const at::Tensor& w, int pieces,
                                const RowFactors& factors) const {
  const Product product{x, w, pieces};
  const at::Tensor out = parts_of(product);
  const Ways* some = ways(product);
  bool done = some != nullptr;
  for (int piece = 0; done && piece < pieces; ++piece)  // it may refuse so many rows
    done =
        run_piece((*some)[static_cast<std::size_t>(piece)], product, piece, out[piece]).has_value();
  if (!done)
    run_parts(product, out, factors);
  else if (factors.factors.defined())
    out.mul_(factors.factors.view({1, -1, 1}));
  return out;
}

void EngineProducts::add(const at::Tensor& x, const at::Tensor& w, int pieces,
                         const at::Tensor& y) const {
  const Product product{x, w, pieces, true};
  const Ways* some = ways(product);
  if (some == nullptr) return run_adding(product, y);
  at::Tensor own;  // where cuBLASLt refuses so many rows
  for (int piece = 0; piece < pieces; ++piece) {
    if (run_piece((*some)[static_cast<std::size_t>(piece)], product, piece, y)) continue;
    if (!own.defined()) {
      const Product apart{x, w, pieces};
      own = parts_of(apart);
      run_parts(apart, own);
    }
    y.add_(own[piece]);
  }
}

void EngineProducts::multiply(const at::Tensor& x, const at::Tensor& w, const at::Tensor& y) const {
  TORCH_CHECK(y.stride(0) == row_pitch(w.size(0)), "rows of logits lie ", y.stride(0), " apart");
  if (x.size(0) == 0) return;
  const Product product{x, w};
  const Ways* some = ways(product);
  if (some == nullptr || !run_piece(some->front(), product, 0, y))
    run_parts(product, y.unsqueeze(0));
}

std::vector<std::string> EngineProducts::lines() const {
  std::vector<std::string> out;
  for (const auto& [key, choice] : choices_)
    out.push_back(fmt::format("[{}, {}] of {} in {}{}: {}, {:.3f} ms, own {:.3f}, equal ways {}",
                              key.rows, key.n, key.k, key.pieces, key.adds ? ", added" : "",
                              choice.ways ? "cuBLASLt" : "own", choice.ms, choice.own_ms,
                              fmt::join(choice.equal, " ")));
  return out;
}

}  // namespace kw::train::cuda
