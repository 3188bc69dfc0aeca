// The checker's side of the oracle: a sandboxed process that runs the reference (docs/protocol.md).
// Its answers are numbers in the exchange memory, which the checker copies, and a bounded JSON
// description. Not thread-safe.
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
#include "gym/checker/module_description.h"
#include "gym/checker/turn.h"
#include "gym/protocol.h"
#include "os/fd.h"
#include "os/memory.h"
#include "sandbox/sandbox.h"
#include "task/signature.h"

namespace kw::gym {

// kSecond: the declared one, computed by other operators (docs/correctness.md).
enum class Precision { kDeclared, kFloat64, kLower, kSecond };

// A reference that fails is the problem's fault (quarantine), not an Error.
struct OracleAnswer {
  bool ok = true;
  std::string text;  // the reference's own words when it failed, untrusted and sanitised; the
                     // description for describe()
  std::chrono::nanoseconds took{0};  // less what others measured meanwhile
};

class OracleClient {
 public:
  // turn: borrowed.
  static Result<std::unique_ptr<OracleClient>> attach(os::UniqueFd control,
                                                      std::unique_ptr<sandbox::Monitor> monitor,
                                                      std::chrono::milliseconds timeout,
                                                      Turn& turn);

  // source travels as a sealed memory file.
  Result<OracleAnswer> setup(const Json& request, const std::string& source);
  Result<OracleAnswer> describe(std::uint64_t param_seed, std::uint64_t input_seed,
                                ModuleDescription& description);
  // Makes the exchange memory for this signature.
  Result<OracleAnswer> attach_exchange(const task::Signature& signature);
  Result<OracleAnswer> generate(std::uint64_t seed);  // modules: inputs() hold get_inputs()
  Result<OracleAnswer> state(std::uint64_t seed, bool redraw);  // modules: statics() hold the state
  struct Run {
    Precision precision = Precision::kDeclared;
    std::uint64_t perturb_seed = 0;  // 0: no perturbation
    double perturb_scale = 0;        // relative step of inputs and statics
    double function_scale = 0;       // relative step of elementary functions' results; 0: exact
  };
  Result<OracleAnswer> run(const Run& run);
  // One unperturbed run at the declared precision with its messages, the fastest so far.
  std::optional<std::chrono::nanoseconds> fastest_declared_run() const { return fastest_; }

  std::span<std::byte> input(std::size_t tensor);  // declared dtype, read by run()
  std::span<std::byte> static_tensor(std::size_t i);
  std::span<const std::byte> output(
      std::size_t i) const;  // declared dtype, after a declared or lower run
  std::span<const std::byte> output64(
      std::size_t i) const;  // float64 or int64, after a float64 or second run
  const std::string& last_failure() const { return last_failure_; }

 private:
  OracleClient() = default;
  Result<OracleAnswer> request(const Json& body, const std::vector<int>& fds = {});
  // The inner one is the process's failure.
  Result<Status> receive(OracleReply& reply, std::chrono::nanoseconds& took);

  os::UniqueFd control_;
  std::unique_ptr<sandbox::Monitor> monitor_;
  std::chrono::milliseconds timeout_{};
  Turn* turn_ = nullptr;  // borrowed
  os::UniqueFd text_fd_, exchange_fd_;
  os::Mapping text_, exchange_;
  struct Slot {
    std::size_t offset, bytes;
  };
  std::vector<Slot> inputs_, statics_, outputs_, outputs64_;
  std::string last_failure_;
  std::optional<std::chrono::nanoseconds> fastest_;
};

}  // namespace kw::gym
