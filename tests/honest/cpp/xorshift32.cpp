// Unsigned arithmetic, so that shifts are logical.
#include <cstdint>

extern "C" void run(const int32_t* state, int32_t* next_state, int64_t N) {
  for (int64_t i = 0; i < N; ++i) {
    uint32_t s = static_cast<uint32_t>(state[i]);
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    next_state[i] = static_cast<int32_t>(s);
  }
}
