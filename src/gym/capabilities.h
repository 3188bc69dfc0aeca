// Capabilities: what a target can do on a machine.
#pragma once
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/verdict.h"

namespace kw::gym {

// The fake target of the tests has none of them.
struct Capabilities {
  bool available = false;
  std::string why_not;
  bool isolation = false, freeze = false, clock = false;
  std::vector<std::string> languages;
  std::string level;              // of the sandbox, by its name; empty: nobody says
  task::MadeWith made_with = {};  // its verdicts
};

Json to_json(const Capabilities& capabilities);
// Strict. kInvalidArgument names the key.
Result<Capabilities> capabilities_from_json(const Json& value, const std::string& where);

}  // namespace kw::gym
