// The judges behind --judge.
#pragma once
#include "kernelwright/services.h"

namespace kw::front {

// The services with a connect_judge() that asks a server. They borrow `services`.
Services with_remote_judges(const Services& services);

}  // namespace kw::front
