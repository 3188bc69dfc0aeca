#include "gym/checker/tensor_bytes.h"

#include "base/hash.h"
#include "base/random.h"

namespace kw::gym {
namespace {

constexpr std::size_t kHashBlock = std::size_t{64} * 1024;

}  // namespace

Result<std::uint64_t> hash_tensors(const Layout& layout, std::uint64_t secret_seed,
                                   std::size_t sample_bytes, const ReadBytes& read) {
  std::uint64_t hash = secret_seed;
  std::size_t total = 0;
  for (std::size_t i = 0; i < layout.count(); ++i) total += layout.bytes(i);
  Rng rng(secret_seed);
  for (std::size_t i = 0; i < layout.count(); ++i) {
    const std::size_t size = layout.bytes(i);
    if (total <= sample_bytes) {
      KW_TRY(std::span<const std::byte> all, read(layout.offset(i), size));
      hash = keyed_hash(all, hash);
      continue;
    }
    const std::size_t blocks = std::max<std::size_t>(
        1, sample_bytes / kHashBlock * size / std::max<std::size_t>(total, 1));
    for (std::size_t b = 0; b < blocks && size > 0; ++b) {
      const std::size_t start = rng.below(size);
      KW_TRY(std::span<const std::byte> block,
             read(layout.offset(i) + start, std::min(kHashBlock, size - start)));
      hash = keyed_hash(block, hash);
    }
  }
  return hash;
}

}  // namespace kw::gym
