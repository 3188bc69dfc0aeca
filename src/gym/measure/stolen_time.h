// Time that a hypervisor gave to others.
#pragma once
#include <chrono>

namespace kw::gym {

// Stolen time of all cores since the machine's start, in steps of 10 ms (/proc/stat); 0 where it
// cannot be read.
std::chrono::nanoseconds stolen_time();
// The same by a text that begins as /proc/stat does; 0 for another one.
std::chrono::nanoseconds stolen_time_in(const char* proc_stat, long ticks_per_second);

}  // namespace kw::gym
