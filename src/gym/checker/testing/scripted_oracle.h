// For tests: an oracle without a process, whose reference is an elementwise function.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gym/checker/oracle.h"

namespace kw::gym::testing {

// y[i] = f(x[i]) of the first input for every output, all float32 and of equal size. Statics are
// multiplied: y[i] = f(x[i]) * s[0] * ...
class ScriptedOracle final : public Oracle {
 public:
  using Function = std::function<double(double)>;
  explicit ScriptedOracle(Function f) : f_(std::move(f)) {}

  // From now on every request is answered as by a process that has ended.
  void die() { is_dead_ = true; }
  // Runs in this precision fail from now on.
  void refuse(Precision precision) { refused_.push_back(precision); }
  // Runs so far, by their order.
  const std::vector<Run>& runs() const { return runs_; }

  // The result of describe().
  ModuleDescription description;
  // Called before every run.
  std::function<void()> on_run;
  // The error of runs by other operators, relative to the result.
  double second_error = 0;
  // How long every answer takes.
  std::chrono::nanoseconds took{std::chrono::milliseconds(1)};

  Result<OracleAnswer> setup(const OracleSetup& setup, const std::string& source) override;
  Result<OracleAnswer> describe(std::uint64_t param_seed, std::uint64_t input_seed,
                                ModuleDescription& out) override;
  Result<OracleAnswer> attach_exchange(const task::Signature& signature) override;
  Result<OracleAnswer> generate(std::uint64_t seed) override;
  Result<OracleAnswer> state(std::uint64_t seed, bool redraw) override;
  Result<OracleAnswer> run(const Run& run) override;
  std::optional<std::chrono::nanoseconds> fastest_declared_run() const override {
    return runs_.empty() ? std::nullopt : std::optional(took);
  }
  std::span<std::byte> input(std::size_t i) override {
    return std::as_writable_bytes(std::span(inputs_[i]));
  }
  std::span<std::byte> static_tensor(std::size_t i) override {
    return std::as_writable_bytes(std::span(statics_[i]));
  }
  std::span<const std::byte> output(std::size_t i) const override {
    return std::as_bytes(std::span(outputs_[i]));
  }
  std::span<const std::byte> output64(std::size_t i) const override {
    return std::as_bytes(std::span(outputs64_[i]));
  }

 private:
  OracleAnswer answer() const;

  Function f_;
  bool is_dead_ = false;
  std::vector<Precision> refused_;
  std::vector<Run> runs_;
  std::vector<std::vector<float>> inputs_, statics_, outputs_;
  std::vector<std::vector<double>> outputs64_;
};

}  // namespace kw::gym::testing
