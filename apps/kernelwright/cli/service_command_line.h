// The part of the grammar that serves judgements and works for a server.
#pragma once
#include "kernelwright/cli/command_line_parts.h"

namespace kw::front {

struct ServiceCommands {
  ServeCommand serve;
  WorkerCommand worker;
  SubmitCommand submit;
  QueueCommand queue;
  std::string isolation = "none";  // of a worker, as a word
  EvalWords submit_words;
};

void add_service_commands(CLI::App& app, ServiceCommands& commands, const AddCommand& add);
// Reads the words and checks the ranges.
Status finish(ServiceCommands& commands);

}  // namespace kw::front
