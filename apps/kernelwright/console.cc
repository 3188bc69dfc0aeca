// The process's own stdout and stderr.
#include "kernelwright/console.h"

#include <cstdlib>
#include <string>

#include <sys/ioctl.h>
#include <unistd.h>

#include "os/fd.h"

namespace kw::front {
namespace {

std::string variable(const char* name) {
  const char* value =
      std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read before threads start, never written
  return value == nullptr ? "" : value;
}

}  // namespace

TerminalConsole::TerminalConsole()
    : out_colour_(::isatty(STDOUT_FILENO) == 1 && variable("NO_COLOR").empty() &&
                  variable("TERM") != "dumb"),
      err_terminal_(::isatty(STDERR_FILENO) == 1 && variable("TERM") != "dumb") {}

Status TerminalConsole::out(std::string_view text) {
  auto written = os::write_all(STDOUT_FILENO, text);
  if (!written)
    return fail(ErrorCode::kUnavailable, "cannot print the result: {}", written.error().message());
  return {};
}

void TerminalConsole::err(std::string_view text) {
  if (!os::write_all(STDERR_FILENO, text)) return;  // there is nobody left to tell
}

int TerminalConsole::err_columns() const {
  winsize size{};
  bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

}  // namespace kw::front
