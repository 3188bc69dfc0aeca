// kernelwright-environment: the gym's environments for reinforcement learning. Started by
// kernelwright-train, which sends the settings over the socket; serves until the trainer closes it.
// With the words `rows SETTINGS COUNT SEED` it writes rows of random plans to stdout instead, with
// `tuned SETTINGS COUNT` what the writer's tuner finds in COUNT judgements a problem.
// exit: 0 done, or the trainer is gone; 2 an error.
#include <charconv>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

#include "kernels.h"
#include "link/channel.h"
#include "os/child_program.h"
#include "rows.h"
#include "tuned.h"

namespace {

kw::Status serve() {
  constexpr int kSocket = kw::os::ChildProgram::kSocket;
  if (::fcntl(kSocket, F_SETFD, FD_CLOEXEC) != 0)
    return kw::fail(kw::ErrorCode::kInvalidArgument,
                    "kernelwright-environment is started by kernelwright rl; see "
                    "docs/environment.md");
  kw::link::Channel channel{kw::os::UniqueFd(kSocket)};
  return kw::environment_link::serve_environment(
      channel,
      [](const kw::Json& settings, kw::environment_link::Trainer& trainer) {
        return kw::environment_program::make_environment(settings, &trainer);
      },
      {});
}

kw::Result<std::uint64_t> whole(const std::string& word) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (error == std::errc() && end == word.data() + word.size()) return out;
  return kw::fail(kw::ErrorCode::kInvalidArgument, "{:?} is no whole number", word);
}

kw::Status rows(const std::vector<std::string>& words) {
  KW_TRY(const kw::Json settings, kw::parse_json(words[1]));
  KW_TRY(const std::uint64_t count, whole(words[2]));
  KW_TRY(const std::uint64_t seed, whole(words[3]));
  return kw::environment_program::write_plan_rows(settings, count, seed, std::cout);
}

kw::Status tuned(const std::vector<std::string>& words) {
  KW_TRY(const kw::Json settings, kw::parse_json(words[1]));
  KW_TRY(const std::uint64_t count, whole(words[2]));
  return kw::environment_program::write_tuned(settings, count, std::cout);
}

kw::Status run(const std::vector<std::string>& words) {
  if (words.empty()) return serve();
  if (words.size() == 4 && words[0] == "rows") return rows(words);
  if (words.size() == 3 && words[0] == "tuned") return tuned(words);
  return kw::fail(kw::ErrorCode::kInvalidArgument,
                  "expected no words, rows SETTINGS COUNT SEED, or tuned SETTINGS COUNT");
}

}  // namespace

int main(int argc, char** argv) {
  kw::Status done;
  try {
    done = run({argv + 1, argv + argc});
  } catch (const std::exception& e) {  // of a library: memory, file system
    done = kw::fail(kw::ErrorCode::kInternal, "{}", e.what());
  }
  if (done) return 0;
  fmt::print(stderr, "error: kernelwright-environment: {}\n", done.error().message());
  return kw::exit_code(done.error().code());
}
