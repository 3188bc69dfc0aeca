// Filling input sets.
#include "gym/checker/input_source.h"

#include <algorithm>

#include "base/random.h"
#include "gym/inputs/fill.h"

namespace kw::gym {
namespace {

constexpr std::size_t kMaxFixed = 16ULL << 30U;

bool is_uneven(const task::InputPolicy& policy) {
  return policy.distribution == task::Distribution::kSpikes ||
         policy.distribution == task::Distribution::kWideRange;
}

}  // namespace

Result<InputSource> InputSource::of_definition(const task::Signature& signature,
                                               const std::vector<InputPlan>& plans,
                                               ReceivedFds& fds) {
  InputSource source;
  auto add = [&](std::vector<Tensor>& list, const task::Argument& argument) -> Status {
    Tensor tensor{{argument.dtype, argument.shape, {}}, {}, {}, {}};
    const auto plan = std::ranges::find(plans, argument.name, &InputPlan::name);
    if (plan == plans.end())
      return fail(ErrorCode::kInternal, "no plan for input {}", argument.name);
    tensor.spec.policy = plan->policy;
    tensor.ordinary = plan->ordinary;
    tensor.domain = plan->fixed ? task::InputDomain::kFixed : task::domain_of(plan->policy);
    if (is_uneven(tensor.ordinary)) tensor.ordinary = {};
    if (plan->fixed) {
      KW_TRY(os::UniqueFd fd, fds.take(*plan->fixed));
      KW_TRY(tensor.fixed, os::read_whole(fd.get(), kMaxFixed));
      if (tensor.fixed.size() != argument.bytes()) {
        return fail(ErrorCode::kInvalidArgument,
                    "input {}: the stored tensor has {} bytes, the workload needs {}",
                    argument.name, tensor.fixed.size(), argument.bytes());
      }
    }
    if (tensor.fixed.empty())
      KW_TRY_STATUS(check_distribution(tensor.spec.dtype, tensor.spec.shape, tensor.spec.policy));
    list.push_back(std::move(tensor));
    return {};
  };
  for (const auto* argument : tensors_of(signature.inputs))
    KW_TRY_STATUS(add(source.inputs_, *argument));
  for (const auto* argument : tensors_of(signature.statics))
    KW_TRY_STATUS(add(source.statics_, *argument));
  return source;
}

Result<InputSource> InputSource::of_oracle(const task::Signature& signature,
                                           const std::vector<InputPlan>& plans, Oracle& oracle) {
  InputSource source;
  source.oracle_ = &oracle;
  for (const auto* argument : tensors_of(signature.inputs))
    source.inputs_.push_back({{argument->dtype, argument->shape, {}}, {}, {}, {}});
  const auto tensors = tensors_of(signature.inputs);
  for (const InputPlan& plan : plans) {
    const auto named = std::ranges::find(tensors, plan.name, &task::Argument::name);
    if (named == tensors.end()) {
      return fail(ErrorCode::kInvalidArgument,
                  "the policy's inputs.{}: the reference has no such tensor", plan.name);
    }
    source.inputs_[static_cast<std::size_t>(named - tensors.begin())].domain =
        task::domain_of(plan.policy);
  }
  return source;
}

Status InputSource::fill_one(const Tensor& tensor, TensorMemory& memory, std::size_t i,
                             std::uint64_t seed) {
  if (!tensor.fixed.empty()) return memory.write(i, std::as_bytes(std::span(tensor.fixed)));
  return memory.fill(i, tensor.spec, seed);
}

Result<OracleAnswer> InputSource::fill(TensorMemory& set, std::uint64_t seed) {
  if (oracle_ != nullptr) {
    KW_TRY(OracleAnswer answer, oracle_->generate(seed));
    for (std::size_t i = 0; answer.ok && i < inputs_.size(); ++i)
      KW_TRY_STATUS(set.write(i, oracle_->input(i)));
    return answer;
  }
  Rng rng(seed);
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    KW_TRY_STATUS(fill_one(inputs_[i], set, i, rng.next()));
  return OracleAnswer{};
}

Result<OracleAnswer> InputSource::refill(TensorMemory& set, std::size_t tensor,
                                         std::uint64_t seed) {
  if (oracle_ != nullptr) {
    KW_TRY(OracleAnswer answer, oracle_->generate(seed));
    if (answer.ok) KW_TRY_STATUS(set.write(tensor, oracle_->input(tensor)));
    return answer;
  }
  KW_TRY_STATUS(fill_one(inputs_[tensor], set, tensor, seed));
  return OracleAnswer{};
}

bool InputSource::uneven() const {
  return std::ranges::any_of(
      inputs_, [](const Tensor& t) { return t.fixed.empty() && is_uneven(t.spec.policy); });
}

Status InputSource::fill_ordinary(TensorMemory& set, std::uint64_t seed) {
  Rng rng(seed);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Tensor tensor = inputs_[i];
    if (is_uneven(tensor.spec.policy)) tensor.spec.policy = tensor.ordinary;
    KW_TRY_STATUS(fill_one(tensor, set, i, rng.next()));
  }
  return {};
}

Status InputSource::fill_statics(TensorMemory& statics, std::uint64_t seed) {
  Rng rng(seed);
  for (std::size_t i = 0; i < statics_.size(); ++i)
    KW_TRY_STATUS(fill_one(statics_[i], statics, i, rng.next()));
  return {};
}

bool InputSource::is_possible(std::size_t i, HardKind kind) const {
  return kw::gym::is_possible(kind, inputs_[i].spec.dtype, inputs_[i].domain);
}

Status InputSource::harden(TensorMemory& set, const HardMix& mix, const std::vector<bool>& chosen,
                           std::uint64_t seed) const {
  Rng rng(seed);
  const std::uint64_t blocks = rng.next();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& tensor = inputs_[i];
    const std::uint64_t own = rng.next();
    const bool is_touched = chosen[i] && std::ranges::any_of(mix.kinds, [&](HardKind kind) {
                              return is_possible(i, kind);
                            });
    if (!is_touched) continue;
    const HardWindow window = hard_window(tensor.spec.shape, blocks);
    const std::size_t size = tensor::size_of(tensor.spec.dtype);
    KW_TRY_STATUS(
        set.edit(i, window.first * size, window.elements * size, [&](std::span<std::byte> values) {
          make_hard(tensor.spec.dtype, window.shape, tensor.domain, mix, {blocks, own}, values);
        }));
  }
  return {};
}

bool InputSource::fixed() const {
  return oracle_ == nullptr &&
         std::ranges::all_of(inputs_, [](const Tensor& tensor) { return !tensor.fixed.empty(); });
}

}  // namespace kw::gym
