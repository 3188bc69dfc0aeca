// One executor as a judge sees it: candidate or baseline, started, prepared, calibrated; its
// outputs wherever they lie. Not thread-safe.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gym/checker/executor_client.h"
#include "task/signature.h"
#include "task/verdict.h"

namespace kw::gym {

// Why a candidate cannot be judged further, in the verdict's words.
struct Fault {
  task::Outcome outcome = task::Outcome::kRuntimeError;
  std::string violation;
  std::string message;  // for people and the next turn; no hidden data
};

struct StartTimes {
  double load_ms = 0, prepare_ms = 0;
};

// How long a call may take, unless --timeout says: 20 times the reference, at least 2 s.
std::chrono::nanoseconds call_timeout(std::chrono::nanoseconds reference);

class Side {
 public:
  // compiles: prepare runs torch.compile and may take minutes.
  Side(std::unique_ptr<ExecutorClient> client, const task::Signature& signature, bool compiles)
      : client_(std::move(client)), signature_(&signature), compiles_(compiles) {}

  // Load and prepare. A fault is the executor's.
  Result<std::optional<Fault>> start(StartTimes& times);
  // Measures what every go costs by itself: on a quiet machine, before the first timed call.
  Status calibrate();
  // What is taken off every go must not be the candidate's to choose: no more than the other
  // side's.
  void limit_null_go(const Side& other);
  // One go; a fault when it did not end as it should.
  Result<std::optional<Fault>> call(std::span<const std::uint32_t> sets,
                                    std::chrono::nanoseconds timeout, GoResult& go);
  // Wall time of a go less the constant of a null go, at least a nanosecond.
  std::chrono::nanoseconds net(const GoResult& go) const;
  // Median wall time of a go without calls: what every go costs by itself.
  std::chrono::nanoseconds null_go() const { return null_go_.wall; }
  // How long it waited for its core in a go, beyond what a go without calls waits.
  std::chrono::nanoseconds net_waited(const GoResult& go) const {
    return std::max(go.waited - null_go_.waited, std::chrono::nanoseconds(0));
  }

  // Core time of a go, of all threads, beyond what a go without calls takes.
  std::chrono::nanoseconds net_cpu_time(const GoResult& go) const {
    return std::max(go.cpu_time - null_go_.cpu_time, std::chrono::nanoseconds(0));
  }

  // Before a go: destination buffers at new places, holding poison, between canaries. Memory of
  // returned results belongs to the candidate's allocator and is left alone: fresh inputs make
  // stale results wrong.
  struct OutputGuards {
    bool move = true, poison = true, canaries = true;
  };
  void guard_outputs(std::span<const std::uint32_t> sets, Rng& rng, OutputGuards guards);
  bool canaries_intact(std::span<const std::uint32_t> sets) const;
  // Elements of the last snapshot that still hold the poison.
  std::size_t unwritten(std::uint32_t set, std::size_t output) const;
  // Fixes the outputs of a go over these sets: what the executor writes later does not count. A
  // frozen executor's memory is read in place until its next go; otherwise it is copied. A fault
  // for a returned shape, dtype or place that is not as declared.
  std::optional<Fault> take_snapshot(std::span<const std::uint32_t> sets);
  // Output j of a set as the last snapshot has it: contiguous, declared dtype. Valid until the next
  // go.
  std::span<const std::byte> output(std::uint32_t set, std::size_t j) const {
    return snapshots_.at(set).at(j).bytes;
  }
  std::vector<std::span<const std::byte>> outputs(std::uint32_t set) const;

  ExecutorClient& client() { return *client_; }

 private:
  Fault fault_of(const GoResult& go, const char* stage);
  std::unique_ptr<ExecutorClient> client_;
  const task::Signature* signature_;  // borrowed
  bool compiles_;
  NullGo null_go_;
  struct Snapshot {
    std::span<const std::byte> bytes;
    std::vector<std::byte> copy;  // empty where the bytes lie in shared memory
  };
  std::optional<Fault> snapshot_returned(std::uint32_t call, std::uint32_t j, Snapshot& snapshot);
  std::map<std::uint32_t, std::vector<Snapshot>> snapshots_;          // by set and output
  std::map<std::uint32_t, std::vector<std::uint64_t>> poison_seeds_;  // likewise
  std::map<std::uint32_t, std::uint64_t> canary_seeds_;               // by set
};

}  // namespace kw::gym
