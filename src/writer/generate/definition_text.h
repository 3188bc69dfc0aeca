// A plan as a definition with a reference of functions alone.
#pragma once
#include <string>
#include <vector>

#include "task/problem.h"
#include "writer/generate/body_text.h"
#include "writer/generate/operators.h"

namespace kw::writer::generate {

struct DefinitionText {
  task::Definition definition;
  std::vector<task::Workload> workloads;
  task::Policy policy;
  std::vector<int> slots;         // indices of Plan::slots, one for each input of the definition
  std::vector<std::string> ways;  // "relu/2", one a step
  std::string steps;              // a numbered list for people
};

DefinitionText definition_text(const Plan& plan, const std::string& name, const std::string& family,
                               Rng& rng, const WantedWay& wanted = {});

}  // namespace kw::writer::generate
