// Backends that a candidate needs and this machine lacks: no fault of the candidate's.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "task/candidate.h"

namespace kw::gym {

// For a candidate that failed, where `told` is what it and its compiler said: the missing backend's
// name and what to do ("tilelang: ..."), under 200 characters; nullopt where the failure is its
// own. Both its sources and what was told must name the backend. A candidate can so excuse itself:
// the verdict `unsupported` earns nothing.
std::optional<std::string> missing_backend(const task::Candidate& candidate, std::string_view told);

}  // namespace kw::gym
