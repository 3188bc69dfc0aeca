#include "tuned.h"

#include "kernels.h"
#include "settings.h"

namespace kw::environment_program {
namespace {

Result<Json> tuned_row(plan_environment::PlanEnvironment& plans, const std::string& task,
                       std::uint64_t count) {
  KW_TRY(writer::Tuner tuner, plans.tuner(task, {}));
  std::vector<writer::Tried> tried;
  Json labels = Json::array(), rewards = Json::array();
  while (tried.size() < count) {
    KW_TRY(const auto draft, tuner.next(tried, 0));
    if (!draft) break;
    const std::string label = writer::label_of(draft->strategy, draft->tuning);
    KW_TRY(const auto episode, plans.begin(task, {}));
    const auto step = episode->step({label}, {});
    writer::Tried one{draft->strategy, draft->tuning, false, 0};
    if (step && step->facts.contains("speedup")) {
      one.correct = true;
      one.speedup = step->facts["speedup"][0].get<double>();
    }
    labels.push_back(label);
    rewards.push_back(step ? Json(step->reward) : Json());
    tried.push_back(std::move(one));
  }
  return Json{{"task", task}, {"plans", std::move(labels)}, {"rewards", std::move(rewards)}};
}

}  // namespace

Status write_tuned(const Json& value, std::uint64_t count, std::ostream& out) {
  KW_TRY(const Settings settings, settings_from_json(value));
  if (settings.kind != "plans")
    return fail(ErrorCode::kInvalidArgument, "environment.kind: only plans can be tuned");
  KW_TRY(OpenedGym opened, open_gym(settings));
  KW_TRY(const auto plans, plans_of(settings, *opened.once, std::move(opened.problems)));
  for (const std::string& task : plans->tasks()) {
    KW_TRY(const Json row, tuned_row(*plans, task, count));
    out << row.dump() << '\n' << std::flush;  // one after the other: it takes long
  }
  if (!out) return fail(ErrorCode::kResourceExhausted, "the rows cannot be written");
  return {};
}

}  // namespace kw::environment_program
