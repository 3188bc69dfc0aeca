// StepTimes: how long the steps of something slow took, in words for the log.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace kw {

// Not thread-safe.
class StepTimes {
 public:
  // The step that runs since the last call, or since the beginning, is over.
  void end(std::string_view step) {
    const auto now = std::chrono::steady_clock::now();
    text_ += fmt::format("{}{} {:.0f} ms", text_.empty() ? "" : ", ", step,
                         std::chrono::duration<double, std::milli>(now - begun_).count());
    begun_ = now;
  }
  const std::string& text() const { return text_; }  // "learning 120 ms, admission 80 ms"

 private:
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::string text_;
};

}  // namespace kw
