#include "gym/checker/machine_state.h"

#include "gym/checker/fault_cost.h"
#include "gym/measure/stolen_time.h"

namespace kw::gym {
namespace {

class HostMachine final : public MachineState {
 public:
  std::chrono::nanoseconds stolen_time() override { return kw::gym::stolen_time(); }
  double page_fault_ns() override { return fault_cost_ns(); }
};

}  // namespace

MachineState& host_machine() {
  static HostMachine machine;
  return machine;
}

}  // namespace kw::gym
