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
  ProcessBackend(std::unique_ptr<TensorAllocator> allocator, std::unique_ptr<CallComparer> comparer,
                 std::uint64_t kept_input_bytes)
      : allocator_(std::move(allocator)),
        comparer_(std::move(comparer)),
        kept_input_bytes_(kept_input_bytes) {}
  TensorAllocator& allocator() override { return *allocator_; }
  CallComparer& comparer() override { return *comparer_; }
  CheckerClock& clock() override { return host_clock(); }
  MachineState& machine() override { return host_machine(); }
  std::uint64_t kept_input_bytes() const override { return kept_input_bytes_; }

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
    return ExecutorClient::attach(std::move(attach), order.signature, std::move(order.memory));
  }

 private:
  std::unique_ptr<TensorAllocator> allocator_;
  std::unique_ptr<CallComparer> comparer_;
  std::uint64_t kept_input_bytes_;
};

}  // namespace

Backend& host_backend() {
  static ProcessBackend backend(std::make_unique<HostAllocator>(),
                                std::make_unique<HostCallComparer>(), 0);
  return backend;
}

std::unique_ptr<Backend> make_process_backend(std::unique_ptr<TensorAllocator> allocator,
                                              std::unique_ptr<CallComparer> comparer,
                                              std::uint64_t kept_input_bytes) {
  return std::make_unique<ProcessBackend>(std::move(allocator), std::move(comparer),
                                          kept_input_bytes);
}

}  // namespace kw::gym
