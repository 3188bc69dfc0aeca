// Time that a hypervisor gave to others.
#pragma once
#include <chrono>

namespace kw::gym {

// Stolen time of all cores since the machine's start, in steps of 10 ms (/proc/stat); 0 where it
// cannot be read.
std::chrono::nanoseconds stolen_time();

}  // namespace kw::gym
