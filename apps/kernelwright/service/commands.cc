#include "kernelwright/service/commands.h"

#include "kernelwright/eval/commands.h"
#include "kernelwright/service/serve.h"
#include "kernelwright/service/token.h"
#include "kernelwright/service/worker.h"
#include "service/remote_judge.h"

namespace kw::front {

CommandOutcome run_service_command(const Command& command, const Services& services) {
  if (const auto* serve = std::get_if<ServeCommand>(&command)) return run_serve(*serve, services);
  if (const auto* worker = std::get_if<WorkerCommand>(&command))
    return run_worker(*worker, services);
  Services here = services;
  here.connect_judge = [](const std::string& url) {
    return service::make_remote_judge({.url = url, .token = token_of_environment()});
  };
  return run_eval_command(command, here);
}

}  // namespace kw::front
