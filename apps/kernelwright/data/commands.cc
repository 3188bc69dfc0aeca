// The commands of the group "data".
#include "kernelwright/data/commands.h"

#include "kernelwright/data/decontaminate.h"
#include "kernelwright/data/dedup.h"
#include "kernelwright/data/export.h"
#include "kernelwright/data/filter.h"
#include "kernelwright/data/generate.h"
#include "kernelwright/data/import.h"
#include "kernelwright/data/split.h"
#include "kernelwright/data/stats.h"
#include "kernelwright/data/teach.h"
#include "kernelwright/service/remote_judges.h"

namespace kw::front {
namespace {

struct Dispatch {
  const Services services;

  CommandOutcome operator()(const DataGenerateCommand& command) const {
    return run_data_generate(command, services);
  }
  CommandOutcome operator()(const DataImportCommand& command) const {
    return run_data_import(command, services);
  }
  CommandOutcome operator()(const DataDedupCommand& command) const {
    return run_data_dedup(command, services);
  }
  CommandOutcome operator()(const DataDecontaminateCommand& command) const {
    return run_data_decontaminate(command, services);
  }
  CommandOutcome operator()(const DataFilterCommand& command) const {
    return run_data_filter(command, services);
  }
  CommandOutcome operator()(const DataTeachCommand& command) const {
    return run_data_teach(command, services);
  }
  CommandOutcome operator()(const DataSplitCommand& command) const {
    return run_data_split(command, services);
  }
  CommandOutcome operator()(const DataStatsCommand& command) const {
    return run_data_stats(command, services);
  }
  CommandOutcome operator()(const DataExportCommand& command) const {
    return run_data_export(command, services);
  }
  template <typename Other>
  CommandOutcome operator()(const Other& /*command*/) const {
    return std::nullopt;
  }
};

}  // namespace

CommandOutcome run_data_command(const Command& command, const Services& services) {
  return std::visit(Dispatch{with_remote_judges(services)}, command);
}

}  // namespace kw::front
