// kernelwright data teach: answers of a server's model to the questions of a data set.
#pragma once
#include "base/result.h"
#include "kernelwright/cli/data_options.h"
#include "kernelwright/services.h"

namespace kw::front {

Result<int> run_data_teach(const DataTeachCommand& command, const Services& services);

}  // namespace kw::front
