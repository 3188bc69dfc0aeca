#include "kernelwright/service/remote_judges.h"

#include "service/remote_judge.h"

namespace kw::front {

service::ServiceClientOptions client_options(const ServiceAddress& address) {
  return {.url = address.url,
          .token = service::token_of_environment(),
          .ca_file = address.ca_file,
          .allow_plaintext = address.allow_plaintext};
}

Services with_remote_judges(const Services& services) {
  Services out = services;
  out.connect_judge = [](const ServiceAddress& address) {
    return service::make_remote_judge(client_options(address), address.isolation_at_least);
  };
  return out;
}

}  // namespace kw::front
