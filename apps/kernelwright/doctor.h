// kernelwright doctor: what this machine can do, and kernelwright --version.
#pragma once
#include "base/result.h"
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

Result<int> run_doctor(const DoctorCommand& command, const Services& services);
// The program's and the gym's version, and the tool chain with its digest: two machines with the
// same digest judge alike, but for speed.
Result<int> run_version(const VersionCommand& command, const Services& services);

}  // namespace kw::front
