#include "rows.h"

#include "kernels.h"
#include "plan_environment/plan_prompt.h"
#include "settings.h"
#include "text/chat_message.h"

namespace kw::environment_program {
namespace {

constexpr double kShare = 0.1;  // of choices that are not as usual: answers stay short

}  // namespace

Status write_plan_rows(const Json& value, std::uint64_t count, std::uint64_t seed,
                       std::ostream& out) {
  KW_TRY(const Settings settings, settings_from_json(value));
  if (settings.kind != "plans")
    return fail(ErrorCode::kInvalidArgument, "environment.kind: rows are made for plans only");
  KW_TRY(const environment_link::ServedEnvironment served, make_environment(value));
  const std::vector<std::string> tasks = served.environment->tasks();
  for (std::uint64_t i = 0; i < count; ++i) {
    KW_TRY(const auto episode, served.environment->begin(tasks[i % tasks.size()], {}));
    Rng rng = Rng::at(seed, i);
    const writer::Labelled plan = plan_environment::random_plan(rng, language_of(settings), kShare);
    std::vector<text::ChatMessage> messages = episode->observation().messages;
    messages.push_back({"assistant", writer::label_of(plan.strategy, plan.tuning)});
    out << Json{{"messages", text::to_json(messages)}}.dump() << "\n";
  }
  if (!out.flush()) return fail(ErrorCode::kResourceExhausted, "the rows cannot be written");
  return {};
}

}  // namespace kw::environment_program
