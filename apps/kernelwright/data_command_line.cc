#include "data_command_line.h"

namespace kw::front {

void add_data_commands(CLI::App& /*data*/, DataCommands& /*commands*/, const AddCommand& /*add*/) {}

}  // namespace kw::front
