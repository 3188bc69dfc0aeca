// Builds each trivial candidate output by output and asks the check.
#include "gym/correctness/battery.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "gym/inputs/poison.h"
#include "tensor/half.h"

namespace kw::gym {
namespace {

using Bytes = std::vector<std::byte>;
using tensor::DType;

// Returns no bytes where this candidate does not exist for the output.
using Make = std::function<Bytes(const BatteryOutput&)>;

Bytes copy(const TensorView& view) {
  return {view.bytes.begin(), view.bytes.end()};
}

Bytes filled(const TensorView& like, int value) {
  Bytes bytes(like.bytes.size());
  std::size_t size = tensor::size_of(like.dtype);
  if (tensor::is_floating(like.dtype)) {
    std::vector<float> values(like.elements(), static_cast<float>(value));
    store(like.dtype, values, 0, bytes);
  } else {
    auto whole = static_cast<std::int64_t>(value);
    for (std::size_t i = 0; i < bytes.size(); i += size)
      std::memcpy(bytes.data() + i, &whole, size);
  }
  return bytes;
}

Bytes half(const TensorView& right, bool poisoned) {
  if (right.elements() < 2) return {};
  Bytes bytes = copy(right);
  std::size_t done = right.elements() / 2 * tensor::size_of(right.dtype);
  std::span<std::byte> rest = std::span(bytes).subspan(done);
  std::ranges::fill(rest, std::byte{0});
  if (poisoned) poison(right.dtype, 1, rest);
  return bytes;
}

Bytes row_means(const TensorView& right) {
  Slices slices = slices_of(right.shape);
  if (slices.columns < 2 || !tensor::is_floating(right.dtype)) return {};
  Bytes bytes(right.bytes.size());
  std::vector<double> row(slices.columns);
  std::vector<float> means(slices.columns);
  for (std::size_t r = 0; r < slices.rows; ++r) {
    load(right.dtype, right.bytes, r * slices.columns, row);
    double sum = 0;
    for (double v : row) sum += v;
    std::ranges::fill(means, static_cast<float>(sum / static_cast<double>(slices.columns)));
    store(right.dtype, means, r * slices.columns, bytes);
  }
  return bytes;
}

void try_candidate(const std::string& name, const Make& make,
                   std::span<const BatteryOutput> outputs, const Accepts& accepts,
                   BatteryReport& report) {
  std::size_t made = 0, accepted = 0;
  std::vector<std::string> weak;
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    Bytes bytes = make(outputs[j]);
    if (bytes.empty()) continue;
    made += 1;
    TensorView view{outputs[j].trusted.dtype, outputs[j].trusted.shape, bytes};
    if (!accepts(j, view)) continue;
    accepted += 1;
    weak.push_back(fmt::format("{} as output {}", name, j));
  }
  if (made > 0) report.tried.push_back(name);
  if (made == 0 || accepted == 0) return;
  if (accepted == made) {
    report.wrongly_passing.push_back(name);
  } else {
    report.weak_outputs.insert(report.weak_outputs.end(), weak.begin(), weak.end());
  }
}

}  // namespace

BatteryReport run_battery(std::span<const BatteryOutput> outputs,
                          std::span<const TensorView> inputs, const Accepts& accepts) {
  BatteryReport report;
  for (std::size_t j = 0; j < outputs.size(); ++j)
    report.reference_passes = report.reference_passes && accepts(j, outputs[j].trusted);
  auto attempt = [&](const std::string& name, const Make& make) {
    try_candidate(name, make, outputs, accepts, report);
  };
  attempt("zeros", [](const BatteryOutput& o) { return filled(o.trusted, 0); });
  attempt("ones", [](const BatteryOutput& o) { return filled(o.trusted, 1); });
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorView& input = inputs[i];
    attempt(fmt::format("input {} passed through", i), [&input](const BatteryOutput& o) {
      bool fits = input.dtype == o.trusted.dtype && input.elements() == o.trusted.elements();
      return fits ? copy(input) : Bytes{};
    });
  }
  attempt("another seed's output", [](const BatteryOutput& o) { return copy(o.other_seed); });
  attempt("second half zero", [](const BatteryOutput& o) { return half(o.trusted, false); });
  attempt("second half not written", [](const BatteryOutput& o) { return half(o.trusted, true); });
  attempt("every row its mean", [](const BatteryOutput& o) { return row_means(o.trusted); });
  attempt("computed in lower precision", [](const BatteryOutput& o) { return copy(o.lower); });
  return report;
}

bool has_influence(std::span<const TensorView> changed_outputs, const Accepts& accepts) {
  for (std::size_t j = 0; j < changed_outputs.size(); ++j) {
    if (!accepts(j, changed_outputs[j])) return true;
  }
  return false;
}

}  // namespace kw::gym
