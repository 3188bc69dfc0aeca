// Words for the ways in which an executor ends.
#include "gym/checker/executor_fault.h"

#include <string>
#include <string_view>

#include "gym/checker/signal_name.h"

namespace kw::gym {
namespace {

std::string_view failure_text(Failure failure) {
  switch (failure) {
    case Failure::kLoad:
      return "it does not load";
    case Failure::kEntryMissing:
      return "its entry point is missing";
    case Failure::kException:
      return "it raised an exception";
    case Failure::kOutputKind:
      return "a returned value is not a plain dense CPU tensor";
    case Failure::kOutputCount:
      return "it returned another number of outputs than declared";
    case Failure::kUnsupported:
      return "it needs something that the executor does not offer";
    case Failure::kKernelFault:
      return "a kernel faulted (an address that is not its own, where inputs are read-only; a "
             "trap; "
             "an assert)";
    case Failure::kLaunchRefused:
      return "the GPU refused to start a kernel (its grid, block, cluster or shared memory)";
    case Failure::kDeviceMemory:
      return "the GPU's memory is full";
    case Failure::kKernelTimeout:
      return "a kernel did not end";
    case Failure::kNone:
      break;
  }
  return "it failed";
}

task::Outcome outcome_of(Failure failure) {
  switch (failure) {
    case Failure::kOutputKind:
    case Failure::kOutputCount:
      return task::Outcome::kWrongShape;
    case Failure::kDeviceMemory:
      return task::Outcome::kMemoryLimit;
    case Failure::kKernelTimeout:
      return task::Outcome::kTimeout;
    default:
      return task::Outcome::kRuntimeError;
  }
}

Fault fault_of_end(const ExecutorEnd& end, const char* stage) {
  Fault fault;
  if (end.exit && end.exit->out_of_memory) {
    fault.outcome = task::Outcome::kMemoryLimit;
    fault.message = fmt::format("the memory limit was reached during {}", stage);
  } else if (end.fault_on_input && end.exit && end.exit->signalled) {
    fault.outcome = task::Outcome::kViolation;
    fault.violation = "input_write";
    fault.message =
        "it wrote to an input, which is read-only (in-place operators like relu_() do that: write "
        "to the output instead)";
  } else if (end.exit && end.exit->signalled) {
    fault.message = fmt::format("{} during {}", signal_name(end.exit->code), stage);
  } else if (end.failure != Failure::kNone) {
    // The candidate may not excuse itself: `unsupported` would be nobody's fault.
    fault.outcome = outcome_of(end.failure);
    fault.message = fmt::format("{} during {}", failure_text(end.failure), stage);
  } else {
    fault.message = end.exit ? fmt::format("the process ended with exit code {} during {}",
                                           end.exit->code, stage)
                             : fmt::format("it failed during {}", stage);
  }
  return fault;
}

}  // namespace

Fault fault_of(const LaunchResult& result, Executor& executor, const char* stage) {
  Fault fault;
  if (result.end == LaunchEnd::kTimeout) {
    fault.outcome = task::Outcome::kTimeout;
    fault.message = fmt::format("no answer in time during {}", stage);
    return fault;
  }
  if (result.end == LaunchEnd::kProtocol) {
    fault.outcome = task::Outcome::kViolation;
    fault.violation = "protocol";
    fault.message = fmt::format("the shared page was written out of turn during {}", stage);
    return fault;
  }
  return fault_of_end(executor.end(), stage);
}

}  // namespace kw::gym
