// The cost of a minor page fault on this machine.
#pragma once

namespace kw::gym {

// Nanoseconds to touch a fresh page of anonymous memory: the median over a few thousand, measured
// once in a process.
double fault_cost_ns();

}  // namespace kw::gym
