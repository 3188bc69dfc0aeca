// The OpenAPI document of a server: what calls there are, with their bodies and answers, for
// programs that make clients of it or try it. docs/service.md says what the calls mean.
#pragma once
#include <string_view>
#include <vector>

#include "base/json.h"
#include "net/router.h"

namespace kw::service {

// Version 3.1. A route that is not described here appears with its method, path and parameters.
Json openapi_document(const std::vector<net::Route>& routes);
// Whether a route's body and answer are described.
bool is_described(std::string_view method, std::string_view path);

// GET /openapi.json gives the document of the routes that the router has so far, and of itself.
void add_openapi(net::Router& router);

}  // namespace kw::service
