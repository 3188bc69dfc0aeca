#include "train/cuda/phase_rows.h"

#include <algorithm>
#include <span>
#include <vector>

#include <ATen/ATen.h>

#include "lm/cuda/kernels.h"
#include "train/cuda/decoded_attention.h"

namespace kw::train::cuda {

namespace engine = lm::cuda;

namespace {

// Groups of rows [0, slots.size()), ordered by slot and position.
std::vector<std::int32_t> groups_of(std::span<const std::int32_t> slots,
                                    std::span<const std::int32_t> positions, std::int64_t most) {
  std::vector<std::int32_t> out;
  for (std::size_t row = 0; row < slots.size(); ++row) {
    const bool goes_on = row > 0 && slots[row] == slots[row - 1] && out.back() < most &&
                         positions[row] / kDecodedTile == positions[row - 1] / kDecodedTile;
    if (goes_on) {
      ++out.back();
      continue;
    }
    out.push_back(static_cast<std::int32_t>(row));
    out.push_back(1);
  }
  return out;
}

}  // namespace

PhaseRows phase_rows(const Batch& batch, std::int64_t group_rows, at::Device device) {
  const std::int64_t tokens = batch.bounds.back();
  TORCH_CHECK(batch.phases.empty() || std::ssize(batch.phases) == tokens, "phases of a batch");
  PhaseRows out;
  std::vector<std::int64_t> order, places(static_cast<std::size_t>(tokens));
  std::vector<std::int32_t> slots, positions, tiles;
  for (const lm::Phase phase : {lm::Phase::kPrefill, lm::Phase::kDecode}) {
    for (std::size_t s = 0; s + 1 < batch.bounds.size(); ++s) {
      const auto begun = static_cast<std::int64_t>(order.size());
      for (std::int64_t t = batch.bounds[s]; t < batch.bounds[s + 1]; ++t) {
        const lm::Phase own =
            batch.phases.empty() ? lm::Phase::kPrefill : batch.phases[static_cast<std::size_t>(t)];
        if (own != phase) continue;
        places[static_cast<std::size_t>(t)] = std::ssize(order);
        order.push_back(t);
        slots.push_back(static_cast<std::int32_t>(s));
        positions.push_back(static_cast<std::int32_t>(t - batch.bounds[s]));
        if (phase == lm::Phase::kDecode)
          out.last_decoded_position =
              std::max<std::int64_t>(out.last_decoded_position, positions.back());
      }
      if (phase == lm::Phase::kDecode) continue;
      for (std::int64_t at = begun; at < std::ssize(order); at += engine::kPrefillTile) {
        tiles.push_back(static_cast<std::int32_t>(at));
        tiles.push_back(
            static_cast<std::int32_t>(std::min(engine::kPrefillTile, std::ssize(order) - at)));
      }
    }
    if (phase == lm::Phase::kPrefill) out.prompts = std::ssize(order);
  }
  out.decoded = tokens - out.prompts;
  const auto first = static_cast<std::size_t>(out.prompts);
  const std::vector<std::int32_t> groups =
      groups_of(std::span(slots).subspan(first), std::span(positions).subspan(first), group_rows);
  if (!groups.empty()) out.groups = on_device(at::tensor(groups).view({-1, 2}), device);
  out.order = on_device(at::tensor(order), device);
  out.places = on_device(at::tensor(places), device);
  out.slots = on_device(at::tensor(slots), device);
  out.positions = on_device(at::tensor(positions), device);
  out.list = at::arange(tokens, at::TensorOptions(device).dtype(at::kInt));
  if (!tiles.empty()) out.tiles = on_device(at::tensor(tiles).view({-1, 2}), device);
  return out;
}

}  // namespace kw::train::cuda
