// The place where a command's judgements happen: in this machine's gym, or with --judge by a
// service's workers.
#pragma once
#include "kernelwright/services.h"
#include "sandbox/sandbox.h"

namespace kw::front {

// The services, whose start_judge() asks the service at `judge`, whose workers have this isolation
// or more; an empty URL changes nothing.
Services with_judge(const Services& services, const ServiceAddress& judge,
                    sandbox::Level isolation_at_least);

}  // namespace kw::front
