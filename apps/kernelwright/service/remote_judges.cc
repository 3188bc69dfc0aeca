#include "kernelwright/service/remote_judges.h"

#include "service/remote_judge.h"

namespace kw::front {

Services with_remote_judges(const Services& services) {
  Services out = services;
  out.connect_judge = [](const std::string& url) {
    return service::make_remote_judge({.url = url, .token = service::token_of_environment()});
  };
  return out;
}

}  // namespace kw::front
