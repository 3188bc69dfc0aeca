// PlanProfile: where the time of a plan's call goes, kernel by kernel.
#pragma once
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cuda/stream.h"
#include "gym/cuda/plan_runner.h"
#include "gym/protocol.h"

namespace kw::gpu_executor {

// Times each step between two events, so steps that overlap otherwise do not here. Of several calls
// the shortest time of a step counts. One thread, on which the runner's context is current; borrows
// the runner.
class PlanProfile {
 public:
  static Result<PlanProfile> make(const gym::PlanRunner& runner);
  // Puts one call on the stream. After its end read() reads the events.
  Status enqueue(const gym::CallAddresses& call, const cuda::Stream& stream);
  Status read();
  // Adds up the steps by kernel. most_threads: that a multiprocessor holds. kInternal: the driver
  // does not tell what a kernel needs.
  Status report(int most_threads, volatile gym::ReplyPage& reply) const;

 private:
  struct Kernel {
    std::size_t module = 0;
    const std::string* function = nullptr;
    std::size_t step = 0;  // the first one that launches it
    std::uint64_t ns = 0;
    std::uint32_t launches = 0, threads = 0, dynamic_bytes = 0;
  };

  explicit PlanProfile(const gym::PlanRunner& runner) : runner_(&runner) {}
  std::vector<Kernel> kernels() const;
  Result<gym::PlanKernelReport> report_of(const Kernel& kernel) const;

  const gym::PlanRunner* runner_;
  std::vector<cuda::Event> events_;   // one more than steps
  std::vector<std::uint64_t> times_;  // ns of each step; empty: nothing was read
};

}  // namespace kw::gpu_executor
