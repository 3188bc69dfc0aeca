// Backend: what differs between the targets that a checker judges on: where tensors lie, how
// executor and oracle are attached, whose clock counts. A session and its judgements know nothing
// else of the target.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "gym/checker/call_comparer.h"
#include "gym/checker/clock.h"
#include "gym/checker/executor.h"
#include "gym/checker/machine_state.h"
#include "gym/checker/oracle.h"
#include "gym/checker/tensor_memory.h"
#include "gym/checker/turn.h"
#include "gym/measure/busy_time.h"
#include "gym/messages/checker_messages.h"
#include "gym/named_fds.h"
#include "task/signature.h"

namespace kw::gym {

// How an executor is to be attached. All borrowed.
struct ExecutorOrder {
  const Json& monitor;  // the sandbox's, as sandbox::open_monitor() reads it
  ExecutorSetup setup;
  ReceivedFds& fds;           // holds PREFIX.control, PREFIX.source, PREFIX.monitor0, ...
  const std::string& prefix;  // "baseline", "candidate"
  const task::Signature& signature;
  ExecutorMemory memory;
  bool freeze = true, timing = true;
  Turn& turn;
};

// One thread. Lives longer than its sessions.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual TensorAllocator& allocator() = 0;
  virtual CallComparer& comparer() = 0;
  virtual CheckerClock& clock() = 0;
  virtual MachineState& machine() = 0;
  // How many calls a timed launch has, each on inputs of its own. More than one where launches of
  // one call are too short for the executor's clock and may overlap (events inside a batch).
  virtual std::uint32_t calls_per_launch() const { return 1; }

  // How much memory a session may use for hard inputs that it would otherwise make for each
  // candidate.
  virtual std::uint64_t kept_input_bytes() const { return 0; }

  // How long the timed GPU had an operation of this checker or its executors outstanding; null:
  // there is no GPU.
  virtual const BusyTime* gpu_busy() const { return nullptr; }

  // monitor, fds: "oracle_monitor" and the descriptors of the "open" request.
  virtual Result<std::unique_ptr<Oracle>> attach_oracle(const Json& monitor, ReceivedFds& fds,
                                                        std::chrono::milliseconds timeout,
                                                        Turn& turn) = 0;
  virtual Result<std::unique_ptr<Executor>> attach_executor(ExecutorOrder order) = 0;
};

// Memory files, frozen processes, the host's clock.
Backend& host_backend();

// Memory of any kind, in the order in which it ends.
struct ProcessBackendParts {
  std::unique_ptr<BusyTime> gpu_busy;  // null: there is no GPU
  std::unique_ptr<TensorAllocator> allocator;
  std::unique_ptr<CallComparer> comparer;
  std::uint64_t kept_input_bytes = 0;  // see Backend
};
// Processes of this host, with the host's clock.
std::unique_ptr<Backend> make_process_backend(ProcessBackendParts parts);

}  // namespace kw::gym
