// One switch for loops that are compiled twice, for the baseline instruction set and for AVX2, and
// chosen at run time. AVX2 without FMA, and files compiled with -ffp-contract=off: both give the
// same bits.
#pragma once

#if defined(__x86_64__)
#define KW_TARGET_AVX2 __attribute__((target("avx2")))
#else
#define KW_TARGET_AVX2
#endif
#define KW_ALWAYS_INLINE __attribute__((always_inline)) inline

namespace kw::gym {

inline bool has_avx2() {
#if defined(__x86_64__)
  static const bool kHas = __builtin_cpu_supports("avx2") != 0;
  return kHas;
#else
  return false;
#endif
}

}  // namespace kw::gym
