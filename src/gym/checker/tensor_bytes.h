// All kinds of tensor memory share this: the places of canaries, and the bytes that a hash reads.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"
#include "gym/checker/layout.h"

namespace kw::gym {

// Calls band(start, end) for the bytes of every region before and behind its data.
template <typename Function>
void for_bands(const Layout& layout, Function band) {
  for (std::size_t i = 0; i < layout.count(); ++i) {
    const std::size_t data_end = layout.offset(i) + layout.bytes(i);
    band(layout.region_start(i), layout.offset(i));
    band(data_end, std::min(layout.region_end(i), data_end + 2 * Layout::kBand));
  }
}

// Gives the bytes [offset, offset + bytes) of the memory; they are valid until its next call.
using ReadBytes =
    std::function<Result<std::span<const std::byte>>(std::size_t offset, std::size_t bytes)>;

// Calls block(start, bytes) for the blocks that a hash looks at: all tensors, or secret blocks of
// about sample_bytes. They begin at multiples of 8 bytes from their tensor's start.
Status for_hashed_blocks(const Layout& layout, std::uint64_t secret_seed, std::size_t sample_bytes,
                         const std::function<Status(std::size_t, std::size_t)>& block);

// TensorMemory::hash() over what read gives: all tensors, or secret blocks of about sample_bytes.
// The result depends on the tensors' values, and not on their places. Errors are those of read.
Result<std::uint64_t> hash_tensors(const Layout& layout, std::uint64_t secret_seed,
                                   std::size_t sample_bytes, const ReadBytes& read);

}  // namespace kw::gym
