// Executors and oracles that are processes of this host, frozen between launches; the monotonic
// clock; memory files where the host's own memory is judged in.
#include <utility>

#include "gym/checker/backend.h"
#include "gym/checker/executor_client.h"
#include "gym/checker/host_memory.h"
#include "gym/checker/oracle_client.h"

namespace kw::gym {
namespace {

class ProcessBackend final : public Backend {
 public:
  explicit ProcessBackend(ProcessBackendParts parts) : parts_(std::move(parts)) {}
  TensorAllocator& allocator() override { return *parts_.allocator; }
  CallComparer& comparer() override { return *parts_.comparer; }
  CheckerClock& clock() override { return host_clock(); }
  MachineState& machine() override { return host_machine(); }
  std::uint64_t kept_input_bytes() const override { return parts_.kept_input_bytes; }
  const BusyTime* gpu_busy() const override { return parts_.gpu_busy.get(); }

  Result<std::unique_ptr<Oracle>> attach_oracle(const Json& monitor_description, ReceivedFds& fds,
                                                std::chrono::milliseconds timeout,
                                                Turn& turn) override {
    KW_TRY(os::UniqueFd control, fds.take("oracle.control"));
    KW_TRY(auto monitor,
           sandbox::open_monitor(monitor_description, fds.take_all("oracle.monitor")));
    return OracleClient::attach(std::move(control), std::move(monitor), timeout, turn, clock());
  }

  Result<std::unique_ptr<Executor>> attach_executor(ExecutorOrder order) override {
    ExecutorClient::Attach attach;
    KW_TRY(attach.control, order.fds.take(order.prefix + ".control"));
    KW_TRY(attach.source, order.fds.take(order.prefix + ".source"));
    KW_TRY(attach.monitor,
           sandbox::open_monitor(order.monitor, order.fds.take_all(order.prefix + ".monitor")));
    attach.setup = std::move(order.setup);
    attach.freeze = order.freeze;
    attach.timing = order.timing;
    attach.turn = &order.turn;
    attach.clock = &clock();
    attach.gpu_busy = parts_.gpu_busy.get();
    return ExecutorClient::attach(std::move(attach), order.signature, std::move(order.memory));
  }

 private:
  ProcessBackendParts parts_;
};

}  // namespace

Backend& host_backend() {
  static ProcessBackend backend({.gpu_busy = nullptr,
                                 .allocator = std::make_unique<HostAllocator>(),
                                 .comparer = std::make_unique<HostCallComparer>()});
  return backend;
}

std::unique_ptr<Backend> make_process_backend(ProcessBackendParts parts) {
  return std::make_unique<ProcessBackend>(std::move(parts));
}

}  // namespace kw::gym
