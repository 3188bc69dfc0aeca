#include "kernelwright/launch/model_servers.h"

#include <fmt/format.h>

namespace kw::front {
std::filesystem::path model_address(const std::filesystem::path& folder, int number) {
  return folder / fmt::format("model-{}.json", number);
}

std::vector<std::string> model_words(const ModelServers& models, int grace_seconds) {
  std::vector<std::string> out = {"--model", models.model, "--grace",
                                  std::to_string(grace_seconds)};
  out.insert(out.end(), models.options.begin(), models.options.end());
  return out;
}

}  // namespace kw::front
