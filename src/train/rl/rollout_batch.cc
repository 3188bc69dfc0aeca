#include "train/rl/rollout_batch.h"

#include <algorithm>
#include <utility>

namespace kw::train {

Result<std::unique_ptr<RolloutBatch>> RolloutBatch::begin(environment::Environment& environment,
                                                          const ChatEncoder& chat,
                                                          std::int64_t most_tokens,
                                                          RolloutPlan plan, JudgedAnswers& saved,
                                                          const std::stop_token& stop) {
  std::unique_ptr<RolloutBatch> out(new RolloutBatch(std::move(plan)));
  std::uint64_t number = out->plan_.first_episode;
  for (const std::string& task : out->plan_.tasks) {
    SharedTokens prompt;  // shared by the task's episodes
    std::vector<text::ChatMessage> asked;
    for (std::int64_t i = 0; i < out->plan_.samples; ++i, ++number) {
      KW_TRY(std::unique_ptr<environment::Episode> episode, environment.begin(task, stop));
      if (!prompt || asked != episode->observation().messages) {
        asked = episode->observation().messages;
        KW_TRY(std::vector<std::int32_t> tokens, chat.begin(asked));
        if (tokens.empty() || std::ssize(tokens) >= most_tokens)
          return fail(ErrorCode::kInvalidArgument,
                      "max_tokens: the prompt of task {:?} has {} tokens and leaves no room for an "
                      "answer",
                      task, tokens.size());
        prompt = std::make_shared<const std::vector<std::int32_t>>(std::move(tokens));
      }
      auto known = saved.extract(number);
      out->episodes_.emplace_back(std::move(episode), number, prompt,
                                  known ? std::move(known.mapped()) : std::vector<JudgedAnswer>());
    }
  }
  return out;
}

bool RolloutBatch::has_due(std::int64_t last_turn) const {
  return std::ranges::any_of(episodes_, [last_turn](const OpenEpisode& one) {
    using State = OpenEpisode::State;
    return one.state() == State::kSampled ||
           (one.state() != State::kOver && one.next_turn() <= last_turn);
  });
}

void RolloutBatch::add_answers_before(std::int32_t version, JudgedAnswers& out) const {
  for (const OpenEpisode& one : episodes_)
    if (auto answers = one.answers_before(version); !answers.empty())
      out[one.number()] = std::move(answers);
}

Played RolloutBatch::played() const {
  Played out;
  out.episodes = std::ssize(episodes_);
  double answers = 0;
  for (std::size_t i = 0; i < episodes_.size(); ++i) {
    const OpenEpisode& one = episodes_[i];
    const std::string& task = plan_.tasks[i / static_cast<std::size_t>(plan_.samples)];
    if (i % static_cast<std::size_t>(plan_.samples) == 0) out.groups.push_back({task, {}});
    for (const JudgementTime& time : one.times()) {
      answers += 1;
      out.queued_seconds += time.queued;
      out.longest_judgement = std::max(out.longest_judgement, time.judged);
    }
    std::ranges::move(one.records(task), std::back_inserter(out.records));
    out.no_room += one.has_no_room() ? 1 : 0;
    if (one.has_failed()) {
      ++out.without_reward;
      if (out.failure.empty()) out.failure = one.failure();
      continue;
    }
    out.conversations[one.number()] = one.conversations();
    out.groups.back().trajectories.push_back(one.trajectory());
  }
  if (answers > 0) out.queued_seconds /= answers;
  return out;
}

}  // namespace kw::train
