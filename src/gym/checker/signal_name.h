// Signals that end processes, in words.
#pragma once
#include <string>

namespace kw::gym {

// "a segmentation fault", "SIGKILL", "signal 1".
std::string signal_name(int number);

}  // namespace kw::gym
