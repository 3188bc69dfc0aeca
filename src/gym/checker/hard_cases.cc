// Draws a workload's hard inputs and asks the reference for their outputs.
#include "gym/checker/hard_cases.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "base/text.h"

namespace kw::gym {
namespace {

constexpr int kMaxUses = 32;
constexpr std::size_t kMaxMixedAxes = 3;
constexpr std::int64_t kReducedElements = 64;  // of outputs that everything is reduced to
constexpr std::size_t kKnownMemory = 256ULL << 20U;
constexpr std::size_t kWithMixes = 2;  // calls beside the mixes where not all cases are called

bool contains(const std::vector<HardKind>& kinds, HardKind kind) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

}  // namespace

bool HardCase::is_uneven() const {
  return std::ranges::any_of(mix.kinds, [](HardKind kind) { return kw::gym::is_uneven(kind); });
}

std::string HardCase::name() const {
  std::vector<std::string> names;
  for (HardKind kind : mix.kinds) names.emplace_back(to_string(kind));
  std::string all = join(names, ", ");
  return mix.kinds.size() == 1 ? all : fmt::format("{} along axis {}", all, mix.axis);
}

HardCases::HardCases(const task::Signature& signature, const InputSource& inputs,
                     const OutputChecker& checker, SessionSeeds& seeds)
    : signature_(&signature), inputs_(&inputs), checker_(&checker), seeds_(&seeds) {
  std::vector<HardKind> even, uneven;
  for (HardKind kind : kAllHardKinds) {
    if (is_possible(kind)) (kw::gym::is_uneven(kind) ? uneven : even).push_back(kind);
  }
  // Sums over all kinds would be of the largest alone, so those that dominate have a mix of their
  // own.
  for (std::size_t axis : axes()) {
    for (const auto* kinds : {&even, &uneven})
      if (kinds->size() > 1) add({*kinds, axis});
    if (first_mixes_ == 0) first_mixes_ = cases_.size();
  }
  mixes_ = cases_.size();
  std::vector<HardKind> alone = even;
  alone.insert(alone.end(), uneven.begin(), uneven.end());
  Rng rng(seeds.next());
  for (std::size_t i = alone.size(); i > 1; --i) std::swap(alone[i - 1], alone[rng.below(i)]);
  for (HardKind kind : alone) add({{kind}, 0});
  reduces_all_ = std::ranges::all_of(signature.outputs, [](const task::Argument& output) {
    return output.elements() < kReducedElements;
  });
}

bool HardCases::is_possible(HardKind kind) const {
  if (makes_ties(kind) && checker_->is_decided_by_ties()) return false;
  for (std::size_t i = 0; i < inputs_->count(); ++i)
    if (inputs_->is_possible(i, kind)) return true;
  return false;
}

// Those of the largest input that may be hard: the first, the last, and one between.
std::vector<std::size_t> HardCases::axes() const {
  const auto tensors = tensors_of(signature_->inputs);
  const task::Argument* largest = nullptr;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool may = std::ranges::any_of(
        kAllHardKinds, [&](HardKind kind) { return inputs_->is_possible(i, kind); });
    if (may && (largest == nullptr || tensors[i]->elements() > largest->elements()))
      largest = tensors[i];
  }
  std::vector<std::size_t> out;
  if (largest == nullptr) return out;
  for (std::size_t axis = 0; axis < largest->shape.size(); ++axis)
    if (largest->shape[axis] > 1) out.push_back(axis);
  if (out.size() > kMaxMixedAxes) out = {out[0], out[1], out.back()};
  return out;
}

void HardCases::add(HardMix mix) {
  HardCase hard;
  hard.mix = std::move(mix);
  hard.seed = seeds_->next();
  Rng rng(hard.seed);
  std::vector<std::size_t> possible;
  hard.inputs.resize(inputs_->count());
  for (std::size_t i = 0; i < hard.inputs.size(); ++i) {
    const bool may = std::ranges::any_of(
        hard.mix.kinds, [&](HardKind kind) { return inputs_->is_possible(i, kind); });
    if (may) possible.push_back(i);
    // A case of one kind leaves some inputs ordinary, so that no input hides another's.
    hard.inputs[i] = may && (hard.mix.kinds.size() > 1 || rng.below(2) == 0);
  }
  if (std::ranges::find(hard.inputs, true) == hard.inputs.end())
    hard.inputs[possible[rng.below(possible.size())]] = true;
  cases_.push_back(std::move(hard));
}

std::vector<std::size_t> HardCases::choose(std::size_t most, int process_pairs, int pair) {
  std::vector<std::size_t> all, out;
  for (std::size_t i = 0; i < cases_.size(); ++i)
    if (cases_[i].left_out.empty()) all.push_back(i);
  const auto share = static_cast<std::size_t>(std::max(1, process_pairs));
  const auto mixes = [&](std::size_t end) {
    return reduces_all_ ? 0 : std::ranges::count_if(all, [&](std::size_t i) { return i < end; });
  };
  // The mixes along the first axis show all kinds where results are of rows.
  std::size_t certain = mixes(first_mixes_);
  if (share > 1) most = std::max<std::size_t>(1, std::min(most, all.size()) / share);
  if (all.size() <= most) {
    out = all;
  } else {
    if (share == 1 && most >= mixes(mixes_) + kWithMixes) certain = mixes(mixes_);
    out.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(certain));
    const std::vector<std::size_t> rest(all.begin() + static_cast<std::ptrdiff_t>(certain),
                                        all.end());
    if (share > 1 && certain > 0) {
      // Half of the pairs have other cases than these mixes where each has one alone.
      const auto number = static_cast<std::size_t>(pair);
      const bool has_mix = most > 1 || rest.empty() || number % (2 * certain) < certain;
      out = has_mix ? std::vector{out[number % certain]} : std::vector<std::size_t>();
    }
    while (out.size() < most && !rest.empty()) out.push_back(rest[next_++ % rest.size()]);
  }
  for (std::size_t i : out) {
    HardCase& hard = cases_[i];
    if (hard.uses++ < kMaxUses) continue;
    hard.uses = 1;
    renew(hard);
  }
  return out;
}

void HardCases::renew(HardCase& hard) {
  hard.seed = seeds_->next();
  hard.known.reset();
  hard.kept.reset();
}

std::vector<std::size_t> HardCases::certain() const {
  std::vector<std::size_t> out(reduces_all_ || mixes_ == 0 ? cases_.size() : first_mixes_);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

Result<OracleAnswer> HardCases::fill(HardCase& hard, InputSource& inputs, TensorMemory& set) {
  if (hard.kept != nullptr) {
    KW_TRY_STATUS(set.copy(*hard.kept));
    return OracleAnswer{};
  }
  KW_TRY(OracleAnswer answer, inputs.fill(set, hard.seed));
  if (!answer.ok) return answer;
  KW_TRY_STATUS(inputs.harden(set, hard.mix, hard.inputs, hard.seed));
  KW_TRY_STATUS(keep(hard, set));
  return answer;
}

Status HardCases::keep(HardCase& hard, const TensorMemory& set) {
  std::uint64_t bytes = set.layout().total_bytes();
  for (const HardCase& other : cases_)
    if (other.kept != nullptr) bytes += other.kept->layout().total_bytes();
  if (allocator_ == nullptr || bytes > most_kept_) return {};
  KW_TRY(hard.kept,
         allocator_->allocate("hard", Layout::for_reading(tensors_of(signature_->inputs)), false));
  return hard.kept->copy(set);
}

Result<std::string> HardCases::learn(const HardCase& hard, ReferenceRuns& reference,
                                     const TensorMemory& set, KnownOutputs& known) const {
  KW_TRY(OracleAnswer answer, reference.run(set, known.instance));
  if (!answer.ok) return "the reference fails: " + answer.text;
  auto comparison = checker_->compare_with(known.instance, hard.is_uneven());
  if (!comparison && comparison.error().code() == ErrorCode::kInvalidArgument)
    return comparison.error().message();
  if (!comparison) return tl::unexpected(std::move(comparison).error());
  known.comparison = std::make_unique<OracleComparison>(std::move(*comparison));
  for (std::size_t j = 0; j < signature_->outputs.size(); ++j) {
    if (!known.comparison->check(j, known.instance.trusted[j]).passed)
      return std::string("the reference at its declared precision is beyond its error budget");
  }
  return std::string();
}

Result<bool> HardCases::know(HardCase& hard, InputSource& inputs, ReferenceRuns& reference,
                             TensorMemory& set) {
  if (hard.known != nullptr) return true;
  auto known = std::make_unique<KnownOutputs>();
  KW_TRY(std::string why, learn(hard, reference, set, *known));
  if (why.empty()) {
    hard.known = std::move(known);
    return true;
  }
  const HardMix mix = hard.mix;
  if (mix.kinds.size() > 1) KW_TRY_STATUS(find_unfit_kinds(hard, inputs, reference, set));
  if (hard.left_out.empty() && hard.mix == mix) hard.left_out = std::move(why);
  return false;
}

Status HardCases::find_unfit_kinds(const HardCase& hard, InputSource& inputs,
                                   ReferenceRuns& reference, TensorMemory& set) {
  const std::vector<HardKind> kinds = hard.mix.kinds;
  for (HardKind kind : kinds) {
    HardCase alone;
    alone.mix = {{kind}, 0};
    alone.inputs = hard.inputs;
    alone.seed = seeds_->next();
    KW_TRY(OracleAnswer answer, fill(alone, inputs, set));
    if (!answer.ok)
      return fail(ErrorCode::kUnavailable, "the inputs cannot be made: {}", answer.text);
    KnownOutputs known;
    KW_TRY(std::string why, learn(alone, reference, set, known));
    if (!why.empty()) leave_out(kind, why);
  }
  return {};
}

void HardCases::leave_out(HardKind kind, const std::string& why) {
  for (HardCase& hard : cases_) {
    if (!contains(hard.mix.kinds, kind)) continue;
    if (hard.mix.kinds.size() == 1) {
      hard.left_out = why;
      continue;
    }
    std::erase(hard.mix.kinds, kind);
    hard.known.reset();
    hard.kept.reset();
    hard.version += 1;
  }
}

void HardCases::save_memory() {
  std::size_t bytes = 0;
  for (HardCase& hard : cases_) {
    if (hard.known == nullptr) continue;
    bytes += hard.known->instance.bytes();
    if (bytes > kKnownMemory) hard.known.reset();
  }
}

std::vector<task::HardInputs> HardCases::report(const std::vector<std::int64_t>& calls) const {
  std::vector<task::HardInputs> out;
  for (std::size_t i = 0; i < cases_.size(); ++i)
    out.push_back({cases_[i].name(), i < calls.size() ? calls[i] : 0, cases_[i].left_out});
  return out;
}

}  // namespace kw::gym
