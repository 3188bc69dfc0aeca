#include "kernelwright/data/trace_labels.h"

#include <utility>

#include "base/check.h"
#include "data/graph_labels.h"
#include "kernelwright/traced_graph.h"

namespace kw::front {

Result<gym::Judge*> TraceLabels::started() {
  std::lock_guard lock(mutex_);
  if (!judge_) {
    gym::GymOptions options;
    options.jobs = jobs_;
    KW_TRY(judge_, services_.start_judge(std::move(options)));
  }
  return judge_.get();
}

Result<task::Signature> TraceLabels::describe(const task::Problem& problem) {
  KW_TRY(gym::Judge * judge, started());
  return judge->describe(problem, task::Target::kCpu);
}

Result<data::Labels> TraceLabels::trace(const data::Sample& sample) {
  KW_CHECK(sample.problem);
  KW_TRY(task::Problem problem, task::problem_of(*sample.problem, sample.id));
  KW_TRY(gym::Judge * judge, started());
  const std::string front = problem.name + ": ";
  gym::TraceRequest request;
  request.problem = std::move(problem);
  auto graph = traced_graph(*judge, request, services_.stop);
  data::Labels out;
  if (graph) {
    data::set_graph_labels(*graph, out);
    return out;
  }
  std::string message = graph.error().message();
  if (message.starts_with(front)) message.erase(0, front.size());
  return tl::unexpected(Error(graph.error().code(), std::move(message)));
}

Status TraceLabels::label(data::Sample& sample) {
  KW_CHECK(sample.problem);
  const std::string& hash = sample.problem->hash;
  std::unique_lock lock(mutex_);
  auto known = known_.find(hash);
  if (known == known_.end()) {
    lock.unlock();
    Result<data::Labels> traced = trace(sample);
    lock.lock();
    known = known_.emplace(hash, std::move(traced)).first;
  }
  if (!known->second) return tl::unexpected(known->second.error());
  const data::Labels& labels = *known->second;
  sample.labels.operators = labels.operators;
  sample.labels.edges = labels.edges;
  sample.labels.graph = labels.graph;
  sample.labels.depth = labels.depth;
  return {};
}

}  // namespace kw::front
