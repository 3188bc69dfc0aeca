// The commands of the group "solve".
#include "kernelwright/solve/commands.h"

#include "kernelwright/service/remote_judges.h"
#include "kernelwright/solve/solve.h"

namespace kw::front {
namespace {

struct Dispatch {
  const Services services;

  CommandOutcome operator()(const SolveCommand& command) const {
    return run_solve(command, services);
  }
  template <typename Other>
  CommandOutcome operator()(const Other& /*command*/) const {
    return std::nullopt;
  }
};

}  // namespace

CommandOutcome run_solve_command(const Command& command, const Services& services) {
  return std::visit(Dispatch{with_remote_judges(services)}, command);
}

}  // namespace kw::front
