// The commands of the group "eval".
#include "kernelwright/eval/commands.h"

#include "kernelwright/cache.h"
#include "kernelwright/doctor.h"
#include "kernelwright/eval/card.h"
#include "kernelwright/eval/eval.h"
#include "kernelwright/problems/check.h"
#include "kernelwright/problems/problems.h"
#include "kernelwright/problems/trace.h"

namespace kw::front {
namespace {

Result<int> run_rejudge(const RejudgeCommand& command, const Services& services) {
  if (command.evidence.empty())
    return fail(ErrorCode::kInvalidArgument, "EVIDENCE is empty; expected a path");
  KW_TRY(task::Verdict verdict, services.rejudge(command.evidence));
  KW_TRY_STATUS(services.console.out(command.json ? verdict_line(verdict)
                                                  : card(verdict, services.console.out_colour())));
  return exit_code_of(verdict.outcome);
}

struct Dispatch {
  const Services& services;

  CommandOutcome operator()(const VersionCommand& command) const {
    return run_version(command, services);
  }
  CommandOutcome operator()(const EvalCommand& command) const {
    if (!command.judge.url.empty() && !services.connect_judge) return std::nullopt;
    return run_eval(command, services);
  }
  CommandOutcome operator()(const ProblemsListCommand& command) const {
    return run_problems_list(command, services);
  }
  CommandOutcome operator()(const ProblemsShowCommand& command) const {
    return run_problems_show(command, services);
  }
  CommandOutcome operator()(const ProblemsCheckCommand& command) const {
    if (!command.judge.url.empty() && !services.connect_judge) return std::nullopt;
    return run_problems_check(command, services);
  }
  CommandOutcome operator()(const ProblemsTraceCommand& command) const {
    return run_problems_trace(command, services);
  }
  CommandOutcome operator()(const PromptCommand& command) const {
    return run_prompt(command, services);
  }
  CommandOutcome operator()(const RejudgeCommand& command) const {
    return run_rejudge(command, services);
  }
  CommandOutcome operator()(const CacheSizeCommand& command) const {
    return run_cache_size(command, services);
  }
  CommandOutcome operator()(const CacheCleanCommand& command) const {
    return run_cache_clean(command, services);
  }
  CommandOutcome operator()(const DoctorCommand& command) const {
    return run_doctor(command, services);
  }
  template <typename Other>
  CommandOutcome operator()(const Other& /*command*/) const {
    return std::nullopt;
  }
};

}  // namespace

CommandOutcome run_eval_command(const Command& command, const Services& services) {
  return std::visit(Dispatch{services}, command);
}

}  // namespace kw::front
