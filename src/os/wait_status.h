// How a process ended, in words.
#pragma once
#include <string>

namespace kw::os {

// status: as waitpid() gives it. "exit code 2", "signal 9 (Killed)".
std::string ending_of(int status);

}  // namespace kw::os
