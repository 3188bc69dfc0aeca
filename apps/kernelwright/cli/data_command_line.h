// The grammar of kernelwright data.
#pragma once
#include "kernelwright/cli/command_line_parts.h"
#include "kernelwright/cli/data_options.h"

namespace kw::front {

// The options of the commands, with the defaults.
struct DataCommands {
  DataGenerateCommand generate;
  DataImportCommand import;
  DataDedupCommand dedup;
  DataDecontaminateCommand decontaminate;
  DataFilterCommand filter;
  DataTeachCommand teach;
  DataSplitCommand split;
  DataStatsCommand stats;
  DataExportCommand export_;
};

// data: the group.
void add_data_commands(CLI::App& data, DataCommands& commands, const AddCommand& add);

}  // namespace kw::front
