// OptionFacts holds what a command line, a settings file and an error say of one option. It is
// written once, beside the default: a struct S with options has a function template
// `describe(options, visit)` that calls visit(key, member, facts) for each member.
#pragma once
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "base/result.h"

namespace kw {

struct OptionFacts {
  const char* flag;        // a bool that is true by default has a flag that begins with --no-;
                           // "": there is none
  const char* value = "";  // how --help names the flag's value; "" for a bool
  const char* group = "";  // of --help; "": the command's own
  const char* help = "";
  double low = 0, high = 0;  // the range of a number; both 0: any
};

// T is Options, const or not: a header with several structs of options has a describe() for each.
template <typename T, typename Options>
concept OptionsOf = std::same_as<std::remove_const_t<T>, Options>;

// How an error calls an option: by its flag, or by its key below a prefix.
enum class OptionNames { kFlags, kKeys };

// kInvalidArgument for the first number that is out of its range, or that is not one. where: the
// keys' prefix; "": none.
template <typename Options>
Status check_ranges(const Options& options, OptionNames names, const std::string& where = "") {
  Status status;
  describe(options, [&](const char* key, const auto& value, const OptionFacts& facts) {
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      const auto number = static_cast<double>(value);
      const bool has_range = facts.low != 0 || facts.high != 0;
      if (!status ||
          (has_range ? number >= facts.low && number <= facts.high : !std::isnan(number)))
        return;
      const std::string name = names == OptionNames::kFlags ? std::string(facts.flag)
                               : where.empty()              ? std::string(key)
                                                            : where + "." + key;
      status = has_range ? fail(ErrorCode::kInvalidArgument, "{}: {} is not between {} and {}",
                                name, number, facts.low, facts.high)
                         : fail(ErrorCode::kInvalidArgument, "{}: not a number", name);
    }
  });
  return status;
}

}  // namespace kw
