// The matmuls of Kernels (kernels.h) with AVX-512 and its products of bf16.
#pragma once
#include <cstdint>

#include "lm/cpu/kernels.h"

namespace kw::lm::cpu::avx512_matmul {

void matmul_f32(const Matmul<float, float>& of);
void matmul_bf16(const Matmul<std::uint16_t, std::uint16_t>& of);
void matmul_int8(const Matmul<std::uint16_t, std::int8_t>& of);

}  // namespace kw::lm::cpu::avx512_matmul
