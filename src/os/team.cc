#include "os/team.h"

#include <algorithm>

namespace kw::os {
namespace {

constexpr int kSpins = 4000;  // some ten microseconds

// Until value is no longer `seen`.
void await_change(const std::atomic<std::uint32_t>& value, std::uint32_t seen) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != seen) return;
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
  }
  value.wait(seen, std::memory_order_acquire);
}

}  // namespace

Team::Team(int threads) {
  for (int member = 1; member < std::max(1, threads); ++member)
    threads_.emplace_back([this, member] { follow(member); });
}

Team::~Team() {
  ending_.store(true);
  starts_.fetch_add(1);
  starts_.notify_all();
}

void Team::follow(int member) {
  std::uint32_t seen = 0;
  while (true) {
    await_change(starts_, seen);
    ++seen;
    if (ending_.load()) return;
    (*work_)(member);
    barrier();
  }
}

void Team::run(const std::function<void(int)>& work) {
  work_ = &work;
  starts_.fetch_add(1, std::memory_order_release);
  starts_.notify_all();
  work(0);
  barrier();
}

void Team::barrier() {
  if (threads_.empty()) return;
  const std::uint32_t round = passed_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size()) {
    arrived_.store(0, std::memory_order_relaxed);
    passed_.fetch_add(1, std::memory_order_release);
    passed_.notify_all();
  } else {
    await_change(passed_, round);
  }
}

Team::Share Team::share(int member, std::int64_t count, std::int64_t piece) const {
  const std::int64_t pieces = (count + piece - 1) / piece;
  auto edge = [&](std::int64_t index) { return std::min(count, pieces * index / size() * piece); };
  return {edge(member), edge(member + 1)};
}

}  // namespace kw::os
