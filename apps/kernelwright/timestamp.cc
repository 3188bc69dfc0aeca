#include "kernelwright/timestamp.h"

#include <ctime>

#include <fmt/core.h>

namespace kw::front {
namespace {

std::tm utc_of(std::chrono::system_clock::time_point time) {
  std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return utc;
}

}  // namespace

std::string timestamp(std::chrono::system_clock::time_point time) {
  const std::tm utc = utc_of(time);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::string name_of_time(std::chrono::system_clock::time_point time) {
  const std::tm utc = utc_of(time);
  return fmt::format("{:04}{:02}{:02}-{:02}{:02}{:02}", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace kw::front
