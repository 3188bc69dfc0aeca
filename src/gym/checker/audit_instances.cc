#include "gym/checker/audit_instances.h"

#include <utility>

namespace kw::gym {
namespace {

constexpr std::size_t kAuditMemory = 256ULL << 20U;

Result<std::unique_ptr<AuditInstance>> audit_instance(std::uint64_t seed, Instance instance,
                                                      const OutputChecker& checker) {
  auto audit = std::make_unique<AuditInstance>();
  audit->seed = seed;
  audit->instance = std::move(instance);
  KW_TRY(OracleComparison comparison, checker.compare_with(audit->instance));
  audit->comparison = std::make_unique<OracleComparison>(std::move(comparison));
  return audit;
}

}  // namespace

Status AuditInstances::keep(LearnedInstances learned, const OutputChecker& checker) {
  std::size_t bytes = 0;
  while (!learned.instances.empty()) {
    bytes += learned.instances.back().bytes();
    if (bytes > kAuditMemory) break;
    KW_TRY(auto audit,
           audit_instance(learned.seeds.back(), std::move(learned.instances.back()), checker));
    instances_.push_back(std::move(audit));
    learned.seeds.pop_back();
    learned.instances.pop_back();
  }
  return {};
}

Status AuditInstances::renew(const LearningInput& in) {
  for (auto& audit : instances_) {
    if (audit->uses < AuditInstance::kMaxUses) continue;
    const std::uint64_t seed = in.seeds.next();
    Instance instance;
    KW_TRY(OracleAnswer answer, learn_from(in.inputs, in.reference, in.scratch, seed, 1, instance));
    if (!answer.ok) return fail(ErrorCode::kUnavailable, "the reference failed: {}", answer.text);
    KW_TRY(audit, audit_instance(seed, std::move(instance), in.checker));
  }
  return {};
}

AuditInstance* AuditInstances::use(std::size_t i) {
  if (i >= instances_.size()) return nullptr;
  instances_[i]->uses += 1;
  return instances_[i].get();
}

}  // namespace kw::gym
