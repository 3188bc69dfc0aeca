// Points in time as text.
#pragma once
#include <chrono>
#include <string>

namespace kw::front {

std::string timestamp(std::chrono::system_clock::time_point time);     // "2025-01-31T12:00:00Z"
std::string name_of_time(std::chrono::system_clock::time_point time);  // "20250131-120000", UTC

}  // namespace kw::front
