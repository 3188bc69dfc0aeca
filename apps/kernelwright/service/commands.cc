#include "kernelwright/service/commands.h"

#include "kernelwright/eval/commands.h"
#include "kernelwright/launch/local.h"
#include "kernelwright/launch/ray.h"
#include "kernelwright/launch/slurm.h"
#include "kernelwright/service/queue.h"
#include "kernelwright/service/remote_judges.h"
#include "kernelwright/service/serve.h"
#include "kernelwright/service/submit.h"
#include "kernelwright/service/worker.h"

namespace kw::front {

CommandOutcome run_service_command(const Command& command, const Services& services) {
  if (const auto* serve = std::get_if<ServeCommand>(&command)) return run_serve(*serve, services);
  if (const auto* launch = std::get_if<LaunchLocalCommand>(&command))
    return run_launch_local(*launch, services);
  if (const auto* launch = std::get_if<LaunchSlurmCommand>(&command))
    return run_launch_slurm(*launch, services);
  if (const auto* launch = std::get_if<LaunchRayCommand>(&command))
    return run_launch_ray(*launch, services);
  if (const auto* worker = std::get_if<WorkerCommand>(&command))
    return run_worker(*worker, services);
  if (const auto* submit = std::get_if<SubmitCommand>(&command))
    return run_submit(*submit, services);
  if (const auto* queue = std::get_if<QueueCommand>(&command)) return run_queue(*queue, services);
  return run_eval_command(command, with_remote_judges(services));
}

}  // namespace kw::front
