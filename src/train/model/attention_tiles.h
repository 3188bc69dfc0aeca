// Attention tiles: how packed sequences are cut for the attention kernels of a GPU.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace kw::train {

inline constexpr std::int64_t kAttentionTile = 128;  // tokens

// A sequence's first token of the batch, its tokens, its first statistic, and the number of the
// tile in the sequence.
using AttentionTile = std::array<std::int32_t, 4>;

// Every tile of every sequence, those with the most work first, so that the last blocks of a launch
// are short. In causal attention a tile of queries works on all tiles up to it, and a tile of keys
// on all from it on.
struct AttentionTiles {
  std::vector<AttentionTile> of_queries, of_keys;
  // Statistics have a place for each token and for the tokens that the last tiles lack, so that a
  // tile's are in one piece.
  std::int64_t statistics = 0;
};
// bounds: first token of each sequence, then the number of all tokens.
AttentionTiles attention_tiles(std::span<const std::int64_t> bounds);

}  // namespace kw::train
