// The place where a command's judgements happen: in this machine's gym, or with --judge by a
// service's workers.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "kernelwright/services.h"
#include "sandbox/sandbox.h"

namespace kw::front {

// The services, whose start_judge() asks the service at `judge`; an empty URL changes nothing.
// kInvalidArgument for an isolation, which is each worker's own. command: for the message.
Result<Services> with_judge(const Services& services, const ServiceAddress& judge,
                            sandbox::Level isolation_at_least, std::string_view command);

}  // namespace kw::front
