#include "train/rl/rank_share.h"

#include <optional>
#include <utility>

#include "base/json.h"

namespace kw::train {
namespace {

struct TaskRange {
  std::size_t begin = 0, end = 0;
  bool has(std::size_t task) const { return task >= begin && task < end; }
};

TaskRange range_of(std::size_t tasks, RankPlace place) {
  const auto rank = static_cast<std::size_t>(place.rank),
             ranks = static_cast<std::size_t>(place.ranks);
  return {tasks * rank / ranks, tasks * (rank + 1) / ranks};
}

}  // namespace

RolloutPlan share_of(RolloutPlan whole, RankPlace place) {
  const TaskRange range = range_of(whole.tasks.size(), place);
  whole.first_episode += range.begin * static_cast<std::uint64_t>(whole.samples);
  whole.tasks = {whole.tasks.begin() + static_cast<std::ptrdiff_t>(range.begin),
                 whole.tasks.begin() + static_cast<std::ptrdiff_t>(range.end)};
  return whole;
}

JudgedAnswers share_of(const JudgedAnswers& all, std::int64_t prompts, std::int64_t samples,
                       RankPlace place) {
  const TaskRange range = range_of(static_cast<std::size_t>(prompts), place);
  JudgedAnswers out;
  for (const auto& [number, answers] : all)
    if (range.has(number / static_cast<std::uint64_t>(samples) %
                  static_cast<std::uint64_t>(prompts)))
      out.emplace(number, answers);
  return out;
}

std::string to_text(const ShareReport& report) {
  return Json{{"stopped", report.stopped},
              {"longest_judgement", report.longest_judgement},
              {"queued_seconds", report.queued_seconds},
              {"drawn_tokens", report.drawn_tokens},
              {"answers", to_jsonl(report.answers)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<ShareReport> share_report(const std::string& text, const std::string& where) {
  const Json json = Json::parse(text, nullptr, false);
  ShareReport out;
  auto is = [&json](const char* key, auto&& right) {
    return json.is_object() && json.contains(key) && right(json[key]);
  };
  auto number = [](const Json& value) { return value.is_number(); };
  if (!is("stopped", [](const Json& value) { return value.is_boolean(); }) ||
      !is("longest_judgement", number) || !is("queued_seconds", number) ||
      !is("drawn_tokens", number) ||
      !is("answers", [](const Json& value) { return value.is_string(); }))
    return fail(ErrorCode::kInvalidArgument, "{}: what it told of its share cannot be read", where);
  out.stopped = json["stopped"].get<bool>();
  out.longest_judgement = json["longest_judgement"].get<double>();
  out.queued_seconds = json["queued_seconds"].get<double>();
  out.drawn_tokens = json["drawn_tokens"].get<std::int64_t>();
  KW_TRY(out.answers, judged_answers_from_jsonl(json["answers"].get<std::string>(), where));
  return out;
}

Result<Played> played_from(environment::Environment& environment, const ChatEncoder& chat,
                           std::int64_t most_tokens, RolloutPlan plan, JudgedAnswers answers,
                           const std::stop_token& stop) {
  KW_TRY(const std::unique_ptr<RolloutBatch> batch,
         RolloutBatch::begin(environment, chat, most_tokens, std::move(plan), answers, stop));
  for (OpenEpisode& one : batch->episodes()) {
    while (one.state() == OpenEpisode::State::kReady) {
      std::optional<JudgedAnswer> answer = one.take_saved();
      if (!answer || !answer->step)
        return fail(ErrorCode::kInternal, "turn {} of episode {} was told by no rank",
                    one.next_turn() + 1, one.number());
      one.answered(std::move(answer->answer));
      KW_TRY_STATUS(one.settle(std::move(*answer->step), {}, chat, most_tokens));
    }
  }
  return batch->played();
}

}  // namespace kw::train
