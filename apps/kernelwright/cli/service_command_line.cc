#include "kernelwright/cli/service_command_line.h"

#include "kernelwright/cli/help_text.h"

namespace kw::front {

void add_service_commands(CLI::App& app, ServiceCommands& commands, const AddCommand& add) {
  CLI::App& s = *add(
      app, "serve", "keep a queue of judgements for workers",
      [&commands] { return commands.serve; }, kServeFooter);
  text(s, "--data", commands.serve.data, "DIR", "folder of the tasks; made when it is missing")
      ->required();
  text(s, "--host", commands.serve.host, "ADDRESS", "to listen on: a loopback address");
  number(s, "--port", commands.serve.port, "N", "0: any free one");
  text(s, "--tokens", commands.serve.tokens, "FILE",
       "tokens of clients and workers, one a line; without it none is asked for");
  number(s, "--lease", commands.serve.lease_seconds, "S",
         "until a silent worker counts as lost, in seconds");
  CLI::App& w = *add(
      app, "worker", "judge what a server hands out", [&commands] { return commands.worker; },
      kWorkerFooter);
  text(w, "--server", commands.worker.server, "URL", "of kernelwright serve")->required();
  text(w, "--name", commands.worker.name, "NAME",
       "what the server calls it; without it worker and the process number");
  number(w, "--jobs", commands.worker.jobs, "N", "judgements in flight; timing is never parallel");
  add_isolation(w, commands.isolation);
}

Status finish(ServiceCommands& commands) {
  std::uint64_t unused = 0;
  KW_TRY_STATUS(
      read_words({.isolation = commands.isolation}, unused, commands.worker.isolation_at_least));
  KW_TRY_STATUS(check_range("--port", commands.serve.port, 0, 65535));
  KW_TRY_STATUS(check_range("--lease", commands.serve.lease_seconds, 0.5, 3600));
  KW_TRY_STATUS(check_range("--jobs", commands.worker.jobs, 1, 1024));
  return {};
}

}  // namespace kw::front
