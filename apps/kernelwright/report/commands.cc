// The commands of the group "report".
#include "kernelwright/report/commands.h"

#include "kernelwright/report/report.h"

namespace kw::front {
namespace {

struct Dispatch {
  const Services& services;

  CommandOutcome operator()(const ReportCommand& command) const {
    return run_report(command, services);
  }
  template <typename Other>
  CommandOutcome operator()(const Other& /*command*/) const {
    return std::nullopt;
  }
};

}  // namespace

CommandOutcome run_report_command(const Command& command, const Services& services) {
  return std::visit(Dispatch{services}, command);
}

}  // namespace kw::front
