// Dispatch.
#include "kernelwright/run.h"

#include <algorithm>
#include <exception>

#include "kernelwright/cache.h"
#include "kernelwright/cli/command_line.h"
#include "kernelwright/data/decontaminate.h"
#include "kernelwright/data/dedup.h"
#include "kernelwright/data/export.h"
#include "kernelwright/data/filter.h"
#include "kernelwright/data/generate.h"
#include "kernelwright/data/import.h"
#include "kernelwright/data/split.h"
#include "kernelwright/data/stats.h"
#include "kernelwright/data/teach.h"
#include "kernelwright/doctor.h"
#include "kernelwright/error_text.h"
#include "kernelwright/eval/card.h"
#include "kernelwright/eval/eval.h"
#include "kernelwright/model/generate.h"
#include "kernelwright/model/serve_model.h"
#include "kernelwright/problems/check.h"
#include "kernelwright/problems/problems.h"
#include "kernelwright/problems/trace.h"
#include "kernelwright/report.h"
#include "kernelwright/solve/solve.h"

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

  Result<int> operator()(const HelpCommand& command) const {
    if (command.asked_for) {
      KW_TRY_STATUS(services.console.out(command.text));
      return 0;
    }
    services.console.err(command.text);
    return 2;
  }
  Result<int> operator()(const VersionCommand& command) const {
    return run_version(command, services);
  }
  Result<int> operator()(const EvalCommand& command) const { return run_eval(command, services); }
  Result<int> operator()(const ProblemsListCommand& command) const {
    return run_problems_list(command, services);
  }
  Result<int> operator()(const ProblemsShowCommand& command) const {
    return run_problems_show(command, services);
  }
  Result<int> operator()(const ProblemsCheckCommand& command) const {
    return run_problems_check(command, services);
  }
  Result<int> operator()(const ProblemsTraceCommand& command) const {
    return run_problems_trace(command, services);
  }
  Result<int> operator()(const PromptCommand& command) const {
    return run_prompt(command, services);
  }
  Result<int> operator()(const RejudgeCommand& command) const {
    return run_rejudge(command, services);
  }
  Result<int> operator()(const CacheSizeCommand& command) const {
    return run_cache_size(command, services);
  }
  Result<int> operator()(const CacheCleanCommand& command) const {
    return run_cache_clean(command, services);
  }
  Result<int> operator()(const ReportCommand& command) const {
    return run_report(command, services);
  }
  Result<int> operator()(const GenerateCommand& command) const {
    return run_generate(command, services);
  }
  Result<int> operator()(const ServeModelCommand& command) const {
    return run_serve_model(command, services);
  }
  Result<int> operator()(const SolveCommand& command) const { return run_solve(command, services); }
  Result<int> operator()(const DataGenerateCommand& command) const {
    return run_data_generate(command, services);
  }
  Result<int> operator()(const DataImportCommand& command) const {
    return run_data_import(command, services);
  }
  Result<int> operator()(const DataDedupCommand& command) const {
    return run_data_dedup(command, services);
  }
  Result<int> operator()(const DataDecontaminateCommand& command) const {
    return run_data_decontaminate(command, services);
  }
  Result<int> operator()(const DataFilterCommand& command) const {
    return run_data_filter(command, services);
  }
  Result<int> operator()(const DataTeachCommand& command) const {
    return run_data_teach(command, services);
  }
  Result<int> operator()(const DataSplitCommand& command) const {
    return run_data_split(command, services);
  }
  Result<int> operator()(const DataStatsCommand& command) const {
    return run_data_stats(command, services);
  }
  Result<int> operator()(const DataExportCommand& command) const {
    return run_data_export(command, services);
  }
  Result<int> operator()(const DoctorCommand& command) const {
    return run_doctor(command, services);
  }
};

}  // namespace

int run(const std::vector<std::string>& arguments, const Services& services) {
  auto execute = [&]() -> Result<int> {
    KW_TRY(Command command, parse_command_line(arguments));
    return std::visit(Dispatch{services}, command);
  };
  Result<int> code = fail(ErrorCode::kInternal, "");
  try {
    code = execute();
  } catch (const std::exception& e) {  // of a library: memory, file system
    code = fail(ErrorCode::kInternal, "{}", e.what());
  }
  if (code) return *code;
  // Also for a command line that could not be understood: whoever asked for JSON reads JSON.
  bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  if (!json || !services.console.out(error_line(code.error()))) {
    services.console.err(fmt::format("error: {}\n", one_line(code.error().message())));
  }
  return exit_code(code.error().code());
}

}  // namespace kw::front
