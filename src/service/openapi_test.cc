#include "service/openapi.h"

#include <gtest/gtest.h>

#include "net/metrics.h"
#include "service/kernelgym/kernelgym_api.h"
#include "service/task_api.h"

namespace kw::service {
namespace {

TEST(OpenApi, EveryRouteIsInTheDocumentAndEachReferenceThere) {
  const auto service =
      TaskService::start(std::make_unique<MemoryStorage>(), TaskServiceOptions{}).value();
  net::MetricRegistry metrics;
  net::Router router = task_routes(*service, metrics);
  for (const net::Route& route : router.routes())
    EXPECT_TRUE(is_described(route.method, route.pattern)) << route.method << " " << route.pattern;
  kernelgym::add_routes(router, *service, {}, {.timestamp = [] { return std::string(); }});
  add_openapi(router);
  const Json document = openapi_document(router.routes());
  EXPECT_EQ(document["openapi"], "3.1.0");
  for (const net::Route& route : router.routes())
    EXPECT_TRUE(document["paths"].contains(route.pattern)) << route.pattern;
  const std::string text = document.dump(), prefix = "#/components/schemas/";
  for (std::size_t at = text.find(prefix); at != text.npos; at = text.find(prefix, at + 1)) {
    const std::size_t begin = at + prefix.size();
    const std::string name = text.substr(begin, text.find('"', begin) - begin);
    EXPECT_TRUE(document["components"]["schemas"].contains(name)) << name;
  }
  EXPECT_EQ(document["paths"]["/v1/tasks/{id}"]["get"]["parameters"].size(), 2U);
}

}  // namespace
}  // namespace kw::service
