// The log, through spdlog (thread-safe).
#include "base/log.h"

#include <cstdlib>
#include <memory>
#include <string>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "base/text.h"

namespace kw::log {
namespace {

constexpr std::size_t kMaxMessage = 8192;

struct Logger {
  std::shared_ptr<spdlog::logger> logger = spdlog::stderr_color_mt("kernelwright");

  Logger() {
    logger->set_pattern("%n: %^%l%$: %v");
    logger->set_level(spdlog::level::warn);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): read once, before threads start.
    if (const char* wanted = std::getenv("KW_LOG"); wanted != nullptr)
      logger->set_level(spdlog::level::from_str(wanted));
  }
};

Logger& instance() {
  static Logger logger;
  return logger;
}

void write(spdlog::level::level_enum level, std::string_view message) {
  Logger& self = instance();
  if (!self.logger->should_log(level)) return;
  self.logger->log(level, "{}", printable(message, kMaxMessage));
}

}  // namespace

void set_level(Level level) {
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                   spdlog::level::warn, spdlog::level::err};
  instance().logger->set_level(kLevels[static_cast<int>(level)]);
}

void debug(std::string_view message) {
  write(spdlog::level::debug, message);
}
void info(std::string_view message) {
  write(spdlog::level::info, message);
}
void warning(std::string_view message) {
  write(spdlog::level::warn, message);
}
void error(std::string_view message) {
  write(spdlog::level::err, message);
}

}  // namespace kw::log
