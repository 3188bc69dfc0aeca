#include "kernelwright/launch/kept_service.h"

#include <string_view>

namespace kw::front {

Result<int> keep_service(const std::vector<KeptProcess>& processes, const Services& services) {
  Console& console = services.console;
  KeepingOptions options;
  options.on_event = [&](std::string_view text) { console.err(fmt::format("{}\n", text)); };
  // The one line that a server prints is its URL; that of model servers is for people.
  Status printed;
  options.on_line = [&](const KeptProcess& process, std::string_view line) {
    if (process.name == kServerProcess)
      printed = console.out(fmt::format("{}\n", line));
    else
      console.err(fmt::format("{}: {}\n", process.name, line));
  };
  KW_TRY_STATUS(keep_running(processes, options, services.stop));
  KW_TRY_STATUS(printed);
  return 0;
}

}  // namespace kw::front
