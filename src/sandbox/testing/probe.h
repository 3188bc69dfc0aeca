// Exit codes of the probe program (probe.cc).
#pragma once

namespace kw::sandbox {

inline constexpr int kProbeDenied = 10;
inline constexpr int kProbeWorked = 20;

}  // namespace kw::sandbox
