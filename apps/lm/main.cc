// kernelwright-lm: language models. Started by kernelwright, which reads the command line; its own
// arguments are a command and its settings as JSON.
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "exceptions.h"
#include "generate.h"
#include "import.h"
#include "merge.h"
#include "serve.h"

namespace {

kw::Result<int> run(const std::vector<std::string>& words) {
  const std::string command = words.size() == 2 ? words[0] : "";
  if (command != "generate" && command != "import" && command != "merge" && command != "serve")
    return kw::fail(kw::ErrorCode::kInvalidArgument,
                    "kernelwright-lm is started by kernelwright; see kernelwright generate --help");
  KW_TRY(kw::Json settings, kw::parse_json(words[1]));
  if (command == "serve") return kw::lm_program::serve(settings);
  KW_TRY_STATUS(kw::lm_program::without_exceptions([&] {
    if (command == "import") return kw::lm_program::import(settings);
    if (command == "merge") return kw::lm_program::merge(settings);
    return kw::lm_program::generate(settings);
  }));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  kw::Result<int> code = run({argv + 1, argv + argc});
  if (code) return *code;
  fmt::print(stderr, "error: {}\n", code.error().message());
  return kw::exit_code(code.error().code());
}
