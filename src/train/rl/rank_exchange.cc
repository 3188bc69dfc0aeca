#include "train/rl/rank_exchange.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"

namespace kw::train {

Result<bool> RankExchange::stops(bool asked, double& seconds) {
  if (is_alone()) return asked;
  KW_TRY(const std::vector<std::string> all, group_.exchange(Json{asked, seconds}.dump()));
  bool out = false;
  for (const std::string& one : all) out = out || Json::parse(one)[0].get<bool>();
  seconds = Json::parse(all.front())[1].get<double>();
  return out;
}

Result<std::int64_t> RankExchange::of_root(std::int64_t mine) {
  if (is_alone()) return mine;
  KW_TRY(const std::vector<std::string> all, group_.exchange(std::to_string(mine)));
  return std::stoll(all.front());
}

Result<ShareReport> RankExchange::sum_of_all(const ShareReport& mine) {
  KW_TRY(const std::vector<std::string> all, group_.exchange(to_text(mine)));
  ShareReport out;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    KW_TRY(ShareReport one, share_report(all[rank], fmt::format("rank {}", rank)));
    out.stopped = out.stopped || one.stopped;
    out.longest_judgement = std::max(out.longest_judgement, one.longest_judgement);
    out.queued_seconds += one.queued_seconds / static_cast<double>(all.size());
    out.drawn_tokens += one.drawn_tokens;
    out.answers.merge(one.answers);
  }
  return out;
}

Result<Played> RankExchange::together(const ExchangeParts& parts, const RolloutPlan& whole,
                                      Result<std::unique_ptr<RolloutBatch>> mine,
                                      std::int64_t& drawn, const std::stop_token& stop) {
  if (!mine && (is_alone() || mine.error().code() != ErrorCode::kCancelled))
    return tl::unexpected(std::move(mine).error());
  if (is_alone()) return (*mine)->played();
  ShareReport report;
  report.stopped = !mine;
  report.drawn_tokens = drawn;
  if (mine) {
    const Played share = (*mine)->played();
    report.longest_judgement = share.longest_judgement;
    report.queued_seconds = share.queued_seconds;
    (*mine)->add_answers_before(std::numeric_limits<std::int32_t>::max(), report.answers);
  }
  KW_TRY(ShareReport sum, sum_of_all(report));
  if (sum.stopped) return fail(ErrorCode::kCancelled, "interrupted");
  KW_TRY(Played out, played_from(parts.environment, parts.chat, parts.most_tokens, whole,
                                 std::move(sum.answers), stop));
  out.longest_judgement = sum.longest_judgement;
  out.queued_seconds = sum.queued_seconds;
  drawn = sum.drawn_tokens;
  return out;
}

Result<JudgedAnswers> RankExchange::answers_of_all(JudgedAnswers mine) {
  if (is_alone()) return mine;
  KW_TRY(const std::vector<std::string> all, group_.exchange(to_jsonl(mine)));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    KW_TRY(JudgedAnswers one, judged_answers_from_jsonl(all[rank], fmt::format("rank {}", rank)));
    mine.merge(one);
  }
  return mine;
}

}  // namespace kw::train
