#include "writer_proposer.h"

#include "writer/author/author.h"

namespace kw::front {
namespace {

// What says something about the problem, and not about this machine.
bool is_about_the_problem(ErrorCode code) {
  return code == ErrorCode::kUnsupported || code == ErrorCode::kInvalidArgument;
}

}  // namespace

Result<writer::Graph> WriterProposer::graph_of(const search::ProposalRequest& request,
                                               std::stop_token stop) {
  std::shared_ptr<Traced> traced;
  {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Traced>& place = traced_[request.key];
    if (!place) place = std::make_shared<Traced>();
    traced = place;
  }
  std::lock_guard lock(traced->mutex);
  if (!traced->done) {
    gym::TraceRequest trace;
    trace.problem = *request.problem;
    traced->graph = trace_(trace, stop);
    // What may pass is tried again with the next attempt.
    traced->done = traced->graph || is_about_the_problem(traced->graph.error().code());
  }
  return traced->graph;
}

Result<search::Proposed> WriterProposer::propose(const search::ProposalRequest& request,
                                                 std::stop_token stop) {
  auto graph = graph_of(request, std::move(stop));
  if (!graph) {
    if (is_about_the_problem(graph.error().code()))
      return search::Proposed(search::Exhausted{graph.error().message()});
    return tl::unexpected(std::move(graph).error());
  }
  const auto strategies = writer::strategies(language_);
  const auto attempt = static_cast<std::size_t>(request.attempt);
  const bool exhausted = attempt >= strategies.size();
  // Beyond the last one the first is written again: what the writer lacks is the better reason.
  const std::string_view strategy = strategies.empty() ? "" : strategies[exhausted ? 0 : attempt];
  auto draft = writer::write_kernel(*graph, *request.signature, language_, strategy);
  if (!draft) {
    if (is_about_the_problem(draft.error().code()))
      return search::Proposed(search::Exhausted{draft.error().message()});
    return tl::unexpected(std::move(draft).error());
  }
  if (exhausted) return search::Proposed(search::Exhausted{"the writer has no further strategy"});
  search::Proposal out;
  out.answer = writer::answer_text(*draft);
  out.by = "writer";
  out.label = draft->strategy;
  return search::Proposed(std::move(out));
}

}  // namespace kw::front
