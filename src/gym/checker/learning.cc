#include "gym/checker/learning.h"

namespace kw::gym {
namespace {

constexpr int kLearnInstances = 3;  // gym_contract 19: at least three seeds

// Spikes hide how many terms an element is a sum of.
Status learn_terms(const LearningInput& in) {
  if (!in.inputs.uneven()) return {};
  KW_TRY_STATUS(in.inputs.fill_ordinary(in.scratch, in.seeds.next()));
  Instance ordinary;
  KW_TRY(OracleAnswer answer, in.reference.run(in.scratch, ordinary, {.count = 2}));
  if (answer.ok && in.reference.exact_precision() != Precision::kSecond)
    in.checker.learn_terms(ordinary);
  return {};
}

}  // namespace

Result<OracleAnswer> learn_from(InputSource& inputs, ReferenceRuns& reference,
                                TensorMemory& scratch, std::uint64_t seed, int perturbed_runs,
                                Instance& instance) {
  KW_TRY(OracleAnswer answer, inputs.fill(scratch, seed));
  if (!answer.ok) return answer;
  return reference.run(scratch, instance, {.count = perturbed_runs});
}

Result<OracleAnswer> learn(const LearningInput& in, LearnedInstances& learned, bool& unfit) {
  KW_TRY_STATUS(learn_terms(in));
  for (int i = 0; i < kLearnInstances; ++i) {
    learned.seeds.push_back(in.seeds.next());
    learned.instances.emplace_back();
    KW_TRY(OracleAnswer answer,
           learn_from(in.inputs, in.reference, in.scratch, learned.seeds.back(), i == 0 ? 2 : 1,
                      learned.instances.back()));
    if (!answer.ok) return answer;
  }
  if (auto taught = in.checker.learn(learned.instances); !taught) {
    if (taught.error().code() != ErrorCode::kInvalidArgument)
      return tl::unexpected(std::move(taught).error());
    unfit = true;
    return OracleAnswer{false, taught.error().message()};
  }
  return OracleAnswer{};
}

}  // namespace kw::gym
