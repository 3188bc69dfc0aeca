// The version of everything that decides a verdict.
#pragma once

namespace kw::gym {

// In evidence, caches and resume keys. Raised when a rule changes.
inline constexpr int kGymVersion = 21;

}  // namespace kw::gym
