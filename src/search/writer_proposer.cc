#include "search/writer_proposer.h"

#include "writer/author/author.h"

namespace kw::search {
namespace {

constexpr const char* kName = "writer";

// Failures that say something about the problem, and not about this machine.
bool is_about_the_problem(ErrorCode code) {
  return code == ErrorCode::kUnsupported || code == ErrorCode::kInvalidArgument;
}

// The writer's own attempts among those that are finished.
std::vector<writer::Tried> tried_in(const std::vector<runlog::Attempt>& history) {
  std::vector<writer::Tried> out;
  for (const runlog::Attempt& attempt : history) {
    if (!attempt.answered || attempt.answered->by != kName) continue;
    auto label = writer::parse_label(attempt.answered->label);
    if (!label) continue;
    writer::Tried one{std::move(label->strategy), std::move(label->tuning), attempt.correct(), 0};
    if (one.correct && attempt.judged && attempt.judged->speedup)
      one.speedup = attempt.judged->speedup->median;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

Result<std::optional<writer::Draft>> WriterProposer::next_draft(const ProposalRequest& request,
                                                                const std::stop_token& stop) {
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
    // A failure that may pass is tried again with the next attempt.
    traced->done = traced->graph || is_about_the_problem(traced->graph.error().code());
  }
  if (!traced->graph) return tl::unexpected(traced->graph.error());
  if (!traced->tuner)
    traced->tuner = std::make_unique<writer::Tuner>(*traced->graph, *request.signature, language_);
  return traced->tuner->next(tried_in(request.history), request.in_flight);
}

Result<Proposed> WriterProposer::propose(const ProposalRequest& request, std::stop_token stop) {
  auto next = next_draft(request, stop);
  if (!next) {
    if (is_about_the_problem(next.error().code()))
      return Proposed(Exhausted{next.error().message()});
    return tl::unexpected(std::move(next).error());
  }
  const std::optional<writer::Draft>& draft = next.value();
  if (!draft) return Proposed(Exhausted{"the writer has no further kernel"});
  Proposal out;
  out.answer = writer::answer_text(*draft);
  out.by = kName;
  out.label = writer::label_of(draft->strategy, draft->tuning);
  return Proposed(std::move(out));
}

}  // namespace kw::search
