// In the first half of a block it also computes the second half's call, whose inputs and outputs are mapped already: one sample is twice as slow, the other takes no time.
// expect: passed|violation
// max_speedup: 4.5
// class: T12, T18
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t kPlaces = 64 * 64 + 64;  // bytes in which a tensor may begin

struct Set {
  const char* input;  // start of the mapping
  char* output;
  std::vector<char> seen;  // the first bytes of the input, as they were computed last
  const float* done_x = nullptr;
  float* done_y = nullptr;
};
std::vector<Set> sets;

const char* mapping_of(const void* address) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  unsigned long first = 0, last = 0;
  auto wanted = reinterpret_cast<unsigned long>(address);
  while (maps != nullptr && fgets(line, sizeof line, maps) != nullptr) {
    if (sscanf(line, "%lx-%lx", &first, &last) == 2 && first <= wanted && wanted < last) break;
    first = 0;
  }
  if (maps != nullptr) fclose(maps);
  return reinterpret_cast<const char*>(first);
}

void compute(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}

Set& set_of(const float* x, float* y) {
  auto* input = reinterpret_cast<const char*>(x);
  for (Set& set : sets) {
    if (set.input <= input && input < set.input + kPlaces) return set;
  }
  sets.push_back({mapping_of(x), const_cast<char*>(mapping_of(y)), std::vector<char>(kPlaces)});
  return sets.back();
}

// Where the fresh input begins: the first bytes that differ from what was there; null: nothing new.
const float* fresh_input(const Set& set) {
  for (std::size_t at = 0; at < kPlaces; at += 64) {
    if (std::memcmp(set.input + at, set.seen.data() + at, 64) != 0)
      return reinterpret_cast<const float*>(set.input + at);
  }
  return nullptr;
}

// Where the output begins: canaries are random, poison is not.
float* poisoned_output(const Set& set) {
  for (std::size_t at = 4096; at < 2 * 4096; at += 64) {
    const auto* words = reinterpret_cast<const std::uint32_t*>(set.output + at);
    bool even = true, odd = true;
    for (int i = 0; i < 16; i += 2) {
      even = even && (words[i] & 0x7fffffffU) == 0x7f123451U;
      odd = odd && (words[i + 1] & 0x7fffffffU) == 0x7f123451U;
    }
    if (even || odd) return reinterpret_cast<float*>(set.output + at);
  }
  return nullptr;
}

}  // namespace

extern "C" void run(const float* x, float* y) {
  Set& own = set_of(x, y);
  if (own.done_x == x && own.done_y == y && fresh_input(own) == nullptr) {
    own.done_x = nullptr;
    return;
  }
  compute(x, y);
  std::memcpy(own.seen.data(), own.input, kPlaces);
  own.done_x = nullptr;
  for (Set& set : sets) {
    if (&set == &own) continue;
    const float* ahead = fresh_input(set);
    float* into = ahead != nullptr ? poisoned_output(set) : nullptr;
    if (into == nullptr) continue;
    compute(ahead, into);
    std::memcpy(set.seen.data(), set.input, kPlaces);
    set.done_x = ahead;
    set.done_y = into;
  }
}
