#include "kernelwright/cli/described_options.h"

#include <cmath>

#include "base/text.h"

namespace kw::front {
namespace {

template <typename Read>
CLI::Option* from_word(CLI::App& app, const OptionFacts& facts, const std::string& usual,
                       Read read) {
  return app
      .add_option_function<std::string>(
          facts.flag,
          [read, flag = std::string(facts.flag)](const std::string& word) {
            if (Status status = read(word); !status)
              throw CLI::ValidationError(flag, status.error().message());
          },
          facts.help)
      ->type_name(facts.value)
      ->default_str(usual);
}

}  // namespace

CLI::Option* target_name(CLI::App& app, const char* name, task::Target& value, const char* type,
                         const char* description) {
  const OptionFacts facts{.flag = name, .value = type, .help = description};
  return from_word(app, facts, std::string(to_string(value)),
                   [&value](const std::string& word) -> Status {
                     KW_TRY(value, task::parse_target(word));
                     return {};
                   });
}

CLI::Option* wide_number(CLI::App& app, const OptionFacts& facts, std::uint64_t& value) {
  return from_word(app, facts, std::to_string(value), [&value](const std::string& word) -> Status {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error == std::errc() && end == word.data() + word.size()) return {};
    return fail(ErrorCode::kInvalidArgument, "expected a whole number from 0, not \"{}\"",
                printable(word, 40));
  });
}

CLI::Option* wide_number(CLI::App& app, const OptionFacts& facts, std::int64_t& value) {
  return from_word(app, facts, std::to_string(value), [&value](const std::string& word) -> Status {
    constexpr double kMaxNumber = 1e15;
    KW_TRY(const double number, parse_number(word));
    KW_TRY_STATUS(check_range("the number", number, -kMaxNumber, kMaxNumber));
    value = std::llround(number);
    return {};
  });
}

}  // namespace kw::front
