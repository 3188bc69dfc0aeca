// Learning budgets and comparing.
#include "gym/checker/output_checker.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "gym/inputs/half.h"

namespace kw::gym {
namespace {

// gym_contract 19. Budget of an element: max(4 x trusted error, 4 eps |y|, 8 x response to one eps,
// eps x RMS) + a sequential sum's error.
constexpr double kTrustedFactor = 4;
constexpr double kRelativeFactor = 4;
constexpr double kResponseFactor = 8;
constexpr double kMaxTerms = 65536;
// A sequential float32 sum of L terms of one sign errs by about 0.17 sqrt(L) eps |sum| (one sigma),
// of mixed signs by 0.3 sqrt(L) eps times the root of the sum of squares, which the response to one
// eps measures.
constexpr double kSameSignFactor = 0.7;
constexpr double kMixedSignFactor = 1.2;
constexpr double kFloat32Epsilon = 0x1p-23;
constexpr double kTiny = 1e-300;
constexpr std::int64_t kWellSeen = 64;

std::vector<double> as_doubles(task::DType dtype, std::span<const std::byte> bytes) {
  std::vector<double> values(bytes.size() / task::size_of(dtype));
  load(dtype, bytes, 0, values);
  return values;
}

std::span<const double> float64_span(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const double*>(bytes.data()), bytes.size() / 8};
}

std::int64_t integer_at(task::DType dtype, std::span<const std::byte> bytes, std::size_t i) {
  auto read = [&]<typename T>(T) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return static_cast<std::int64_t>(value);
  };
  switch (dtype) {
    case task::DType::kInt64:
      return read(std::int64_t{});
    case task::DType::kInt32:
      return read(std::int32_t{});
    case task::DType::kInt16:
      return read(std::int16_t{});
    case task::DType::kInt8:
      return read(std::int8_t{});
    default:
      return read(std::uint8_t{});
  }
}

double rms_of(std::span<const double> row) {
  double sum = 0;
  std::size_t finite = 0;
  for (double value : row) {
    if (!std::isfinite(value)) continue;
    sum += value * value;
    ++finite;
  }
  return finite == 0 ? 0 : std::sqrt(sum / static_cast<double>(finite));
}

std::string share_word(double share) {
  if (share >= 0.999) return "every element differs";
  if (share >= 0.5) return "most elements differ";
  if (share >= 0.05) return "many elements differ";
  return "some elements differ";
}

}  // namespace

int ErrorProfile::bin(double share_of_rms) {
  if (!(share_of_rms > 0)) return 0;
  return std::clamp(static_cast<int>(std::floor(std::log2(share_of_rms))) + 36, 0, kBins - 1);
}

ErrorProfile ErrorProfile::completed() const {
  ErrorProfile full = *this;
  for (auto* values : {&full.trusted, &full.response}) {
    for (std::size_t b = kBins - 1; b-- > 0;) {
      if (b == 0 || seen[b] < kWellSeen) (*values)[b] = std::max((*values)[b], (*values)[b + 1]);
    }
    for (std::size_t b = 1; b < kBins; ++b) {
      if (seen[b] < kWellSeen) (*values)[b] = std::max((*values)[b], 2 * (*values)[b - 1]);
    }
  }
  return full;
}

OutputChecker::OutputChecker(const task::Signature& signature, const Json& policies)
    : inputs_(tensors_of(signature.inputs)) {
  std::int64_t widest = 1;
  for (const auto* list : {&signature.inputs, &signature.statics}) {
    for (const task::Argument& argument : *list) {
      if (argument.role == task::Role::kScalar) continue;
      if (task::is_floating(argument.dtype))
        input_epsilon_ = std::max(input_epsilon_, task::epsilon_of(argument.dtype));
      widest = std::max(widest, argument.shape.empty() ? 1
                                                       : *std::max_element(argument.shape.begin(),
                                                                           argument.shape.end()));
    }
  }
  for (const task::Argument& argument : signature.outputs) {
    Plan plan;
    plan.argument = &argument;
    if (policies.contains(argument.name)) {
      const Json& policy = policies[argument.name];
      plan.policy.check = static_cast<task::CheckKind>(policy.value("check", 0));
      plan.policy.of = policy.value("of", "");
      plan.policy.axis = policy.value("axis", std::int64_t{-1});
      plan.policy.largest = policy.value("largest", true);
      plan.policy.reduction_length = policy.value("reduction_length", std::int64_t{0});
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i]->name == plan.policy.of) plan.of_tensor = static_cast<int>(i);
    }
    plan.row = static_cast<std::size_t>(argument.shape.size() < 2 ? argument.elements()
                                                                  : argument.shape.back());
    plan.eps = task::epsilon_of(argument.dtype);
    auto terms = static_cast<double>(plan.policy.reduction_length > 0 ? plan.policy.reduction_length
                                                                      : widest);
    plan.sequential = std::sqrt(std::min(terms, kMaxTerms));
    plans_.push_back(std::move(plan));
  }
}

bool OutputChecker::needs_input(std::size_t tensor) const {
  return std::any_of(plans_.begin(), plans_.end(),
                     [&](const Plan& plan) { return plan.of_tensor == static_cast<int>(tensor); });
}

void OutputChecker::learn(const Instance& instance) {
  for (std::size_t j = 0; j < plans_.size(); ++j) {
    Plan& plan = plans_[j];
    if (!task::is_floating(plan.argument->dtype)) continue;
    auto exact = float64_span(instance.exact[j]);
    auto trusted = as_doubles(plan.argument->dtype, instance.trusted[j]);
    auto perturbed = instance.perturbed.empty() ? exact : float64_span(instance.perturbed[j]);
    for (std::size_t start = 0; start < exact.size(); start += plan.row) {
      auto row = exact.subspan(start, std::min(plan.row, exact.size() - start));
      double rms = std::max(rms_of(row), kTiny);
      for (std::size_t i = 0; i < row.size(); ++i) {
        double error = std::abs(trusted[start + i] - row[i]) / rms;
        double response = std::abs(perturbed[start + i] - row[i]) / rms;
        if (!std::isfinite(error) || !std::isfinite(response)) continue;
        auto b = static_cast<std::size_t>(ErrorProfile::bin(std::abs(row[i]) / rms));
        plan.measured.trusted[b] = std::max(plan.measured.trusted[b], error);
        plan.measured.response[b] = std::max(plan.measured.response[b], response);
        ++plan.measured.seen[b];
      }
    }
    plan.profile = plan.measured.completed();
  }
}

double OutputChecker::budget(const Plan& plan, double magnitude, double rms, double slack) const {
  auto b = static_cast<std::size_t>(ErrorProfile::bin(magnitude / std::max(rms, kTiny)));
  double trusted = plan.profile.trusted[b] * rms;
  double response = plan.profile.response[b] * rms;
  // Accumulation happens in float32 at least, whatever the dtype of the tensors.
  double eps32 = std::min(plan.eps, kFloat32Epsilon);
  double response32 = input_epsilon_ > 0 ? response * eps32 / input_epsilon_ : 0;
  double sequential =
      plan.sequential * (kSameSignFactor * eps32 * magnitude + kMixedSignFactor * response32);
  double base = std::max({kTrustedFactor * trusted, kRelativeFactor * plan.eps * magnitude,
                          kResponseFactor * response, plan.eps * rms});
  return slack * (base + sequential) + (slack > 1 ? trusted : 0);
}

Comparison OutputChecker::compare_floats(const Plan& plan, std::span<const std::byte> ours,
                                         std::span<const double> expected, double slack) const {
  Comparison result;
  std::vector<double> row(plan.row);
  std::size_t wrong = 0;
  std::size_t nans = 0;
  std::size_t zeros = 0;
  for (std::size_t start = 0; start < expected.size(); start += plan.row) {
    auto want = expected.subspan(start, std::min(plan.row, expected.size() - start));
    auto got = std::span(row).first(want.size());
    load(plan.argument->dtype, ours, start, got);
    double rms = rms_of(want);
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (got[i] == want[i]) continue;  // infinities of one sign too
      double difference = std::abs(got[i] - want[i]);
      double share = difference / std::max(budget(plan, std::abs(want[i]), rms, slack), kTiny);
      nans += std::isnan(got[i]) ? 1 : 0;
      zeros += got[i] == 0 ? 1 : 0;
      if (!(share <= 1)) ++wrong;
      result.max_of_budget = std::max(result.max_of_budget, std::isfinite(share) ? share : 1e30);
      if (!std::isfinite(difference)) continue;
      result.max_absolute = std::max(result.max_absolute, difference);
      if (want[i] != 0)
        result.max_relative = std::max(result.max_relative, difference / std::abs(want[i]));
    }
  }
  result.ok = wrong == 0;
  if (result.ok) return result;
  auto total = static_cast<double>(std::max<std::size_t>(1, expected.size()));
  result.summary = share_word(static_cast<double>(wrong) / total);
  if (nans > 0)
    result.summary += nans == wrong ? ", all of them NaN (not written?)" : ", NaN among them";
  else if (zeros == wrong)
    result.summary += ", all of them zero";
  else if (result.max_of_budget < 100)
    result.summary +=
        ", by little: precision lower than float32 throughout, or a sum in an unfortunate order?";
  return result;
}

Comparison OutputChecker::compare_exact(const Plan& plan, std::span<const std::byte> ours,
                                        std::span<const std::byte> theirs,
                                        task::DType theirs_dtype) const {
  Comparison result;
  auto count = static_cast<std::size_t>(plan.argument->elements());
  std::size_t wrong = 0;
  bool not_boolean = false;
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t got = integer_at(plan.argument->dtype, ours, i);
    std::int64_t want = integer_at(theirs_dtype, theirs, i);
    if (plan.argument->dtype == task::DType::kBool && got != 0 && got != 1) not_boolean = true;
    if (got == want) continue;
    ++wrong;
    double difference = std::abs(static_cast<double>(got) - static_cast<double>(want));
    result.max_absolute = std::max(result.max_absolute, difference);
    result.max_relative = std::max(result.max_relative,
                                   difference / std::max(1.0, std::abs(static_cast<double>(want))));
  }
  if (wrong == 0) return result;
  result.ok = false;
  result.max_of_budget = 1e30;
  result.summary =
      share_word(static_cast<double>(wrong) / static_cast<double>(std::max<std::size_t>(1, count)));
  if (not_boolean) result.summary += "; a boolean is neither 0 nor 1 (not written?)";
  return result;
}

// Indices into `source`: right when they point at values equal to the best ones (ties are free),
// each at most once a row.
Comparison OutputChecker::compare_indices(const Plan& plan, std::span<const std::byte> ours,
                                          std::span<const std::byte> theirs,
                                          task::DType theirs_dtype,
                                          std::span<const std::byte> source) const {
  const task::Argument& input = *inputs_[static_cast<std::size_t>(plan.of_tensor)];
  auto rank = static_cast<std::int64_t>(input.shape.size());
  auto axis =
      static_cast<std::size_t>(plan.policy.axis < 0 ? plan.policy.axis + rank : plan.policy.axis);
  auto length = static_cast<std::size_t>(input.shape[axis]);
  std::size_t inner = 1;
  for (std::size_t d = axis + 1; d < input.shape.size(); ++d)
    inner *= static_cast<std::size_t>(input.shape[d]);
  std::size_t outer = static_cast<std::size_t>(input.elements()) / (length * inner);
  std::size_t picks =
      static_cast<std::size_t>(plan.argument->elements()) / std::max<std::size_t>(1, outer * inner);
  auto values = as_doubles(input.dtype, source);
  std::size_t wrong = 0;
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t n = 0; n < inner; ++n) {
      std::vector<std::int64_t> seen;
      for (std::size_t k = 0; k < picks; ++k) {
        std::size_t at = (o * picks + k) * inner + n;
        std::int64_t got = integer_at(plan.argument->dtype, ours, at);
        std::int64_t want = integer_at(theirs_dtype, theirs, at);
        bool valid = got >= 0 && got < static_cast<std::int64_t>(length) &&
                     std::find(seen.begin(), seen.end(), got) == seen.end();
        auto value = [&](std::int64_t index) {
          return values[(o * length + static_cast<std::size_t>(index)) * inner + n];
        };
        bool as_good = valid && (got == want || value(got) == value(want) ||
                                 (std::isnan(value(got)) && std::isnan(value(want))));
        if (!as_good) ++wrong;
        seen.push_back(got);
      }
    }
  }
  Comparison result;
  if (wrong == 0) return result;
  result.ok = false;
  result.max_of_budget = 1e30;
  result.max_absolute = 1;
  result.summary =
      share_word(static_cast<double>(wrong) / static_cast<double>(plan.argument->elements())) +
      " (indices that point at no best value)";
  return result;
}

Comparison OutputChecker::compare_with_oracle(std::size_t output, std::span<const std::byte> ours,
                                              const Instance& instance) const {
  const Plan& plan = plans_[output];
  if (plan.of_tensor >= 0)
    return compare_indices(plan, ours, instance.exact[output], task::DType::kInt64,
                           instance.inputs[static_cast<std::size_t>(plan.of_tensor)]);
  if (!task::is_floating(plan.argument->dtype))
    return compare_exact(plan, ours, instance.exact[output], task::DType::kInt64);
  return compare_floats(plan, ours, float64_span(instance.exact[output]), 1);
}

Comparison OutputChecker::compare_with_baseline(std::size_t output, std::span<const std::byte> ours,
                                                std::span<const std::byte> theirs,
                                                const SharedTensors& inputs) const {
  constexpr double kBothSides = 1.25;  // the baseline's own error comes on top
  const Plan& plan = plans_[output];
  task::DType dtype = plan.argument->dtype;
  if (plan.of_tensor >= 0)
    return compare_indices(plan, ours, theirs, dtype,
                           inputs.tensor(static_cast<std::size_t>(plan.of_tensor)));
  if (std::memcmp(ours.data(), theirs.data(), ours.size()) == 0 && dtype != task::DType::kBool)
    return {};
  if (!task::is_floating(dtype)) return compare_exact(plan, ours, theirs, dtype);
  return compare_floats(plan, ours, as_doubles(dtype, theirs), kBothSides);
}

std::vector<std::byte> OutputChecker::as_declared(std::size_t output,
                                                  std::span<const std::byte> exact) const {
  const task::Argument& argument = *plans_[output].argument;
  std::vector<std::byte> bytes(argument.bytes());
  auto count = static_cast<std::size_t>(argument.elements());
  if (argument.dtype == task::DType::kFloat64) {
    std::memcpy(bytes.data(), exact.data(), bytes.size());
  } else if (task::is_floating(argument.dtype)) {
    auto wide = float64_span(exact);
    std::vector<float> narrow(wide.begin(), wide.end());
    store(argument.dtype, narrow, 0, bytes);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t value = integer_at(task::DType::kInt64, exact, i);
      std::memcpy(bytes.data() + i * task::size_of(argument.dtype), &value,
                  task::size_of(argument.dtype));
    }
  }
  return bytes;
}

}  // namespace kw::gym
