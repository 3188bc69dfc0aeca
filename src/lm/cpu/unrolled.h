// Loops whose index is a constant of the program.
#pragma once

namespace kw::lm::cpu {

template <int number>
struct Constant {
  static constexpr int kValue = number;
};

// f(0) to f(N - 1) with constants: arrays that are indexed with them stay in registers.
template <int N, typename F>
[[gnu::always_inline]] inline void unrolled(F&& f) {
  if constexpr (N > 0) {
    unrolled<N - 1>(f);
    f(Constant<N - 1>{});
  }
}

}  // namespace kw::lm::cpu
