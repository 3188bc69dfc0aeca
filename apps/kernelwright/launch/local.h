// kernelwright launch local: a server and its workers as processes of this machine.
#pragma once
#include "kernelwright/cli/launch_options.h"
#include "kernelwright/services.h"

namespace kw::front {

// Until it is asked to stop. An error when the server or a worker fails again and again.
Result<int> run_launch_local(const LaunchLocalCommand& command, const Services& services);

}  // namespace kw::front
