// Where a command prints: results to stdout, talk and progress to stderr. An interface, so that
// tests read what was printed.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw::front {

// Any thread may call; each text appears whole.
class Console {
 public:
  virtual ~Console() = default;
  // kUnavailable when nobody reads stdout any more (a closed pipe): the command should stop.
  virtual Status out(std::string_view text) = 0;
  virtual void err(std::string_view text) = 0;

  virtual bool out_colour() const = 0;    // stdout is a terminal, and NO_COLOR is not set
  virtual bool err_terminal() const = 0;  // a status line can be redrawn
  virtual int err_columns() const = 0;
};

// Between two drawings of a status line, or two lines where none can be redrawn.
inline std::chrono::nanoseconds status_interval(const Console& console) {
  return console.err_terminal() ? std::chrono::nanoseconds(std::chrono::milliseconds(100))
                                : std::chrono::nanoseconds(std::chrono::seconds(5));
}

class TerminalConsole : public Console {
 public:
  TerminalConsole();
  Status out(std::string_view text) override;
  void err(std::string_view text) override;
  bool out_colour() const override { return out_colour_; }
  bool err_terminal() const override { return err_terminal_; }
  int err_columns() const override;

 private:
  bool out_colour_, err_terminal_;
};

}  // namespace kw::front
