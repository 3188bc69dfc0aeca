// The target "cuda": a workshop for each GPU, made by the first judgement that is placed there.
#include "gym/supervisor/cuda_target.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "gym/evaluation/evaluation.h"
#include "gym/supervisor/check_problem.h"
#include "gym/supervisor/gpu_placement.h"
#include "gym/supervisor/gpu_workshop.h"
#include "os/file.h"
#include "task/target.h"

namespace kw::gym {
namespace {

// The remedy first: a verdict shows the first 200 characters.
std::string no_gpu(const Error& why) {
  return fmt::format(
      "a GPU: judge it on a machine with an NVIDIA GPU and its driver (kernelwright doctor shows "
      "what is missing here: {})",
      why.message());
}

// The GPUs of this machine.
class Gpus {
 public:
  Gpus(const GymOptions& options, std::vector<cuda::DeviceFacts> facts)
      : options_(options),
        facts_(std::move(facts)),
        placement_(facts_.size()),
        gpus_(facts_.size()) {}

  // kResourceExhausted and others: what the machine has not.
  Result<GpuWorkshop*> workshop(std::size_t gpu) {
    Gpu& one = gpus_[gpu];
    std::lock_guard lock(one.making);
    if (one.made == nullptr) {
      KW_TRY(one.made, GpuWorkshop::make(options_, facts_[gpu], facts_.size()));
      one.shop = one.made.get();
    }
    return one.made.get();
  }
  GpuPlacement::Seat place(const EvalRequest& request) {
    return placement_.take([&](std::size_t gpu) {
      const GpuWorkshop* shop = gpus_[gpu].shop;
      return shop != nullptr && shop->sessions.contains(first_session_key(*shop->bench, request));
    });
  }
  // Keys are the same on each GPU; empty: no workshop is there yet.
  std::string session_key(const EvalRequest& request) const {
    for (const Gpu& one : gpus_)
      if (const GpuWorkshop* shop = one.shop) return first_session_key(*shop->bench, request);
    return {};
  }
  bool is_open(const std::string& session_key) const {
    return std::ranges::any_of(gpus_, [&](const Gpu& one) {
      const GpuWorkshop* shop = one.shop;
      return shop != nullptr && shop->sessions.contains(session_key);
    });
  }

 private:
  struct Gpu {
    std::mutex making;
    std::unique_ptr<GpuWorkshop> made;         // under making; never changed again
    std::atomic<GpuWorkshop*> shop = nullptr;  // made, for those who do not wait for it
  };
  const GymOptions& options_;
  const std::vector<cuda::DeviceFacts> facts_;
  GpuPlacement placement_;
  std::vector<Gpu> gpus_;
};

class CudaTarget : public Target {
 public:
  CudaTarget(GymOptions options, FindGpus find)
      : options_(std::move(options)),
        find_(std::move(find)),
        admissions_(options_.cache_folder / "admission") {}

  task::Target target() const override { return task::Target::kCuda; }
  Capabilities capabilities() const override;
  Result<task::Verdict> judge(const EvalRequest& request, std::stop_token stop) override;
  std::string session_key(const EvalRequest& request) const override {
    std::lock_guard lock(mutex_);
    return gpus_ == nullptr ? std::string() : gpus_->session_key(request);
  }
  bool is_open(const std::string& session_key) const override {
    std::lock_guard lock(mutex_);
    return gpus_ != nullptr && gpus_->is_open(session_key);
  }
  Result<task::Signature> describe(const task::Problem& problem) override;
  // Nothing of a candidate runs: the host's memory will do.
  Result<ProblemCheck> check(const CheckRequest& request, const std::stop_token& stop) override {
    KW_TRY(const GpuWorkshop* shop, first_workshop());
    return check_problem(shop->on_host(), admissions_, request, stop);
  }

 private:
  Result<Gpus*> gpus() const;
  // For what may be asked of any GPU.
  Result<GpuWorkshop*> first_workshop() const {
    KW_TRY(Gpus * all, gpus());
    return all->workshop(0);
  }
  EvaluationParts parts(GpuWorkshop& shop) const {
    return {*shop.bench, admissions_, shop.sessions, options_.evidence_folder,
            [this](const EvalRequest& request, std::string_view stage) {
              if (options_.progress != nullptr) options_.progress->stage(request, stage);
            }};
  }

  GymOptions options_;
  FindGpus find_;
  AdmissionCache admissions_;
  mutable std::mutex mutex_;  // guards gpus_
  mutable std::unique_ptr<Gpus> gpus_;
};

// kUnsupported: there is no GPU.
Result<Gpus*> CudaTarget::gpus() const {
  std::lock_guard lock(mutex_);
  if (gpus_ == nullptr) {
    auto found = find_();
    if (!found) return fail(ErrorCode::kUnsupported, "{}", no_gpu(found.error()));
    gpus_ = std::make_unique<Gpus>(options_, *std::move(found));
  }
  return gpus_.get();
}

Capabilities CudaTarget::capabilities() const {
  Capabilities c;
  auto workshop = first_workshop();
  if (!workshop) {
    c.why_not = workshop.error().message();
    return c;
  }
  const Programs& programs = (*workshop)->programs;
  c.available = !programs.python.empty() && !programs.gpu_executor.empty();
  if (programs.python.empty()) c.why_not = "no Python with torch: references cannot run";
  if (programs.gpu_executor.empty())
    c.why_not = "kernelwright-gpu-executor is not built: run ./kernelwright once";
  c.isolation = (*workshop)->launchers->level() >= sandbox::Level::kNamespaces;
  c.level = to_string((*workshop)->launchers->level());
  c.freeze = true;  // nothing needs it: no host code of a candidate runs between calls
  c.clock = true;
  c.made_with = (*workshop)->bench->made_with();
  const auto hosted = (*workshop)->builder->languages();
  for (const task::Language language : task::languages_of(task::Target::kCuda)) {
    const std::string name(to_string(language));
    const bool is_hosted = std::ranges::find(hosted, name) != hosted.end();
    if (language != task::Language::kTriton || is_hosted) c.languages.push_back(name);
  }
  return c;
}

Result<task::Verdict> CudaTarget::judge(const EvalRequest& request, std::stop_token stop) {
  const task::Candidate& candidate = request.candidate;
  if (!task::route(candidate.language, task::Target::kCuda))
    return unsupported(request, "language " + std::string(task::to_string(candidate.language)),
                       options_.evidence_folder);
  if (!candidate.binding.empty())
    return unsupported(request, "binding " + candidate.binding, options_.evidence_folder);
  auto all = gpus();
  if (!all && all.error().code() == ErrorCode::kUnsupported)
    return unsupported(request, all.error().message(), options_.evidence_folder);
  if (!all) return tl::unexpected(std::move(all).error());
  const GpuPlacement::Seat seat = (*all)->place(request);
  KW_TRY(GpuWorkshop * found, (*all)->workshop(seat.gpu()));
  GpuWorkshop& shop = *found;
  KW_TRY(const MemoryGate::Pass inside,
         shop.gate.enter(device_bytes_of(request.problem, shop.facts.memory_bytes), stop));
  return evaluate(parts(shop), request, stop);
}

Result<task::Signature> CudaTarget::describe(const task::Problem& problem) {
  if (problem.workloads.empty())
    return fail(ErrorCode::kInvalidArgument, "{} has no workload", problem.name);
  if (!problem.is_module())
    return task::signature_of(problem.definition(), problem.workloads.front(),
                              problem.policy.statics);
  KW_TRY(GpuWorkshop * shop, first_workshop());
  return describe_module(parts(*shop), problem);
}

}  // namespace

std::unique_ptr<Target> make_cuda_target(GymOptions options, FindGpus find) {
  if (options.cache_folder.empty()) options.cache_folder = os::cache_home();
  if (options.evidence_folder.empty()) options.evidence_folder = os::data_home() / "evidence";
  return std::make_unique<CudaTarget>(std::move(options), std::move(find));
}

}  // namespace kw::gym
