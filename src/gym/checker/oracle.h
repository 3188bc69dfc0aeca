// Oracle: runs a workload's reference, at the declared precision, in float64 and on moved inputs.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/checker/module_description.h"
#include "gym/checker/tensor_memory.h"
#include "gym/correctness/selection.h"
#include "gym/messages/checker_messages.h"
#include "task/gpu_facts.h"
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

// Runs the reference. Inputs, statics and outputs pass through the exchange: host memory that the
// reference may write to at any time, so a value is copied out before the checker relies on it. Not
// thread-safe.
class Oracle {
 public:
  virtual ~Oracle() = default;

  // source: of the reference.
  virtual Result<OracleAnswer> setup(const OracleSetup& setup, const std::string& source) = 0;
  // Modules: interface and constructor arguments.
  virtual Result<OracleAnswer> describe(std::uint64_t param_seed, std::uint64_t input_seed,
                                        ModuleDescription& description) = 0;
  // Makes the exchange for this signature.
  virtual Result<OracleAnswer> attach_exchange(const task::Signature& signature) = 0;
  // Modules: afterwards the inputs hold get_inputs() under the seed.
  virtual Result<OracleAnswer> generate(std::uint64_t seed) = 0;
  // Modules: afterwards the statics hold the parameters and buffers of a module made under the
  // seed. redraw: constant parameters are drawn anew.
  virtual Result<OracleAnswer> state(std::uint64_t seed, bool redraw) = 0;

  struct Run {
    Precision precision = Precision::kDeclared;
    std::uint64_t perturb_seed = 0;  // 0: no perturbation
    double perturb_scale = 0;        // relative step of inputs and statics
    double function_scale = 0;       // relative step of elementary functions' results; 0: exact
    // Borrowed; null: whole outputs. Only of an oracle that selects().
    const Selections* selected = nullptr;
  };
  // Whether a run can give parts of outputs: then those that Run::selected names are such parts.
  // Those of more than kLargeOutput elements should be, by about kMaxSelected of them.
  virtual bool selects() const { return false; }
  static constexpr std::int64_t kLargeOutput = std::int64_t{1} << 24U;
  static constexpr std::size_t kMaxSelected = std::size_t{1} << 22U;

  // Gives the next run its inputs and statics (null: none): copied to the exchange, or named where
  // they lie.
  virtual Status offer(const TensorMemory& inputs, const TensorMemory* statics);
  // Runs the reference on what was offered.
  virtual Result<OracleAnswer> run(const Run& run) = 0;
  // Places among the signature's inputs: those that the reference writes to, so far as runs have
  // shown. It gets copies of them; a baseline needs copies too.
  virtual std::vector<std::int64_t> written_inputs() const { return {}; }
  // The GPU that runs it allows this for the workload, whose inputs were offered. It is measured
  // there, and has no `bytes`. nullopt: the reference runs on no GPU, or the measurement failed.
  virtual Result<std::optional<task::GpuRoofline>> roofline() {
    return std::optional<task::GpuRoofline>();
  }
  // The shortest unperturbed run at the declared precision so far, with its messages.
  virtual std::optional<std::chrono::nanoseconds> fastest_declared_run() const = 0;

  // The input's place in the exchange, indexed by tensor without scalars; in the declared dtype.
  virtual std::span<std::byte> input(std::size_t tensor) = 0;
  virtual std::span<std::byte> static_tensor(std::size_t i) = 0;
  // Declared dtype, after a declared or lower run.
  virtual std::span<const std::byte> output(std::size_t i) const = 0;
  // float64, or int64 for integers and booleans, after a float64 or second run.
  virtual std::span<const std::byte> output64(std::size_t i) const = 0;
};

}  // namespace kw::gym
