// This is built where hiredis is not there.
#include "service/redis_storage.h"

namespace kw::service {

Result<RedisLead> try_to_lead(const RedisOptions& options) {
  return fail(ErrorCode::kUnsupported,
              "{}: this build has no Redis: install libhiredis-dev, and build again",
              options.address.text());
}

}  // namespace kw::service
