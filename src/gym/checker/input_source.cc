// Filling input sets.
#include "gym/checker/input_source.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/random.h"
#include "gym/inputs/fill.h"

namespace kw::gym {
namespace {

constexpr std::size_t kMaxFixed = 16ULL << 30U;

void copy_into(std::span<std::byte> to, std::span<const std::byte> from) {
  if (!to.empty()) std::memcpy(to.data(), from.data(), std::min(to.size(), from.size()));
}

task::InputPolicy input_policy_of(const Json& plan) {
  task::InputPolicy policy;
  policy.distribution = static_cast<task::Distribution>(plan.value("distribution", 0));
  if (plan.contains("low")) policy.low = plan["low"].get<double>();
  if (plan.contains("high")) policy.high = plan["high"].get<double>();
  return policy;
}

bool is_uneven(const task::InputPolicy& policy) {
  return policy.distribution == task::Distribution::kSpikes ||
         policy.distribution == task::Distribution::kWideRange;
}

}  // namespace

Result<InputSource> InputSource::of_definition(const task::Signature& signature, const Json& plans,
                                               ReceivedFds& fds) {
  InputSource source;
  auto plan_of = [&](const std::string& name) -> const Json* {
    for (const Json& plan : plans) {
      if (plan.value("name", "") == name) return &plan;
    }
    return nullptr;
  };
  auto add = [&](std::vector<Tensor>& list, const task::Argument& argument) -> Status {
    Tensor tensor{argument.dtype, argument.shape, {}, {}, {}};
    const Json* plan = plan_of(argument.name);
    if (plan == nullptr) return fail(ErrorCode::kInternal, "no plan for input {}", argument.name);
    tensor.policy = input_policy_of(*plan);
    tensor.ordinary =
        plan->contains("ordinary") ? input_policy_of((*plan)["ordinary"]) : tensor.policy;
    if (is_uneven(tensor.ordinary)) tensor.ordinary = {};
    if (plan->contains("fixed")) {
      KW_TRY(os::UniqueFd fd, fds.take((*plan)["fixed"].get<std::string>()));
      KW_TRY(tensor.fixed, os::read_to_end(fd.get(), kMaxFixed));
      if (tensor.fixed.size() != argument.bytes()) {
        return fail(ErrorCode::kInvalidArgument,
                    "input {}: the stored tensor has {} bytes, the workload needs {}",
                    argument.name, tensor.fixed.size(), argument.bytes());
      }
    }
    if (tensor.fixed.empty())
      KW_TRY_STATUS(check_distribution(tensor.dtype, tensor.shape, tensor.policy));
    list.push_back(std::move(tensor));
    return {};
  };
  for (const auto* argument : tensors_of(signature.inputs))
    KW_TRY_STATUS(add(source.inputs_, *argument));
  for (const auto* argument : tensors_of(signature.statics))
    KW_TRY_STATUS(add(source.statics_, *argument));
  return source;
}

InputSource InputSource::of_module(const task::Signature& signature, OracleClient& oracle) {
  InputSource source;
  source.oracle_ = &oracle;
  for (const auto* argument : tensors_of(signature.inputs))
    source.inputs_.push_back({argument->dtype, argument->shape, {}, {}, {}});
  return source;
}

void InputSource::fill_one(const Tensor& tensor, std::span<std::byte> out, std::uint64_t seed) {
  if (!tensor.fixed.empty()) {
    copy_into(out, std::as_bytes(std::span(tensor.fixed)));
  } else {
    KW_CHECK(fill_input(tensor.dtype, tensor.shape, tensor.policy, seed,
                        out));  // checked when the plan was read
  }
}

Result<OracleAnswer> InputSource::fill(SharedTensors& set, std::uint64_t seed) {
  if (oracle_ != nullptr) {
    KW_TRY(OracleAnswer answer, oracle_->generate(seed));
    for (std::size_t i = 0; answer.ok && i < inputs_.size(); ++i)
      copy_into(set.tensor(i), oracle_->input(i));
    return answer;
  }
  Rng rng(seed);
  for (std::size_t i = 0; i < inputs_.size(); ++i) fill_one(inputs_[i], set.tensor(i), rng.next());
  return OracleAnswer{};
}

bool InputSource::uneven() const {
  return std::ranges::any_of(
      inputs_, [](const Tensor& t) { return t.fixed.empty() && is_uneven(t.policy); });
}

void InputSource::fill_ordinary(SharedTensors& set, std::uint64_t seed) {
  Rng rng(seed);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Tensor tensor = inputs_[i];
    if (is_uneven(tensor.policy)) tensor.policy = tensor.ordinary;
    fill_one(tensor, set.tensor(i), rng.next());
  }
}

void InputSource::fill_statics(SharedTensors& statics, std::uint64_t seed) {
  Rng rng(seed);
  for (std::size_t i = 0; i < statics_.size(); ++i)
    fill_one(statics_[i], statics.tensor(i), rng.next());
}

bool InputSource::fixed() const {
  return oracle_ == nullptr &&
         std::ranges::all_of(inputs_, [](const Tensor& tensor) { return !tensor.fixed.empty(); });
}

Result<OracleAnswer> InputSource::refill(SharedTensors& set, std::size_t tensor,
                                         std::uint64_t seed) {
  if (oracle_ != nullptr) {
    KW_TRY(OracleAnswer answer, oracle_->generate(seed));
    if (answer.ok) copy_into(set.tensor(tensor), oracle_->input(tensor));
    return answer;
  }
  fill_one(inputs_[tensor], set.tensor(tensor), seed);
  return OracleAnswer{};
}

}  // namespace kw::gym
