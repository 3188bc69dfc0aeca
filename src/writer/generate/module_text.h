// A plan as a KernelBench-style module, in one of the many ways in which people write one.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "writer/generate/body_text.h"
#include "writer/generate/operators.h"

namespace kw::writer::generate {

struct ModuleText {
  std::string source;
  std::vector<std::string> input_names;  // forward's parameters, one for each Slot that is an input
  struct State {
    int slot = 0;
    std::string key;  // key in the state_dict
  };
  std::vector<State> state;                             // in the order of the state_dict
  std::vector<std::pair<std::string, Json>> constants;  // the constructor's
  std::vector<std::string> init_parameters;             // the same as in task::Signature
  std::vector<std::string> ways;                        // "relu/2", one a step
};

ModuleText module_text(const Plan& plan, Rng& rng, const WantedWay& wanted = {});

}  // namespace kw::writer::generate
