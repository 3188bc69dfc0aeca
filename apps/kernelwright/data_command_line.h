// The grammar of kernelwright data.
#pragma once
#include "command_line_parts.h"

namespace kw::front {

// What the commands were asked to do, with the defaults.
struct DataCommands {
  DataGenerateCommand generate;
};

// data: the group.
void add_data_commands(CLI::App& data, DataCommands& commands, const AddCommand& add);

}  // namespace kw::front
