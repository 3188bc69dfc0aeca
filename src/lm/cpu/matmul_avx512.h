// The matrix products of Kernels (kernels.h) with AVX-512 and its products of bf16.
#pragma once
#include <cstdint>

namespace kw::lm::cpu::avx512_products {

void matmul_f32(const float* x, std::int64_t rows, std::int64_t k, const float* w,
                std::int64_t first, std::int64_t last, float* y, std::int64_t y_stride);
void matmul_bf16(const std::uint16_t* x, std::int64_t rows, std::int64_t k, const std::uint16_t* w,
                 std::int64_t first, std::int64_t last, float* y, std::int64_t y_stride);
void matmul_int8(const std::uint16_t* x, std::int64_t rows, std::int64_t k, const std::int8_t* w,
                 const std::uint16_t* scales, std::int64_t first, std::int64_t last, float* y,
                 std::int64_t y_stride);

}  // namespace kw::lm::cpu::avx512_products
