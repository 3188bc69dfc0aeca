// Logs for people, on stderr. Libraries report progress through interfaces and use this only for
// what nobody asked for.
#pragma once
#include <string_view>

namespace kw::log {

enum class Level { kDebug, kInfo, kWarning, kError };

void set_level(
    Level level);  // default kWarning; KW_LOG=debug|info|warning|error in the environment overrides

void debug(std::string_view message);
void info(std::string_view message);
void warning(std::string_view message);
void error(std::string_view message);

}  // namespace kw::log
