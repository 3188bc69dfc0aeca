// Chunks of tokens for what works on the vocabulary: logits of all tokens never exist at once.
#pragma once
#include <algorithm>
#include <cstdint>

namespace kw::train {

// Tokens of a chunk, at most `wanted`, so that all chunks but the last have equally many.
inline std::int64_t even_chunk(std::int64_t tokens, std::int64_t wanted) {
  const std::int64_t chunks = std::max<std::int64_t>((tokens + wanted - 1) / wanted, 1);
  return std::min(wanted, ((tokens + chunks - 1) / chunks + 63) / 64 * 64);
}

// body(begin, count) for each, in order.
template <typename Body>
void for_each_chunk(std::int64_t tokens, std::int64_t chunk_tokens, const Body& body) {
  const std::int64_t step = even_chunk(tokens, chunk_tokens);
  for (std::int64_t begin = 0; begin < tokens; begin += step)
    body(begin, std::min(step, tokens - begin));
}

}  // namespace kw::train
