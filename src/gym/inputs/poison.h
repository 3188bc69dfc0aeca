// Poison and canaries: the content of output buffers and of the memory around them before a call.
// Poison is values that no kernel may leave behind; canaries are secret bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace kw::gym {

// Fills a tensor: floats alternate between a signalling NaN with random payload and a huge finite
// value with random sign (which of the two an element gets depends on the seed, so every element
// sees both over the calls); booleans are random bytes of 2..255 and float4_e2m1 random bytes
// of 16..255, which are no values of the dtype; integers are random.
void poison(tensor::DType dtype, std::uint64_t seed, std::span<std::byte> bytes);

// The bits of a dtype's poison, for implementations elsewhere that give the same bytes.
struct PoisonShape {
  std::size_t element_bytes = 1;
  bool is_float = false;
  // Floats: sign bit, an exponent of ones, the mantissa bits below the quiet bit, and about the
  // largest finite value.
  std::uint64_t sign = 0, nan = 0, payload = 0, huge = 0;
  unsigned least_byte = 0;  // others: bytes from here to 255
};
PoisonShape poison_shape(tensor::DType dtype);
// Bytes that are made from a seed of their own, piece after piece (seed_of_piece() in fill.h).
inline constexpr std::size_t kPoisonedPiece = std::size_t{1} << 20U;

// How many elements still hold exactly what poison() wrote under this seed.
std::size_t count_poisoned(tensor::DType dtype, std::uint64_t seed,
                           std::span<const std::byte> bytes);

// Bands around buffers: secret random bytes.
void write_canary(std::uint64_t seed, std::span<std::byte> band);
bool canary_intact(std::uint64_t seed, std::span<const std::byte> band);

}  // namespace kw::gym
