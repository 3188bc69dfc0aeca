// A verdict as a short card for people; docs/cli.md shows samples.
#pragma once
#include <string>

#include "task/verdict.h"

namespace kw::front {

// Ends in an empty line. Untrusted text in the verdict is printed with control characters replaced.
std::string card(const task::Verdict& verdict, bool colour);

// "1.42x (1.38 to 1.46)"
std::string speedup_text(const task::Speedup& speedup);

}  // namespace kw::front
