// ToyEnvironment: an answer is paid by how much of it is one byte. It shows in a minute on a CPU
// whether a policy learns.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "environment/environment.h"

namespace kw::environment {

struct ToySettings {
  // One task each, named by its byte: the prompt of task "a" asks for the letter a.
  std::string bytes = "a";
  int turns = 1;  // of an episode; a later turn tells the share of the one before
};

class ToyEnvironment : public Environment {
 public:
  // kInvalidArgument without bytes, with a byte that is no printable ASCII or stands there twice,
  // and without turns.
  static Result<std::unique_ptr<ToyEnvironment>> make(const ToySettings& settings);

  std::vector<std::string> tasks() const override;
  Result<std::unique_ptr<Episode>> begin(const std::string& task,
                                         const std::stop_token& stop) override;

 private:
  explicit ToyEnvironment(ToySettings settings) : settings_(std::move(settings)) {}
  const ToySettings settings_;
};

// The share of `byte` among the bytes of the text, in [0, 1]; 0 for an empty one.
double share_of(char byte, const std::string& text);

}  // namespace kw::environment
