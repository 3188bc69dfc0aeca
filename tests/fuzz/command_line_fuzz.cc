// Command lines, one word a line.
#include "fuzz.h"
#include "kernelwright/cli/command_line.h"
#include "kernelwright/cli/settings.h"
#include "task/settings.h"

namespace kw::fuzz {

KW_FUZZ(command_line, text) {
  std::string_view rest = text;
  if (auto bytes = front::parse_bytes(take_until(rest, '\n')); accepted(bytes))
    KW_CHECK(*bytes < std::uint64_t{1} << 60U);
  auto command = front::parse_command_line(split(text, '\n'));
  if (!accepted(command)) return;
  auto* eval = std::get_if<front::EvalCommand>(&*command);
  if (eval == nullptr) return;
  KW_CHECK(eval->jobs >= 1 && eval->jobs <= 1024);
  if (accepted(front::take_settings(eval->set, eval->options)) &&
      accepted(gym::check(eval->options, OptionNames::kFlags))) {
    KW_CHECK(eval->options.threads >= 1 && eval->options.max_seconds > 0);
  }
  accepted(task::parse_settings(eval->set));
}

}  // namespace kw::fuzz
