// Trivial candidates made of the oracle's data, and the influence of every input.
#include "gym/checker/admission.h"

#include <cstring>
#include <functional>
#include <utility>

#include "gym/inputs/half.h"

namespace kw::gym {
namespace {

using Outputs = std::vector<std::vector<std::byte>>;

bool passes(const AdmissionInput& in, const Outputs& outputs, const Instance& instance) {
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    if (!in.checker.compare_with_oracle(j, outputs[j], instance).ok) return false;
  }
  return true;
}

std::vector<std::byte> filled(const task::Argument& argument, float value) {
  std::vector<std::byte> bytes(argument.bytes());
  auto count = static_cast<std::size_t>(argument.elements());
  if (argument.dtype == task::DType::kFloat64) {
    std::vector<double> values(count, static_cast<double>(value));
    std::memcpy(bytes.data(), values.data(), bytes.size());
  } else if (task::is_floating(argument.dtype)) {
    store(argument.dtype, std::vector<float>(count, value), 0, bytes);
  } else {
    auto number = static_cast<std::int64_t>(value);
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(bytes.data() + i * task::size_of(argument.dtype), &number,
                  task::size_of(argument.dtype));
  }
  return bytes;
}

// The first half as it should be, the rest zero.
std::vector<std::byte> half_computed(const std::vector<std::byte>& right) {
  std::vector<std::byte> bytes = right;
  std::memset(bytes.data() + bytes.size() / 2, 0, bytes.size() - bytes.size() / 2);
  return bytes;
}

std::vector<std::pair<std::string, Outputs>> trivial_candidates(const AdmissionInput& in) {
  const Instance& instance = in.instances.back();
  std::vector<std::pair<std::string, Outputs>> all = {
      {"zeros", {}}, {"ones", {}}, {"half computed", {}}, {"another call's output", {}}};
  bool divisible = true;
  for (std::size_t j = 0; j < in.signature.outputs.size(); ++j) {
    const task::Argument& output = in.signature.outputs[j];
    all[0].second.push_back(filled(output, 0));
    all[1].second.push_back(filled(output, 1));
    all[2].second.push_back(half_computed(instance.trusted[j]));
    all[3].second.push_back(in.instances.front().trusted[j]);
    divisible = divisible && output.elements() > 1;
  }
  if (!divisible) all.erase(all.begin() + 2);
  return all;
}

// Each input handed through as the only output, where size and dtype allow it. The set holds the
// last instance's inputs.
void add_passed_through(const AdmissionInput& in,
                        std::vector<std::pair<std::string, Outputs>>& all) {
  if (in.signature.outputs.size() != 1) return;
  auto tensors = tensors_of(in.signature.inputs);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const task::Argument& output = in.signature.outputs[0];
    if (tensors[i]->dtype != output.dtype || tensors[i]->elements() != output.elements()) continue;
    auto bytes = in.set.tensor(i);
    all.push_back({"input " + tensors[i]->name + " passed through",
                   {std::vector<std::byte>(bytes.begin(), bytes.end())}});
  }
}

void offer(const AdmissionInput& in) {
  for (std::size_t i = 0; i < in.set.layout().count(); ++i)
    std::memcpy(in.oracle.input(i).data(), in.set.tensor(i).data(), in.set.layout().bytes(i));
  for (std::size_t i = 0; in.statics != nullptr && i < in.statics->layout().count(); ++i) {
    std::memcpy(in.oracle.static_tensor(i).data(), in.statics->tensor(i).data(),
                in.statics->layout().bytes(i));
  }
}

// Runs the reference on the set as it is now; empty when it fails there.
Result<Outputs> run(const AdmissionInput& in, Precision precision) {
  offer(in);
  KW_TRY(OracleAnswer answer, in.oracle.run({precision, 0, 0}));
  Outputs outputs;
  for (std::size_t j = 0; answer.ok && j < in.signature.outputs.size(); ++j) {
    auto bytes = in.oracle.output(j);
    outputs.emplace_back(bytes.begin(), bytes.end());
  }
  return outputs;
}

bool has_floating_output(const task::Signature& signature) {
  for (const task::Argument& output : signature.outputs) {
    if (task::is_floating(output.dtype)) return true;
  }
  return false;
}

Status find_inert(const AdmissionInput& in, AdmissionReport& report) {
  auto tensors = tensors_of(in.signature.inputs);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::vector<std::byte> before(in.set.tensor(i).begin(), in.set.tensor(i).end());
    KW_TRY(OracleAnswer changed, in.inputs.refill(in.set, i, in.seed + i + 1));
    if (!changed.ok) return {};
    bool same_input = std::memcmp(before.data(), in.set.tensor(i).data(), before.size()) == 0;
    KW_TRY(Outputs outputs, run(in, Precision::kDeclared));
    if (!same_input && !outputs.empty() && passes(in, outputs, in.instances.back()))
      report.inert.push_back(tensors[i]->name);
    std::memcpy(in.set.tensor(i).data(), before.data(), before.size());
  }
  return {};
}

}  // namespace

Result<AdmissionReport> run_admission_battery(const AdmissionInput& in) {
  AdmissionReport report;
  for (const Instance& instance : in.instances) {
    if (!passes(in, instance.trusted, instance)) {
      report.failure =
          "the reference at its declared precision disagrees with itself in float64 (NaN, or not "
          "deterministic?)";
      return report;
    }
  }
  auto candidates = trivial_candidates(in);
  add_passed_through(in, candidates);
  for (const auto& [name, outputs] : candidates) {
    if (passes(in, outputs, in.instances.back())) report.passing.push_back(name);
  }
  // Waived for exact and index outputs, whose computation in a lower dtype may be right.
  if (has_floating_output(in.signature)) {
    KW_TRY(Outputs lower, run(in, Precision::kLower));
    if (!lower.empty() && passes(in, lower, in.instances.back()))
      report.passing.emplace_back("a copy in the next lower dtype");
  }
  KW_TRY_STATUS(find_inert(in, report));
  return report;
}

}  // namespace kw::gym
