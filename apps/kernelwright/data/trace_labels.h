// Operators and interface of a sample's problem, from its running reference.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "data/sample.h"
#include "kernelwright/services.h"
#include "task/signature.h"

namespace kw::front {

// Any thread. The gym is started when the first problem needs it.
class TraceLabels {
 public:
  TraceLabels(const Services& services, int jobs) : services_(services), jobs_(jobs) {}

  // Sets operators, edges, graph and depth. The same problem is traced once. Errors, without the
  // problem's name in front: it has no graph, its reference fails, a limit; kCancelled after stop.
  Status label(data::Sample& sample);
  Result<task::Signature> describe(const task::Problem& problem);

 private:
  Result<gym::Judge*> started();
  Result<data::Labels> trace(const data::Sample& sample);

  const Services& services_;
  const int jobs_;
  std::mutex mutex_;
  std::unique_ptr<gym::Judge> judge_;
  std::map<std::string, Result<data::Labels>> known_;  // by the problem's hash
};

}  // namespace kw::front
