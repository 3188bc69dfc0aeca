// The options of `kernelwright generate` and `kernelwright serve-model`.
#pragma once
#include "kernelwright/cli/command_line_parts.h"

namespace kw::front {

struct ModelCommands {
  GenerateCommand generate;
  ServeModelCommand serve_model;
  ModelImportCommand import;
  ModelMergeCommand merge;
};

void add_model_commands(CLI::App& app, ModelCommands& commands, const AddCommand& add);
// Adds the commands of `kernelwright model`.
void add_model_group(CLI::App& model, ModelCommands& commands, const AddCommand& add);

}  // namespace kw::front
