#include "kernelwright/judge_choice.h"

#include "base/check.h"

namespace kw::front {

Services with_judge(const Services& services, const ServiceAddress& judge,
                    sandbox::Level isolation_at_least) {
  if (judge.url.empty()) return services;
  KW_CHECK(services.connect_judge);
  Services out = services;
  ServiceAddress address = judge;
  address.isolation_at_least = isolation_at_least;
  out.start_judge = [connect = services.connect_judge, address](const gym::GymOptions&) {
    return connect(address);
  };
  return out;
}

}  // namespace kw::front
