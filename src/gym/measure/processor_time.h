// The time of a launch where other programs take the core from it.
#pragma once
#include <chrono>

namespace kw::gym {

// One launch of a sandbox, by the kernel's count.
struct ProcessorUse {
  std::chrono::nanoseconds wall{0};
  std::chrono::nanoseconds all_ran{0};  // core time of all its processes
  // Core time of its first thread, and for how long that was ready while something else had its
  // core.
  std::chrono::nanoseconds first_ran{0}, first_waited{0};
  // For how long programs outside of the sandbox had the core that any of its threads was ready
  // for. 0 where the kernel does not count that.
  std::chrono::nanoseconds sandbox_waited{0};
};

// The wall time without the time in which programs outside of the sandbox had its core although one
// of its threads was ready. Time in which all of them slept counts, so that a candidate gains
// nothing by sleeping. Time in which the sandbox's other threads had the core counts too: the first
// thread's waiting for them is taken back. At least all_ran, so that nobody gains by handing work
// to others.
std::chrono::nanoseconds processor_time(const ProcessorUse& use);

}  // namespace kw::gym
