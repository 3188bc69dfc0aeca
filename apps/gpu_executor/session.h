// Session: what one setup message gives a GPU executor: mapped pages, the checker's device memory,
// the candidate's plan on the GPU.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "cuda/context.h"
#include "cuda/memory.h"
#include "cuda/shared_memory.h"
#include "cuda/stream.h"
#include "flushes.h"
#include "gym/cuda/plan_runner.h"
#include "gym/protocol.h"
#include "os/memory.h"
#include "os/message.h"
#include "task/signature.h"

namespace kw::gpu_executor {

// One thread. Descriptors do not outlive open(). Inputs and statics are mapped for reading only, so
// a kernel that writes to them faults.
class Session {
 public:
  // Maps the two pages; kInvalidArgument for a message that no checker of ours sends.
  static Result<Session> open(os::Message message);
  // Everything that needs the GPU: context, memory, modules. kUnsupported without a GPU;
  // kInvalidArgument for a plan that this GPU cannot run, kResourceExhausted.
  Status load();

  volatile gym::ReplyPage& reply() { return *reinterpret_cast<gym::ReplyPage*>(reply_.data()); }
  const volatile gym::CommandPage& command() const {
    return *reinterpret_cast<const gym::CommandPage*>(command_.data());
  }
  // Runs another plan in the place of the one before, of which only memory outside of its own
  // buffers may keep anything: its modules are unloaded, and its scratch and constants overwritten.
  // message: as the checker's "program". Errors as load()'s.
  Status replace(os::Message message);
  // Runs the calls of the command page one after the other and waits for their end, at most 20 s.
  // Each finds the GPU's cache without anything of its own. Stores failed_call, device_ns (the
  // calls' time without the flushes between them) and device_span_ns (with them). kInvalidArgument:
  // the driver refuses a kernel; kDeadlineExceeded: kernels that do not end; kInternal: a kernel
  // faulted.
  Status run_calls();
  // Does what run_calls() does around one call, without the call.
  Status run_nothing();
  // Runs the command page's first call some times, each step of the plan timed by itself, and
  // stores plan_kernels, other_ns, other_steps and most_threads. Errors as run_calls()'.
  Status profile();

 private:
  Session() = default;
  // After load().
  const cuda::Context& context() const {
    KW_CHECK(context_.has_value());
    return *context_;
  }
  gym::PlanRunner& runner() {
    KW_CHECK(runner_.has_value());
    return *runner_;
  }
  Status map_memory();
  Status load_program(int source);
  Result<gym::CallAddresses> addresses_of(std::uint32_t set) const;
  // Empties the cache, so many times.
  Status flush(int flushes);
  // Puts flushes of the cache and one call, or none, between two events on the stream.
  Status enqueue(std::size_t number, const gym::CallAddresses* call);
  Status wait();
  // Stores the times of so many spans.
  Status report(std::size_t count, bool called);

  // Declared before all that is freed while the context is current.
  std::optional<cuda::Context> context_;
  os::Mapping command_, reply_;
  task::Signature signature_;
  std::vector<std::uint64_t> static_offsets_;
  std::map<std::string, os::UniqueFd> descriptors_;  // until load()
  std::size_t sets_ = 0;
  int device_ = 0;
  cuda::Stream stream_;
  struct Span {
    cuda::Event start, begin, end;  // of the flushes, of the call
    int flushes = 0;
  };
  std::vector<Span> spans_;   // of each call of a launch
  cuda::DeviceBuffer flush_;  // twice as large as the cache
  Flushes flushes_;
  std::chrono::steady_clock::time_point worked_;  // the end of the GPU's last work of this process
  cuda::SharedMemory statics_;
  std::vector<cuda::SharedMemory> inputs_, outputs_;  // of each set
  std::optional<gym::PlanRunner> runner_;
};

}  // namespace kw::gpu_executor
