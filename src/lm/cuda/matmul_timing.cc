// Ways to do matmuls are timed: one by itself, to leave out the far too slow, and whole layers,
// whose kernels overlap as they will in a step.
#include <algorithm>

#include "lm/cuda/matmuls.h"

namespace kw::lm::cuda {
namespace {

using kw::cuda::Event;
using kw::cuda::GraphExec;
using kw::cuda::LaunchShape;
using kw::cuda::Stream;

constexpr std::size_t kTimedMatmuls = 16;  // their weights together do not fit the L2 cache
constexpr std::size_t kTimedLayers = 8;
constexpr double kAddingBytesPerUs = 2.5e6;

// The least of some times, in microseconds. A graph is timed, so that the host does not hold the
// GPU up.
template <typename Work>
Result<double> time_graph(const Stream& stream, int rounds, Work&& work) {
  KW_TRY_STATUS(work());  // loads what is loaded late
  KW_TRY_STATUS(stream.synchronize());
  KW_TRY(GraphExec graph, stream.capture(work));
  KW_TRY(Event before, Event::make());
  KW_TRY(Event after, Event::make());
  double best = 1e30;
  for (int round = 0; round < rounds; ++round) {
    KW_TRY_STATUS(stream.record(before));
    KW_TRY_STATUS(stream.launch(graph));
    KW_TRY_STATUS(stream.record(after));
    KW_TRY_STATUS(after.synchronize());
    KW_TRY(double ms, kw::cuda::elapsed_ms(before, after));
    best = std::min(best, ms * 1000);
  }
  return best;
}

}  // namespace

// The attention reads these parts in addition to its other input.
double Matmuls::adding_us(const Plan& plan, MatmulKind kind, std::int64_t rows) const {
  if (!plan.own || kind != MatmulKind::kQkv) return 0;
  return static_cast<double>(plan.tiling.splits * rows * place(kind).n * 4) / kAddingBytesPerUs;
}

// The norm that comes after it is included.
Status Matmuls::run_timed(const Plan& plan, MatmulKind kind, std::size_t layer, std::int64_t rows,
                          bool factors) {
  KW_TRY(PartCount parts, run_plan(plan, kind, layer, rows, factors));
  if (!adds_to_residual(kind) || adds_itself(plan)) return {};
  LaunchShape shape;
  shape.grid[0] = static_cast<unsigned>(rows);
  shape.threads = 256;
  shape.overlaps = setting_.overlap;
  return kernels_.norm.launch(stream_, shape, norm_after(kind, layer, rows, parts));
}

// One matmul of each of several layers, so that weights come from memory. Each comes after a small
// kernel, as in a step: what a matmul loads while that runs is its gain.
Result<double> Matmuls::time(const Plan& plan, MatmulKind kind, std::int64_t rows) {
  const std::size_t layers = std::min(kTimedMatmuls, place(kind).weights.size());
  LaunchShape small;
  small.grid[0] = 64;
  small.threads = 256;
  small.overlaps = setting_.overlap;
  const auto floats = std::min<std::int64_t>(
      std::int64_t{64} * 1024,
      static_cast<std::int64_t>(targets_.part_floats));  // 64 blocks, as of 64 rows
  KW_TRY(double us, time_graph(stream_, 3, [&]() -> Status {
           for (std::size_t layer = 0; layer < layers; ++layer) {
             KW_TRY_STATUS(kernels_.fill.launch(stream_, small, targets_.parts, floats, 0.0F));
             KW_TRY_STATUS(run_timed(plan, kind, layer, rows, plan.own.has_value()));
           }
           return {};
         }));
  return us / static_cast<double>(layers);
}

Result<double> Matmuls::time_layer(const LayerPlans& plans, std::int64_t rows,
                                   const Attention& attention) {
  auto run_one = [&](MatmulKind kind, std::size_t layer) {
    return run_timed(plans.plans[static_cast<std::size_t>(kind)], kind, layer, rows, plans.joined);
  };
  const std::size_t layers = std::min(kTimedLayers, place(MatmulKind::kQkv).weights.size());
  KW_TRY(double us, time_graph(stream_, 5, [&]() -> Status {
           for (std::size_t layer = 0; layer < layers; ++layer) {
             const Plan& qkv = plans.plans[static_cast<std::size_t>(MatmulKind::kQkv)];
             KW_TRY(PartCount parts, run_plan(qkv, MatmulKind::kQkv, layer, rows, plans.joined));
             KW_TRY_STATUS(attention(layer, parts));
             KW_TRY_STATUS(run_one(MatmulKind::kOutput, layer));
             KW_TRY_STATUS(run_one(MatmulKind::kGateUp, layer));
             KW_TRY_STATUS(run_one(MatmulKind::kDown, layer));
           }
           return {};
         }));
  return us / static_cast<double>(layers);
}

}  // namespace kw::lm::cuda
