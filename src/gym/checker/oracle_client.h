// OracleClient: the checker's side of a sandboxed process that runs the reference
// (docs/protocol.md). Its answers are numbers in the exchange memory, which the checker copies, and
// a bounded JSON description.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/checker/clock.h"
#include "gym/checker/oracle.h"
#include "gym/checker/turn.h"
#include "gym/protocol.h"
#include "os/fd.h"
#include "os/memory.h"
#include "os/sparse_mapping.h"
#include "sandbox/sandbox.h"
#include "task/signature.h"

namespace kw::gym {

// Not thread-safe.
class OracleClient final : public Oracle {
 public:
  // timeout: of one answer, as CallDeadline counts. turn, clock: borrowed.
  static Result<std::unique_ptr<OracleClient>> attach(os::UniqueFd control,
                                                      std::unique_ptr<sandbox::Monitor> monitor,
                                                      std::chrono::milliseconds timeout, Turn& turn,
                                                      CheckerClock& clock);

  // source travels as a sealed memory file.
  Result<OracleAnswer> setup(const OracleSetup& setup, const std::string& source) override;
  Result<OracleAnswer> describe(std::uint64_t param_seed, std::uint64_t input_seed,
                                ModuleDescription& description) override;
  Result<OracleAnswer> attach_exchange(const task::Signature& signature) override;
  Result<OracleAnswer> generate(std::uint64_t seed) override;
  Result<OracleAnswer> state(std::uint64_t seed, bool redraw) override;
  bool selects() const override { return is_on_gpu_; }
  Status offer(const TensorMemory& inputs, const TensorMemory* statics) override;
  Result<OracleAnswer> run(const Run& run) override;
  std::vector<std::int64_t> written_inputs() const override { return written_inputs_; }
  Result<std::optional<task::GpuRoofline>> roofline() override;
  std::optional<std::chrono::nanoseconds> fastest_declared_run() const override { return fastest_; }

  std::span<std::byte> input(std::size_t tensor) override { return bytes_of(inputs_[tensor]); }
  std::span<std::byte> static_tensor(std::size_t i) override { return bytes_of(statics_[i]); }
  std::span<const std::byte> output(std::size_t i) const override { return bytes_of(outputs_[i]); }
  std::span<const std::byte> output64(std::size_t i) const override {
    return bytes_of(outputs64_[i]);
  }

 private:
  struct Slot {
    std::size_t offset, bytes;
  };
  OracleClient() = default;
  Result<OracleAnswer> request(const Json& body, const std::vector<int>& fds = {});
  // The number of this memory, which the process maps when it is new, and its tensors' offsets.
  Result<Json> place_of(const TensorMemory& memory, const std::vector<task::Argument>& arguments);
  // The inner Status is the process's failure.
  Result<Status> receive(OracleReply& reply, std::chrono::nanoseconds& took);
  std::string words_for(const Error& failure);
  // Lays the tensors out in slots; the size of the exchange.
  std::size_t place_slots(const task::Signature& signature);
  std::span<std::byte> bytes_of(const Slot& slot) const {
    const auto exchange = is_on_gpu_ ? sparse_exchange_.bytes() : exchange_.bytes();
    return exchange.subspan(slot.offset, slot.bytes);
  }

  os::UniqueFd control_;
  std::unique_ptr<sandbox::Monitor> monitor_;
  std::chrono::milliseconds timeout_{};
  Turn* turn_ = nullptr;           // borrowed
  CheckerClock* clock_ = nullptr;  // borrowed
  os::UniqueFd text_fd_, exchange_fd_;
  os::Mapping text_, exchange_;
  os::SparseMapping sparse_exchange_;  // instead, on a GPU
  task::Signature signature_;
  std::vector<Slot> inputs_, statics_, outputs_, outputs64_;
  void note_written_inputs(const std::string& places);
  std::vector<std::int64_t> written_inputs_;
  std::optional<std::chrono::nanoseconds> fastest_;
  bool is_on_gpu_ = false;
  // On a GPU: memory that the process has mapped, under its number, and where the next run's
  // tensors lie. Memory lives as long as the session.
  std::vector<const TensorMemory*> mapped_;
  Json places_ = Json::object();
};

}  // namespace kw::gym
