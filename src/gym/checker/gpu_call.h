// A judgement on a GPU tells more of a call than its time: the plan's kernels, its bytes, and the
// least time that its outputs allow.
#pragma once
#include <chrono>
#include <span>

#include "gym/checker/executor.h"
#include "task/gpu_facts.h"
#include "task/signature.h"

namespace kw::gym {

// Kernels have no names here: the plan's owner knows them (name_kernels()).
task::GpuCall gpu_call_of(const PlanCall& call);

// Bytes of inputs, statics and outputs.
std::uint64_t bytes_of_call(const task::Signature& signature);

// The shortest time in which a GPU could write the outputs, by a generous rate: half as much again
// as a copy reads and writes. What its cache may hold is left out. 0: no time is too short.
std::chrono::nanoseconds least_time_of_outputs(const task::Signature& signature,
                                               const task::GpuRoofline& roofline);

}  // namespace kw::gym
