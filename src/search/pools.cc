#include "search/pools.h"

#include <utility>

namespace kw::search {
namespace {

template <typename T>
bool was_stopped(const Result<T>& result, const std::stop_token& stop) {
  return !result && result.error().code() == ErrorCode::kCancelled && stop.stop_requested();
}

// A token that either of two others stops.
class EitherStop {
 public:
  EitherStop(const std::stop_token& one, const std::stop_token& other)
      : on_one_(one, Request{&source_}), on_other_(other, Request{&source_}) {}
  std::stop_token token() const { return source_.get_token(); }

 private:
  struct Request {
    std::stop_source* source;
    void operator()() const { source->request_stop(); }
  };
  std::stop_source source_;
  std::stop_callback<Request> on_one_, on_other_;
};

os::Workers::Time after(double seconds) {
  if (seconds <= 0) return os::Workers::Time::min();
  return os::Workers::Clock::now() + std::chrono::duration_cast<os::Workers::Clock::duration>(
                                         std::chrono::duration<double>(seconds));
}

}  // namespace

Pools::Pools(Proposer* proposer, gym::Judge* judge, Clock now, const PoolSizes& sizes)
    : proposer_(proposer),
      judge_(judge),
      now_(std::move(now)),
      proposing_(sizes.proposing, sizes.most_waiting),
      judging_(sizes.judging, sizes.most_waiting) {}

double Pools::since_ms(std::chrono::steady_clock::time_point begin) const {
  return std::chrono::duration<double, std::milli>(now_() - begin).count();
}

void Pools::prepare(std::size_t problem, double delay, std::function<Result<Preparation>()> work) {
  proposing_.post([this, problem, work = std::move(work)](
                      const std::stop_token&) { mailbox_.put(Prepared{problem, work()}); },
                  after(delay));
}

void Pools::propose(std::size_t problem, double delay, ProposalRequest request) {
  proposing_.post(
      [this, problem, own = stops_[problem].get_token(),
       request = std::move(request)](const std::stop_token& stop) {
        const auto begin = now_();
        const EitherStop either(stop, own);
        Result<Proposed> result = proposer_->propose(request, either.token());
        if (was_stopped(result, either.token())) return;
        mailbox_.put(Answer{problem, request.attempt, since_ms(begin), std::move(result)});
      },
      after(delay));
}

void Pools::judge(std::size_t problem, double delay, int attempt, gym::EvalRequest request) {
  judging_.post(
      [this, problem, attempt, own = stops_[problem].get_token(),
       request = std::move(request)](const std::stop_token& stop) {
        const auto begin = now_();
        const EitherStop either(stop, own);
        Result<task::Verdict> result = judge_->judge(request, either.token());
        if (was_stopped(result, either.token())) return;
        mailbox_.put(Judgement{problem, attempt, since_ms(begin), std::move(result)});
      },
      after(delay));
}

void Pools::stop() {
  proposing_.stop();
  judging_.stop();
}

}  // namespace kw::search
