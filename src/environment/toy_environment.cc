#include "environment/toy_environment.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace kw::environment {
namespace {

class ToyEpisode : public Episode {
 public:
  ToyEpisode(char byte, int turns) : byte_(byte), left_(turns) {
    observation_.messages = {{"user", fmt::format("The letter {}:", byte)}};
  }
  const Observation& observation() const override { return observation_; }
  Result<Step> step(const Answer& answer, const std::stop_token& stop) override {
    KW_CHECK(left_ > 0);
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
    Step out;
    out.reward = share_of(byte_, answer.text);
    const std::string feedback = fmt::format("{:.0f} of 100 were {}.", out.reward * 100, byte_);
    out.facts = {{"bytes", answer.text.size()}, {"feedback", feedback}};
    out.done = --left_ == 0;
    if (!out.done) {
      observation_ = {{{"user", feedback + " Again."}}, false};
      out.next = observation_;
    }
    return out;
  }

 private:
  const char byte_;
  int left_;
  Observation observation_;
};

}  // namespace

double share_of(char byte, const std::string& text) {
  if (text.empty()) return 0;
  return static_cast<double>(std::count(text.begin(), text.end(), byte)) /
         static_cast<double>(text.size());
}

Result<std::unique_ptr<ToyEnvironment>> ToyEnvironment::make(const ToySettings& settings) {
  if (settings.bytes.empty())
    return fail(ErrorCode::kInvalidArgument, "toy_bytes: name at least one byte");
  if (settings.turns < 1) return fail(ErrorCode::kInvalidArgument, "turns: expected 1 or more");
  for (std::size_t i = 0; i < settings.bytes.size(); ++i) {
    const char byte = settings.bytes[i];
    if (byte <= ' ' || byte > '~')
      return fail(ErrorCode::kInvalidArgument, "toy_bytes: byte {} is no printable ASCII", i);
    if (settings.bytes.find(byte) != i)
      return fail(ErrorCode::kInvalidArgument, "toy_bytes: {} stands there twice", byte);
  }
  return std::unique_ptr<ToyEnvironment>(new ToyEnvironment(settings));
}

std::vector<std::string> ToyEnvironment::tasks() const {
  std::vector<std::string> out;
  for (const char byte : settings_.bytes) out.emplace_back(1, byte);
  return out;
}

Result<std::unique_ptr<Episode>> ToyEnvironment::begin(const std::string& task,
                                                       const std::stop_token& stop) {
  if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
  if (task.size() != 1 || settings_.bytes.find(task[0]) == std::string::npos)
    return fail(ErrorCode::kNotFound, "the toy has no task {:?}", task);
  return std::make_unique<ToyEpisode>(task[0], settings_.turns);
}

}  // namespace kw::environment
