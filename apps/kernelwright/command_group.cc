// The table of programs and their commands.
#include "kernelwright/command_group.h"

namespace kw::front {
namespace {

struct Program {
  std::string operator()(const SolveCommand&) const { return "kernelwright-solve"; }
  std::string operator()(const ReportCommand&) const { return "kernelwright-report"; }
  std::string operator()(const GenerateCommand&) const { return "kernelwright-model"; }
  std::string operator()(const ServeModelCommand&) const { return "kernelwright-model"; }
  std::string operator()(const ServeCommand&) const { return "kernelwright-service"; }
  std::string operator()(const LaunchLocalCommand&) const { return "kernelwright-service"; }
  std::string operator()(const LaunchSlurmCommand&) const { return "kernelwright-service"; }
  std::string operator()(const LaunchRayCommand&) const { return "kernelwright-service"; }
  std::string operator()(const WorkerCommand&) const { return "kernelwright-service"; }
  std::string operator()(const SubmitCommand&) const { return "kernelwright-service"; }
  std::string operator()(const QueueCommand&) const { return "kernelwright-service"; }
  std::string operator()(const EvalCommand& command) const {
    return command.judge.url.empty() ? "kernelwright" : "kernelwright-service";
  }
  std::string operator()(const ProblemsCheckCommand& command) const {
    return command.judge.url.empty() ? "kernelwright" : "kernelwright-service";
  }
  std::string operator()(const ModelImportCommand&) const { return "kernelwright-model"; }
  std::string operator()(const ModelMergeCommand&) const { return "kernelwright-model"; }
  std::string operator()(const DataImportCommand&) const { return "kernelwright-data"; }
  std::string operator()(const DataDedupCommand&) const { return "kernelwright-data"; }
  std::string operator()(const DataDecontaminateCommand&) const { return "kernelwright-data"; }
  std::string operator()(const DataSplitCommand&) const { return "kernelwright-data"; }
  std::string operator()(const DataFilterCommand&) const { return "kernelwright-data"; }
  std::string operator()(const DataTeachCommand&) const { return "kernelwright-data"; }
  std::string operator()(const DataStatsCommand&) const { return "kernelwright-data"; }
  std::string operator()(const DataExportCommand&) const { return "kernelwright-data"; }
  std::string operator()(const DataGenerateCommand&) const { return "kernelwright-data"; }
  template <typename Other>
  std::string operator()(const Other& /*command*/) const {
    return "kernelwright";
  }
};

}  // namespace

std::string program_of(const Command& command) {
  return std::visit(Program{}, command);
}

}  // namespace kw::front
