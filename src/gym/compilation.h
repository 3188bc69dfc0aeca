// How a reference in torch runs: as it is, or under torch.compile.
#pragma once
#include <optional>
#include <string_view>

namespace kw::gym {

// kMaxAutotune: torch's mode "max-autotune-no-cudagraphs", which measures many kernels for each
// product and keeps the fastest. (Graphs save launches, which no time here contains.)
enum class Compilation { kNone, kDefault, kMaxAutotune };

// "eager", "compile", "max-autotune": as baselines are named.
std::string_view to_string(Compilation compilation);
std::optional<Compilation> compilation_from_string(std::string_view name);

}  // namespace kw::gym
