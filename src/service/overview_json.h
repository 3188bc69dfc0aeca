// The answer of GET /v1/overview (docs/service.md).
#pragma once
#include <string>

#include "base/json.h"
#include "service/task_service.h"

namespace kw::service {

// tenant: whose view it is; empty: everybody's. Names of groups are as the tenant gave them.
Json overview_json(const TaskService::Seen& seen, const std::string& tenant,
                   const std::string& start_name);

}  // namespace kw::service
