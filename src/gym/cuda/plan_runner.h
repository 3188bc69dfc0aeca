// PlanRunner: a resolved plan on the GPU of this process: modules loaded, scratch and constants in
// place. Each call puts the plan's steps on a stream.
#pragma once
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cuda/memory.h"
#include "cuda/module.h"
#include "cuda/stream.h"
#include "gym/cuda/plan_file.h"
#include "task/resolved_plan.h"

namespace kw::gym {

// The addresses of one call's buffers. Inputs have the signature's numbers; those of host scalars
// are not read.
struct CallAddresses {
  std::vector<cuda::DevicePointer> inputs, statics, outputs;
};

// Movable; one thread, on which a context is current that outlives it.
class PlanRunner {
 public:
  // Memory of the plan is poisoned, but for constants. Errors name the module or kernel that the
  // driver refuses: kInternal, or kResourceExhausted.
  static Result<PlanRunner> make(const PlanContents& contents, task::ResolvedPlan plan,
                                 const cuda::Stream& stream);
  // Overwrites scratch and constants before they are given back, and waits for that: the memory may
  // be another plan's next.
  Status wipe(const cuda::Stream& stream) const;
  // Does not wait. kInvalidArgument: a kernel that the driver refuses to start, such as one with
  // too large a grid. kInternal: a fault of an earlier step, which shows here or when the stream is
  // waited for.
  Status enqueue(const CallAddresses& call, const cuda::Stream& stream) const;
  // The same for one of the plan's steps.
  Status enqueue_step(std::size_t step, const CallAddresses& call,
                      const cuda::Stream& stream) const;
  const std::vector<task::ResolvedStep>& steps() const { return plan_.steps; }
  // The kernel that a step launches; invalid for fills and copies.
  const cuda::Function& function(std::size_t step) const { return functions_.at(step); }
  // Memory of the plan on the GPU: scratch and constants, without the poison around them.
  std::uint64_t bytes() const;

 private:
  PlanRunner() = default;
  Status load(const PlanContents& contents);
  Status allocate(const PlanContents& contents, const cuda::Stream& stream);
  cuda::DevicePointer address(const task::ResolvedMemory& memory, const CallAddresses& call) const;
  Status launch(const task::ResolvedLaunch& launch, const cuda::Function& function,
                const CallAddresses& call, const cuda::Stream& stream) const;
  Status fill(const task::ResolvedFill& fill, const CallAddresses& call,
              const cuda::Stream& stream) const;

  task::ResolvedPlan plan_;
  std::vector<cuda::Module> modules_;
  std::vector<cuda::Function> functions_;  // one for each step; invalid for fills and copies
  std::vector<cuda::DeviceBuffer> scratch_, constants_;
};

}  // namespace kw::gym
