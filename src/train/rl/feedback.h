// Self-distillation from feedback (SDPO, arXiv 2601.20802): the policy, shown what the environment
// said of its answer or a right answer to the same task, is the teacher of the answer that it gave
// without. Here is what that teacher reads; rl_step.h has the loss.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "rollout/trajectory.h"
#include "text/chat_message.h"
#include "train/rl/chat_encoder.h"
#include "train/rl/played.h"

namespace kw::train {

struct FeedbackSettings {
  bool environment = true;  // the teacher reads what the environment said of the answer
  bool answer = true;       // the teacher reads the best right answer of the group
  // An answer failed where the environment says that it is not right or, where it says neither, the
  // reward is under this.
  double reward = 1;
  std::int64_t max_tokens = 0;  // of what the teacher reads and the answer together
};

// The facts' key feedback, diagnostic or why_not has what the environment said of an answer, for
// people and models. "": it said nothing.
std::string feedback_of(const Json& facts);
bool has_failed(const rollout::Turn& turn, double reward);

// The messages, with a right answer and the feedback at the end of the last one; "" is left out.
std::vector<text::ChatMessage> with_feedback(std::vector<text::ChatMessage> messages,
                                             const std::string& answer,
                                             const std::string& feedback);

struct FeedbackCounts {
  std::int64_t failed = 0;   // answers
  std::int64_t no_room = 0;  // of them: left out, as the teacher would read more than max_tokens
};
// Fills Turn::teacher_context of the answers that failed where there is something to read. groups
// and conversations: as they were played. Errors of the chat template.
Result<FeedbackCounts> fill_teacher_contexts(std::span<rollout::Group> groups,
                                             const Conversations& conversations,
                                             const ChatEncoder& chat,
                                             const FeedbackSettings& settings);

}  // namespace kw::train
