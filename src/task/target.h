// Targets, and which bench judges a candidate of a language on each.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "task/language.h"

namespace kw::task {

enum class Target { kCpu, kInterpret, kCuda };

std::string_view to_string(Target target);  // "cpu", "interpret", "cuda"
std::optional<Target> target_from_string(std::string_view name);
std::span<const Target> all_targets();

// Where a candidate of this language is judged when this target is asked for: Triton on the CPU is
// interpreted. nullopt: nowhere in this build.
std::optional<Target> route(Language language, Target asked);

// The target whose workloads a candidate of this language is judged by where `asked` is asked for:
// where route() sends it, or else `asked` itself, which need not be the name of a target.
std::string_view workload_target(Language language, std::string_view asked);
bool is_interpreted(Language language, std::string_view asked);

// The languages that route() sends somewhere, as "cpp, python and triton".
std::string languages_for(Target asked);

}  // namespace kw::task
