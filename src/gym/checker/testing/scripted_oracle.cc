#include "gym/checker/testing/scripted_oracle.h"

#include <algorithm>
#include <bit>

#include "base/random.h"

namespace kw::gym::testing {
namespace {

// The value rounded to eight bits of mantissa.
float in_bfloat16(float value) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + 0x8000U) & 0xFFFF0000U);
}

void draw(std::vector<float>& values, Rng& rng) {
  for (float& value : values) value = static_cast<float>(rng.normal());
}

}  // namespace

OracleAnswer ScriptedOracle::answer() const {
  if (is_dead_) return {false, "the reference's process ended", {}};
  return {true, "", took};
}

Result<OracleAnswer> ScriptedOracle::setup(const OracleSetup&, const std::string&) {
  return answer();
}

Result<OracleAnswer> ScriptedOracle::describe(std::uint64_t, std::uint64_t,
                                              ModuleDescription& out) {
  out = description;
  return answer();
}

Result<OracleAnswer> ScriptedOracle::attach_exchange(const task::Signature& signature) {
  auto sizes = [](auto& tensors, const std::vector<task::Argument>& arguments) {
    tensors.clear();
    for (const task::Argument& argument : arguments) {
      if (argument.role != task::Role::kScalar)
        tensors.emplace_back(static_cast<std::size_t>(argument.elements()));
    }
  };
  sizes(inputs_, signature.inputs);
  sizes(statics_, signature.statics);
  sizes(outputs_, signature.outputs);
  sizes(outputs64_, signature.outputs);
  return answer();
}

Result<OracleAnswer> ScriptedOracle::generate(std::uint64_t seed) {
  Rng rng(seed);
  for (auto& tensor : inputs_) draw(tensor, rng);
  return answer();
}

Result<OracleAnswer> ScriptedOracle::state(std::uint64_t seed, bool) {
  Rng rng(seed);
  for (auto& tensor : statics_) draw(tensor, rng);
  return answer();
}

Result<OracleAnswer> ScriptedOracle::run(const Run& run) {
  if (on_run) on_run();
  OracleAnswer done = answer();
  if (!done.ok) return done;
  runs_.push_back(run);
  if (std::ranges::find(refused_, run.precision) != refused_.end())
    return OracleAnswer{false, "it does not run in this precision", took};
  Rng rng(run.perturb_seed);
  double factor = 1;
  for (const auto& tensor : statics_) factor *= static_cast<double>(tensor.at(0));
  for (std::size_t i = 0; i < inputs_.at(0).size(); ++i) {
    double x = static_cast<double>(inputs_[0][i]);
    if (run.precision == Precision::kLower) x = static_cast<double>(in_bfloat16(inputs_[0][i]));
    if (run.perturb_seed != 0) x *= 1 + (rng.below(2) == 0 ? 1 : -1) * run.perturb_scale;
    double y = f_(x) * factor;
    if (run.precision == Precision::kSecond) y *= 1 + second_error;
    for (std::size_t j = 0; j < outputs_.size(); ++j) {
      outputs64_[j].at(i) = y;
      outputs_[j].at(i) = static_cast<float>(y);
      if (run.precision == Precision::kLower) outputs_[j][i] = in_bfloat16(outputs_[j][i]);
    }
  }
  return done;
}

}  // namespace kw::gym::testing
