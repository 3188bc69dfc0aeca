// The judges behind --judge, and how a service is reached.
#pragma once
#include "kernelwright/services.h"
#include "service/service_client.h"

namespace kw::front {

// With the token of the environment.
service::ServiceClientOptions client_options(const ServiceAddress& address);

// The services with a connect_judge() that asks a server. They borrow `services`.
Services with_remote_judges(const Services& services);

}  // namespace kw::front
