// Which instruction set this machine has.
#include "lm/cpu/kernels.h"

namespace kw::lm::cpu {

extern const Kernels generic;
#ifdef __x86_64__
extern const Kernels avx2;
extern const Kernels avx512;
#endif

const Kernels* kernels_named(std::string_view name) {
  if (name == "generic") return &generic;
#ifdef __x86_64__
  const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (name == "avx2" && has_avx2) return &avx2;
  const bool has_avx512 =
      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512bf16") != 0;
  if (name == "avx512" && has_avx512) return &avx512;
#endif
  return nullptr;
}

const Kernels& best_kernels() {
  static const Kernels& best = []() -> const Kernels& {
    for (std::string_view name : {"avx512", "avx2"})
      if (const Kernels* found = kernels_named(name)) return *found;
    return generic;
  }();
  return best;
}

}  // namespace kw::lm::cpu
