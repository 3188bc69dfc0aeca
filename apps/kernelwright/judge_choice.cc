#include "kernelwright/judge_choice.h"

#include "base/check.h"

namespace kw::front {

Result<Services> with_judge(const Services& services, const ServiceAddress& judge,
                            sandbox::Level isolation_at_least, std::string_view command) {
  if (judge.url.empty()) return services;
  if (isolation_at_least != sandbox::Level::kNone)
    return fail(ErrorCode::kInvalidArgument,
                "--isolation-at-least cannot go with --judge: it is a setting of each worker; see "
                "kernelwright {} --help",
                command);
  KW_CHECK(services.connect_judge);
  Services out = services;
  out.start_judge = [connect = services.connect_judge, judge](const gym::GymOptions&) {
    return connect(judge);
  };
  return out;
}

}  // namespace kw::front
