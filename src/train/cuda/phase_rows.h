// PhaseRows: the rows of a batch ordered by how the engine computed them (lm::Phase): prompts
// first, then decoded ones, each by sequence and position.
#pragma once
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "train/model/batch.h"

namespace kw::train::cuda {

struct PhaseRows {
  at::Tensor order, places;     // [T] i64: the token of a row, the row of a token
  at::Tensor slots, positions;  // [T] i32 of each row: its sequence, and where in it
  at::Tensor list;              // [T] i32: 0, 1, 2, ...
  // [B, 2] i32: first prompt row and count, up to lm::cuda::kPrefillTile rows of one sequence.
  // Undefined without prompts.
  at::Tensor tiles;
  // [N, 2] i32: first decoded row and count of each group (decoded_attention.h): rows of one
  // sequence whose positions are in the same kDecodedTile. Undefined without decoded rows.
  at::Tensor groups;
  std::int64_t prompts = 0, decoded = 0, last_decoded_position = 0;
};

// Without phases all rows are prompts'. group_rows: the most of a group. Tensors are on the device.
PhaseRows phase_rows(const Batch& batch, std::int64_t group_rows, at::Device device);

}  // namespace kw::train::cuda
