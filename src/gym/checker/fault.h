// Fault: why a candidate cannot be judged further, in the verdict's words.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "task/verdict.h"

namespace kw::gym {

struct Fault {
  task::Outcome outcome = task::Outcome::kRuntimeError;
  std::string violation;  // the class of a violation; empty for other outcomes
  std::string message;    // for people and the next turn; no hidden data
};

// The first fault of a judgement. It decides the verdict, and later faults do not change it.
class FirstFault {
 public:
  void blame(Fault fault) {
    if (!fault_) fault_ = std::move(fault);
  }
  bool found() const { return fault_.has_value(); }
  const std::optional<Fault>& get() const { return fault_; }

 private:
  std::optional<Fault> fault_;
};

}  // namespace kw::gym
