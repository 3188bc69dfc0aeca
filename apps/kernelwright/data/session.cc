#include "kernelwright/data/session.h"

#include <charconv>

#include "base/text.h"

namespace kw::front {
namespace fs = std::filesystem;

Result<fs::path> session_log(const std::string& given, const std::string& out, bool resume) {
  fs::path log = given.empty() ? out + ".log.jsonl" : given;
  std::error_code error;
  if (!resume && fs::exists(log, error) && fs::file_size(log, error) > 0)
    return fail(ErrorCode::kAlreadyExists,
                "{}: is there already; --resume goes on with it, --log names another",
                log.string());
  return log;
}

data::OutputPair::Existing existing(bool replace, bool resume) {
  using Existing = data::OutputPair::Existing;
  if (replace) return Existing::kReplaced;
  return resume ? Existing::kGoneOnWith : Existing::kRefused;
}

Result<std::uint64_t> parse_seed(const std::string& word) {
  std::uint64_t out = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (error == std::errc() && end == word.data() + word.size()) return out;
  return fail(ErrorCode::kInvalidArgument, "--seed: expected a whole number from 0, not \"{}\"",
              printable(word, 40));
}

}  // namespace kw::front
