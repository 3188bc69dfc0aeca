// Poison and canaries are made in blocks from a Stream and compared block by block with a buffer's
// content.
#include "gym/inputs/poison.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "base/check.h"
#include "gym/inputs/fill.h"
#include "gym/inputs/stream.h"
#include "os/parallel.h"

namespace kw::gym {
namespace {

using tensor::DType;

constexpr std::size_t kBlock = 4096;       // bytes
constexpr std::size_t kPool = 4 * kBlock;  // bytes made of random words; the rest repeats them

// Turns random words of the element's width into poison; the two kinds take turns.
template <typename Word>
void shape_floats(const PoisonShape& kind, bool nan_first, std::span<std::byte> block) {
  const auto sign = static_cast<Word>(kind.sign), nan = static_cast<Word>(kind.nan),
             payload = static_cast<Word>(kind.payload), huge = static_cast<Word>(kind.huge);
  for (std::size_t i = 0; i < block.size() / sizeof(Word); ++i) {
    Word random;
    std::memcpy(&random, block.data() + i * sizeof(Word), sizeof random);
    const bool as_nan = (i % 2 == 0) == nan_first;
    auto word = static_cast<Word>(as_nan ? (nan | (random & payload) | Word{1}) : huge);
    word = static_cast<Word>(word | (random & sign));
    std::memcpy(block.data() + i * sizeof(Word), &word, sizeof word);
  }
}

void shape_bytes(unsigned least, std::span<std::byte> block) {
  for (std::byte& b : block) {
    b = static_cast<std::byte>(least + static_cast<unsigned>(b) * (256U - least) / 256U);
  }
}

// Random bytes become poison of the dtype. Blocks hold an even number of elements, so the phase is
// the same in all.
void shape(DType dtype, bool nan_first, std::span<std::byte> block) {
  const PoisonShape kind = poison_shape(dtype);
  if (!kind.is_float) {
    if (kind.least_byte > 0) shape_bytes(kind.least_byte, block);
    return;
  }
  switch (kind.element_bytes) {
    case 8:
      return shape_floats<std::uint64_t>(kind, nan_first, block);
    case 4:
      return shape_floats<std::uint32_t>(kind, nan_first, block);
    case 2:
      return shape_floats<std::uint16_t>(kind, nan_first, block);
    default:
      return shape_floats<std::uint8_t>(kind, nan_first, block);
  }
}

// Calls use(offset, block) for each block of poison (or plain random bytes without dtype) of
// `total` bytes: first the blocks of a pool, then blocks from random places in it, at memory speed.
template <typename Use>
void for_blocks(const DType* dtype, std::uint64_t seed, std::size_t total, Use use) {
  Stream stream(seed);
  std::array<std::uint64_t, kPool / sizeof(std::uint64_t)> words;
  std::array<std::uint64_t, Stream::kBlock> random;
  stream.words(random);
  bool nan_first = (random[0] & 1U) != 0;
  auto pool =
      std::as_writable_bytes(std::span(words)).first(std::min(kPool, (total + 63) / 64 * 64));
  stream.words(std::span(words).first(pool.size() / sizeof(std::uint64_t)));
  if (dtype != nullptr) shape(*dtype, nan_first, pool);
  constexpr std::size_t kPlaces = (kPool - kBlock) / 64 + 1;
  for (std::size_t offset = 0, i = 0; offset < total; offset += kBlock, ++i) {
    if (i % random.size() == 0) stream.words(random);
    std::size_t place = offset < kPool ? offset : random[i % random.size()] % kPlaces * 64;
    use(offset, std::span<const std::byte>(pool).subspan(place, std::min(kBlock, total - offset)));
  }
}

std::size_t count_in_piece(DType dtype, std::uint64_t seed, std::span<const std::byte> bytes) {
  std::size_t size = tensor::size_of(dtype);
  std::size_t count = 0;
  for_blocks(&dtype, seed, bytes.size(), [&](std::size_t offset, std::span<const std::byte> block) {
    if (std::memcmp(bytes.data() + offset, block.data(), block.size()) == 0) {
      count += block.size() / size;
      return;
    }
    for (std::size_t i = 0; i < block.size(); i += size) {
      if (std::memcmp(bytes.data() + offset + i, block.data() + i, size) == 0) ++count;
    }
  });
  return count;
}

// work(seed of the piece, first byte, number of bytes) for all pieces, on all cores.
template <typename Work>
void for_pieces(std::uint64_t seed, std::size_t total, Work work) {
  os::in_parallel_pieces(total, kPoisonedPiece, 1, [&](std::size_t first, std::size_t last) {
    work(seed_of_piece(seed, first / kPoisonedPiece), first, last - first);
  });
}

}  // namespace

PoisonShape poison_shape(DType dtype) {
  PoisonShape out;
  out.element_bytes = tensor::size_of(dtype);
  const auto floats = [&](std::uint64_t sign, std::uint64_t nan, std::uint64_t payload,
                          std::uint64_t huge) {
    out.is_float = true;
    out.sign = sign;
    out.nan = nan;
    out.payload = payload;
    out.huge = huge;
    return out;
  };
  switch (dtype) {
    case DType::kFloat64:
      return floats(1ULL << 63U, 0x7ffULL << 52U, (1ULL << 51U) - 1, 0x7fe1234512345123ULL);
    case DType::kFloat32:
      return floats(1U << 31U, 0x7f800000U, (1U << 22U) - 1, 0x7f123451U);
    case DType::kFloat16:
      return floats(0x8000U, 0x7c00U, 0x1ffU, 0x7bf1U);
    case DType::kBFloat16:
      return floats(0x8000U, 0x7f80U, 0x3fU, 0x7f11U);
    case DType::kFloat8E4M3Fn:
      return floats(0x80U, 0x7fU, 0, 0x7eU);
    case DType::kFloat8E5M2:
      return floats(0x80U, 0x7cU, 0x1U, 0x7bU);
    case DType::kFloat4E2M1:
      out.least_byte = 16;
      return out;
    case DType::kBool:
      out.least_byte = 2;
      return out;
    default:
      return out;
  }
}

void poison(DType dtype, std::uint64_t seed, std::span<std::byte> bytes) {
  for_pieces(seed, bytes.size(), [&](std::uint64_t piece_seed, std::size_t first, std::size_t n) {
    for_blocks(&dtype, piece_seed, n, [&](std::size_t offset, std::span<const std::byte> block) {
      std::memcpy(bytes.data() + first + offset, block.data(), block.size());
    });
  });
}

std::size_t count_poisoned(DType dtype, std::uint64_t seed, std::span<const std::byte> bytes) {
  KW_CHECK(bytes.size() % tensor::size_of(dtype) == 0);
  std::atomic<std::size_t> count{0};
  for_pieces(seed, bytes.size(), [&](std::uint64_t piece_seed, std::size_t first, std::size_t n) {
    count += count_in_piece(dtype, piece_seed, bytes.subspan(first, n));
  });
  return count;
}

void write_canary(std::uint64_t seed, std::span<std::byte> band) {
  for_blocks(nullptr, seed, band.size(), [&](std::size_t offset, std::span<const std::byte> block) {
    std::memcpy(band.data() + offset, block.data(), block.size());
  });
}

bool canary_intact(std::uint64_t seed, std::span<const std::byte> band) {
  bool intact = true;
  for_blocks(nullptr, seed, band.size(), [&](std::size_t offset, std::span<const std::byte> block) {
    intact = intact && std::memcmp(band.data() + offset, block.data(), block.size()) == 0;
  });
  return intact;
}

}  // namespace kw::gym
