// Targets, and which bench judges a candidate of a language on each.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/language.h"

namespace kw::task {

enum class Target { kCpu, kInterpret, kCuda };

std::string_view to_string(Target target);  // "cpu", "interpret", "cuda"
std::optional<Target> target_from_string(std::string_view name);
std::span<const Target> all_targets();

// kInvalidArgument says which names there are and which of them is similar.
Result<Target> parse_target(std::string_view name);
Result<std::vector<Target>> parse_targets(const std::vector<std::string>& names);
// In JSON a target is its name.
void to_json(Json& out, Target target);
// As those of base/settings_json.h: a missing key or null leaves `out` as it is.
Status read_setting(ObjectReader& reader, const char* key, Target& out);

// Where a candidate of this language is judged when this target is asked for: Triton on the CPU is
// interpreted. nullopt: nowhere in this build.
std::optional<Target> route(Language language, Target asked);

// The target whose workloads a candidate of this language is judged by where `asked` is asked for:
// where route() sends it, or else `asked` itself.
Target workload_target(Language language, Target asked);
bool is_interpreted(Language language, Target asked);

// The languages that route() sends somewhere, as a list and as "cpp, python and triton".
std::vector<Language> languages_of(Target asked);
std::string languages_for(Target asked);

}  // namespace kw::task
