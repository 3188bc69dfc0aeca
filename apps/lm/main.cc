// kernelwright-lm: language models. Started by kernelwright, which reads the command line; its own
// arguments are a command and its settings as JSON.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "generate.h"

namespace {

kw::Status run(const std::vector<std::string>& words) {
  if (words.size() != 2 || words[0] != "generate")
    return kw::fail(kw::ErrorCode::kInvalidArgument,
                    "kernelwright-lm is started by kernelwright; see kernelwright generate --help");
  KW_TRY(kw::Json settings, kw::parse_json(words[1]));
  return kw::lm_program::generate(settings);
}

}  // namespace

int main(int argc, char** argv) {
  kw::Status done;
  try {
    done = run({argv + 1, argv + argc});
  } catch (const std::bad_alloc&) {
    done = kw::fail(kw::ErrorCode::kResourceExhausted,
                    "out of memory: lower --slots or --context, or take --dtype int8");
  } catch (const std::exception& e) {  // of a library
    done = kw::fail(kw::ErrorCode::kInternal, "{}", e.what());
  }
  if (done) return 0;
  fmt::print(stderr, "error: {}\n", done.error().message());
  return kw::exit_code(done.error().code());
}
