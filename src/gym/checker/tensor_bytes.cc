#include "gym/checker/tensor_bytes.h"

#include "base/hash.h"
#include "base/random.h"

namespace kw::gym {
namespace {

constexpr std::size_t kHashBlock = std::size_t{64} * 1024;
constexpr std::size_t kHashUnit = 8;

}  // namespace

Status for_hashed_blocks(const Layout& layout, std::uint64_t secret_seed, std::size_t sample_bytes,
                         const std::function<Status(std::size_t, std::size_t)>& block) {
  std::size_t total = 0;
  for (std::size_t i = 0; i < layout.count(); ++i) total += layout.bytes(i);
  Rng rng(secret_seed);
  for (std::size_t i = 0; i < layout.count(); ++i) {
    const std::size_t size = layout.bytes(i);
    if (total <= sample_bytes) {
      KW_TRY_STATUS(block(layout.offset(i), size));
      continue;
    }
    const std::size_t blocks = std::max<std::size_t>(
        1, sample_bytes / kHashBlock * size / std::max<std::size_t>(total, 1));
    for (std::size_t b = 0; b < blocks && size > 0; ++b) {
      const std::size_t start = rng.below(size) / kHashUnit * kHashUnit;
      KW_TRY_STATUS(block(layout.offset(i) + start, std::min(kHashBlock, size - start)));
    }
  }
  return {};
}

Result<std::uint64_t> hash_tensors(const Layout& layout, std::uint64_t secret_seed,
                                   std::size_t sample_bytes, const ReadBytes& read) {
  std::uint64_t hash = secret_seed;
  KW_TRY_STATUS(for_hashed_blocks(layout, secret_seed, sample_bytes,
                                  [&](std::size_t start, std::size_t size) -> Status {
                                    KW_TRY(std::span<const std::byte> bytes, read(start, size));
                                    hash = keyed_hash(bytes, hash);
                                    return {};
                                  }));
  return hash;
}

}  // namespace kw::gym
