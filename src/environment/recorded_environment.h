// Records of what an environment said: RecordedEnvironment says it again without that one.
// docs/environment.md has the rows.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "environment/environment.h"

namespace kw::environment {

// A row: the beginning of a task's episodes, or a step. The state names the task and the texts of
// all answers so far, so that the same answers in the same order find the same step.
struct Record {
  std::string task, state;
  Observation observation;  // beginning: the first one
  bool is_step = false;
  Answer answer;  // of a step, as the rest
  Step step;
};

std::string first_state(std::string_view task);
std::string state_after(std::string_view state, const Answer& answer);

inline constexpr int kRecordSchema = 1;
Json to_json(const Record& record);
// Strict; kInvalidArgument names the key, and begins with `where`. Log-probabilities have the bits
// that were written.
Result<Record> record_from_json(const Json& value, const std::string& where);

class RecordedEnvironment : public Environment {
 public:
  // text: JSON Lines. Where a state stands twice the first one counts.
  static Result<std::unique_ptr<RecordedEnvironment>> make(std::string_view text,
                                                           const std::string& where);

  std::vector<std::string> tasks() const override { return tasks_; }
  // The episode's steps are kNotFound for an answer that was not recorded: it has no reward.
  Result<std::unique_ptr<Episode>> begin(const std::string& task,
                                         const std::stop_token& stop) override;

 private:
  class Replay;
  std::vector<std::string> tasks_;
  std::unordered_map<std::string, Record> records_;  // by state
};

}  // namespace kw::environment
