#include "kernelwright/model/generate.h"

#include <charconv>

#include "kernelwright/model/remote_generate.h"
#include "kernelwright/model/server_settings.h"

namespace kw::front {
namespace {

Result<std::uint64_t> seed_of(const std::string& word) {
  std::uint64_t seed = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), seed);
  if (error != std::errc() || end != word.data() + word.size())
    return fail(ErrorCode::kInvalidArgument, "--seed: expected a whole number from 0, not \"{}\"",
                word);
  return seed;
}

}  // namespace

Json to_json(const GenerateCommand& c) {
  Json out = link::settings_to_json(c.request);
  out.update({{"model", c.model},
              {"prompt", c.prompt},
              {"chat", c.chat},
              {"prompts", c.prompts},
              {"system", c.system},
              {"json", c.json}});
  add_to(out, c.engine);
  return out;
}

Result<int> run_generate(const GenerateCommand& command, const Services& services) {
  const int given = static_cast<int>(!command.prompt.empty()) +
                    static_cast<int>(!command.chat.empty()) +
                    static_cast<int>(!command.prompts.empty());
  if (given != 1)
    return fail(ErrorCode::kInvalidArgument,
                "give one of --prompt, --chat and --prompts; see kernelwright generate --help");
  if (!command.system.empty() && command.chat.empty())
    return fail(ErrorCode::kInvalidArgument, "--system is for --chat");
  KW_TRY(std::uint64_t seed, seed_of(command.seed));
  if (is_server(command.model)) return run_remote_generate(command, seed, services);
  Json settings = to_json(command);
  settings["seed"] = seed;
  const std::string program = (services.program_folder / "kernelwright-lm").string();
  return tl::unexpected<Error>(services.become({program, "generate", settings.dump()}));
}

}  // namespace kw::front
