// Values that stand on the command line in words of their own: sizes, isolation levels, --set
// NAME=VALUE with a dot in NAME.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gym/gym.h"
#include "sandbox/sandbox.h"

namespace kw::front {

// "512", "64KiB", "1.5 GiB", "4G" (powers of 1024). kInvalidArgument for anything else and for 2^60
// or more.
Result<std::uint64_t> parse_bytes(std::string_view text);

// The whole text, as C reads it. kInvalidArgument says what was found.
Result<double> parse_number(std::string_view text);
Result<int> parse_whole_number(std::string_view text);

inline constexpr double kLongestTimeout = 86400;  // seconds, of flags that are a command's own

// kInvalidArgument naming the flag; also for NaN.
Status check_range(std::string_view flag, double value, double low, double high);

// none, basic, namespaces, full. kInvalidArgument with a suggestion.
Result<sandbox::Level> parse_level(std::string_view name);

// Takes the words whose NAME has a dot ("eval.threads=2") out of `words` and into the options; what
// is left are a problem's constants. kInvalidArgument for an unknown name (with a suggestion) or a
// value of the wrong kind.
Status take_settings(std::vector<std::string>& words, gym::EvalOptions& options);

// Completes the options by the words of --baseline and --set, and checks their ranges. The baseline
// is read from its file; without a word for it the options keep theirs. `set` is as for
// take_settings().
Status complete_options(const std::optional<std::string>& baseline, std::vector<std::string>& set,
                        gym::EvalOptions& options);

}  // namespace kw::front
