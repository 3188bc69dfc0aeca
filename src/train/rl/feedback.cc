#include "train/rl/feedback.h"

#include <algorithm>
#include <array>
#include <utility>

#include "train/rl/episode_figures.h"

namespace kw::train {
namespace {

constexpr std::array kFeedbackKeys = {"feedback", "diagnostic", "why_not"};

// nullptr: no answer of the group is right.
const rollout::Turn* best_right_answer(const rollout::Group& group, double reward) {
  const rollout::Turn* out = nullptr;
  for (const rollout::Trajectory& one : group.trajectories)
    for (const rollout::Turn& turn : one.turns)
      if (!has_failed(turn, reward) && (out == nullptr || turn.reward > out->reward)) out = &turn;
  return out;
}

}  // namespace

std::string feedback_of(const Json& facts) {
  if (!facts.is_object()) return "";
  for (const char* key : kFeedbackKeys)
    if (facts.contains(key) && facts[key].is_string()) return facts[key].get<std::string>();
  return "";
}

bool has_failed(const rollout::Turn& turn, double reward) {
  return !is_correct(turn.facts).value_or(turn.reward >= reward);
}

std::vector<text::ChatMessage> with_feedback(std::vector<text::ChatMessage> messages,
                                             const std::string& answer,
                                             const std::string& feedback) {
  std::string& text = messages.back().content;
  if (!answer.empty()) text += "\n\nA correct answer:\n\n" + answer;
  if (!feedback.empty()) text += "\n\nFeedback on an earlier answer, which failed:\n\n" + feedback;
  text += "\n\nAnswer the original question correctly.";
  return messages;
}

Result<FeedbackCounts> fill_teacher_contexts(std::span<rollout::Group> groups,
                                             const Conversations& conversations,
                                             const ChatEncoder& chat,
                                             const FeedbackSettings& settings) {
  FeedbackCounts out;
  for (rollout::Group& group : groups) {
    const rollout::Turn* right = best_right_answer(group, settings.reward);
    const std::string answer = settings.answer && right != nullptr ? right->text : "";
    for (rollout::Trajectory& one : group.trajectories) {
      for (std::size_t i = 0; i < one.turns.size(); ++i) {
        rollout::Turn& turn = one.turns[i];
        if (!has_failed(turn, settings.reward)) continue;
        ++out.failed;
        const std::string feedback = settings.environment ? feedback_of(turn.facts) : "";
        if (answer.empty() && feedback.empty()) continue;
        KW_TRY(std::vector<std::int32_t> context,
               chat.begin(with_feedback(conversations.at(one.number)[i], answer, feedback)));
        if (std::ssize(context) + std::ssize(turn.tokens) > settings.max_tokens) {
          ++out.no_room;
          continue;
        }
        turn.teacher_context = std::move(context);
      }
    }
  }
  return out;
}

}  // namespace kw::train
