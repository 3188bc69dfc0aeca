// Measuring page faults by touching fresh pages.
#include "gym/checker/fault_cost.h"

#include <algorithm>
#include <array>
#include <chrono>

#include <sys/mman.h>

namespace kw::gym {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPages = 512;
constexpr int kRounds = 9;

double measure() {
  std::array<double, kRounds> rounds{};
  for (double& round : rounds) {
    void* memory =
        ::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 0;
    ::madvise(memory, kPages * kPage, MADV_NOHUGEPAGE);
    auto start = std::chrono::steady_clock::now();
    for (std::size_t page = 0; page < kPages; ++page)
      static_cast<volatile char*>(memory)[page * kPage] = 1;
    std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    round = taken.count() / kPages;
    ::munmap(memory, kPages * kPage);
  }
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  return rounds[kRounds / 2];
}

}  // namespace

double fault_cost_ns() {
  static const double cost = measure();
  return cost;
}

}  // namespace kw::gym
