// MachineState: what of the machine disturbs a timed launch and is not the candidate's doing.
#pragma once
#include <chrono>

namespace kw::gym {

// One thread.
class MachineState {
 public:
  virtual ~MachineState() = default;
  // Time that a hypervisor gave to others, of all cores since the machine's start, in steps of
  // 10 ms.
  virtual std::chrono::nanoseconds stolen_time() = 0;
  // Cost of one minor page fault, in nanoseconds.
  virtual double page_fault_ns() = 0;
};

// The host (measure/stolen_time.h, fault_cost.h).
MachineState& host_machine();

}  // namespace kw::gym
