// Tasks for kernels/draw.cu.
#include "gym/cuda/device_draws.h"

#include <algorithm>

#include "gym/correctness/tensor.h"
#include "gym/cuda/kernel_tasks.h"
#include "gym/inputs/normal_mixer.h"
#include "gym/inputs/poison.h"
#include "tensor/half.h"

namespace kw::gym {
namespace {

// These are the kernels of kernels/draw.cu.
constexpr std::size_t kStreamWarps = 4;
constexpr KernelShape kMixedShape{.threads = 256, .shared_bytes = 2 * NormalMixer::kPool * 4};

kernels::DrawTask task_of(const InputSpec& spec, const DrawRecipe& recipe) {
  kernels::DrawTask task{};
  task.dtype = static_cast<int>(spec.dtype);
  task.piece = kFilledPiece;
  task.spikes = recipe.spike != 0 ? 1 : 0;
  task.scale = recipe.spike;
  task.mean = recipe.mean;
  task.deviation = recipe.deviation;
  task.low = recipe.low;
  task.width = recipe.width;
  task.least = recipe.least;
  task.most = recipe.most;
  task.least_whole = recipe.least_whole;
  task.count = recipe.whole_count;
  switch (recipe.kind) {
    case DrawRecipe::Kind::kNormal:
      task.kind = kernels::Draw::kNormal;
      break;
    case DrawRecipe::Kind::kUniform:
      task.kind = kernels::Draw::kUniform;
      break;
    case DrawRecipe::Kind::kWhole:
      task.kind = kernels::Draw::kWhole;
      return task;
  }
  task.clamps = 1;
  task.largest = static_cast<float>(tensor::max_of(spec.dtype));
  return task;
}

// Numbers of a large piece come from a mixer; float32 ones from it as they are.
void mix(const InputSpec& spec, kernels::DrawTask& task) {
  const bool is_direct = spec.dtype == tensor::DType::kFloat32 && task.spikes == 0;
  task.mix_mean = is_direct ? task.mean : 0;
  task.mix_deviation = is_direct ? task.deviation : 1;
  if (!is_direct) return;
  task.moves = task.clamps = 0;
}

// Each makes the piece's pools anew, so only where a GPU would have less to do than it can.
unsigned blocks_of_piece(std::size_t pieces) {
  constexpr std::size_t kWanted = 128, kMaxPieceBlocks = 16;
  return static_cast<unsigned>(std::clamp<std::size_t>(kWanted / pieces, 1, kMaxPieceBlocks));
}

}  // namespace

Status draw_on_device(KernelRunner& kernels, std::uint64_t address, const InputSpec& spec,
                      const DrawRecipe& recipe, std::uint64_t seed) {
  kernels::DrawTask task = task_of(spec, recipe);
  task.out = address;
  task.elements = static_cast<unsigned long long>(elements_of(spec.shape));
  task.seed = seed;
  const bool is_normal = recipe.kind == DrawRecipe::Kind::kNormal;
  task.moves = is_normal && !(recipe.mean == 0 && recipe.deviation == 1) ? 1 : 0;
  const std::size_t pieces = pieces_of(task.elements, task.piece);
  std::size_t mixed = 0;
  if (is_normal) {
    const std::size_t last = task.elements % task.piece;
    mixed = task.elements / task.piece + (last >= NormalMixer::kWorthwhile ? 1 : 0);
  }
  if (mixed > 0) {
    kernels::DrawTask large = task;
    mix(spec, large);
    KernelShape shape = kMixedShape;
    large.blocks = blocks_of_piece(mixed);
    shape.blocks = static_cast<unsigned>(mixed * large.blocks);
    KW_TRY_STATUS(kernels.run("kw_draw_mixed", shape, &large));
  }
  if (mixed == pieces) return {};
  task.first_piece = mixed;
  const auto blocks = static_cast<unsigned>(pieces_of(pieces - mixed, kStreamWarps));
  return kernels.run("kw_draw_stream", {.blocks = blocks, .threads = 32 * kStreamWarps}, &task);
}

Status poison_on_device(KernelRunner& kernels, std::uint64_t address, std::size_t bytes,
                        tensor::DType dtype, std::uint64_t seed) {
  if (bytes == 0) return {};
  const PoisonShape shape = poison_shape(dtype);
  kernels::PoisonTask task{};
  task.out = address;
  task.bytes = bytes;
  task.piece = kPoisonedPiece;
  task.seed = seed;
  task.element_bytes = static_cast<int>(shape.element_bytes);
  task.is_float = shape.is_float ? 1 : 0;
  task.sign = shape.sign;
  task.nan = shape.nan;
  task.payload = shape.payload;
  task.huge = shape.huge;
  task.least = shape.least_byte;
  const std::size_t pieces = pieces_of(bytes, kPoisonedPiece);
  task.blocks = blocks_of_piece(pieces);
  return kernels.run(
      "kw_poison", {.blocks = static_cast<unsigned>(pieces * task.blocks), .threads = 256}, &task);
}

}  // namespace kw::gym
