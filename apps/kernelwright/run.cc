// Dispatch.
#include "kernelwright/run.h"

#include <algorithm>
#include <exception>

#include "kernelwright/cli/command_line.h"
#include "kernelwright/error_text.h"

namespace kw::front {
namespace {

Result<int> show_help(const HelpCommand& help, const Services& services) {
  if (help.asked_for) {
    KW_TRY_STATUS(services.console.out(help.text));
    return 0;
  }
  services.console.err(help.text);
  return 2;
}

// Returns only when there is no such program.
Error become_program_of(const Command& command, const std::vector<std::string>& arguments,
                        const Services& services) {
  const std::string name = program_of(command);
  std::vector<std::string> argv = {(services.program_folder / name).string()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  Error error = services.become(argv);
  if (error.code() != ErrorCode::kNotFound) return error;
  return fail(ErrorCode::kNotFound, "{} is not built: ./kernelwright {} in the checkout builds it",
              name, arguments.empty() ? "" : arguments[0])
      .value();
}

Result<int> execute(const std::vector<std::string>& arguments, const Services& services,
                    std::span<const CommandGroup> groups) {
  KW_TRY(Command command, parse_command_line(arguments));
  if (const auto* help = std::get_if<HelpCommand>(&command)) return show_help(*help, services);
  for (CommandGroup group : groups) {
    if (CommandOutcome outcome = group(command, services)) return *std::move(outcome);
  }
  return tl::unexpected<Error>(become_program_of(command, arguments, services));
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Services& services,
        std::span<const CommandGroup> groups) {
  Result<int> code = fail(ErrorCode::kInternal, "");
  try {
    code = execute(arguments, services, groups);
  } catch (const std::exception& e) {  // of a library: memory, file system
    code = fail(ErrorCode::kInternal, "{}", e.what());
  }
  if (code) return *code;
  // Also for a command line that could not be understood: whoever asked for JSON reads JSON.
  bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  if (!json || !services.console.out(error_line(code.error()))) {
    services.console.err(fmt::format("error: {}\n", one_line(code.error().message())));
  }
  return exit_code(code.error().code());
}

}  // namespace kw::front
