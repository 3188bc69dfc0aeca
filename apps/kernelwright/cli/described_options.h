// Flags from descriptions (base/option_facts.h). Includes CLI11, so only the grammar's files may
// include it.
#pragma once
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/option_facts.h"
#include "kernelwright/cli/command_line_parts.h"
#include "task/target.h"

namespace kw::front {

// A whole number beyond the range of int; a limit such as 1e6 may be written like that.
CLI::Option* wide_number(CLI::App& app, const OptionFacts& facts, std::uint64_t& value);
CLI::Option* wide_number(CLI::App& app, const OptionFacts& facts, std::int64_t& value);

// Adds the flag of one option, whose member has its default.
template <typename T>
void add_option(CLI::App& app, const OptionFacts& facts, T& value) {
  if (*facts.flag == 0) return;
  CLI::Option* added = nullptr;
  if constexpr (std::is_same_v<T, bool>) {
    const bool negative = std::string_view(facts.flag).starts_with("--no-");
    added = negative ? app.add_flag_callback(
                              facts.flag, [&value] { value = false; }, facts.help)
                           ->disable_flag_override()
                     : flag(app, facts.flag, value, facts.help);
  } else if constexpr (std::is_same_v<T, std::string>) {
    added = text(app, facts.flag, value, facts.value, facts.help);
  } else if constexpr (std::is_same_v<T, task::Target>) {
    added = target_name(app, facts.flag, value, facts.value, facts.help);
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    added = app.add_option(facts.flag, value, facts.help)
                ->type_name(facts.value)
                ->allow_extra_args(false);
  } else if constexpr (std::is_same_v<T, std::uint64_t> || std::is_same_v<T, std::int64_t>) {
    added = wide_number(app, facts, value);
  } else {
    added = number(app, facts.flag, value, facts.value, facts.help);
  }
  if (*facts.group != 0) added->group(facts.group);
}

// Adds the flags of all options of a struct, but for one that another struct of the command has.
template <typename Options>
void add_described(CLI::App& app, Options& options, std::string_view but_for = "") {
  describe(options, [&](const char*, auto& value, const OptionFacts& facts) {
    if (but_for.empty() || facts.flag != but_for) add_option(app, facts, value);
  });
}

}  // namespace kw::front
