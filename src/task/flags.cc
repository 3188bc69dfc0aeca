// The allow-list of candidates' compiler flags.
#include "task/flags.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "text/names.h"

namespace kw::task {
namespace {

constexpr auto kAllowed = std::to_array<std::string_view>({
    "-O2",
    "-O3",
    "-Ofast",
    "-ffast-math",
    "-fassociative-math",
    "-freciprocal-math",
    "-ffinite-math-only",
    "-fno-math-errno",
    "-fno-signed-zeros",
    "-fno-trapping-math",
    "-funsafe-math-optimizations",
    "-ffp-contract=fast",
    "-ffp-contract=off",
    "-funroll-loops",
    "-funroll-all-loops",
    "-fopenmp-simd",
    "-ftree-vectorize",
    "-fno-tree-vectorize",
    "-fvect-cost-model=unlimited",
    "-fvect-cost-model=dynamic",
    "-fprefetch-loop-arrays",
    "-fno-strict-aliasing",
    "-mprefer-vector-width=128",
    "-mprefer-vector-width=256",
    "-mprefer-vector-width=512",
    "-mavx",
    "-mavx2",
    "-mfma",
    "-mf16c",
    "-mavx512f",
    "-mavx512bw",
    "-mavx512cd",
    "-mavx512dq",
    "-mavx512vl",
});

std::string expected_one_of() {
  std::vector<std::string> names(kAllowed.begin(), kAllowed.end());
  return join(names, " ");
}

}  // namespace

std::vector<std::string> allowed_flags() {
  return {kAllowed.begin(), kAllowed.end()};
}

Status check_flags(const std::vector<std::string>& flags) {
  for (const std::string& flag : flags) {
    if (std::find(kAllowed.begin(), kAllowed.end(), flag) != kAllowed.end()) continue;
    std::string hint = text::suggestion(flag, allowed_flags());
    return fail(ErrorCode::kInvalidArgument, "flags: \"{}\" is not allowed{}", printable(flag, 80),
                hint.empty() ? "; allowed are " + expected_one_of() : hint);
  }
  return {};
}

std::vector<CommentLine> comment_lines(std::string_view source, std::string_view key) {
  std::vector<CommentLine> out;
  std::size_t number = 0;
  while (!source.empty()) {
    ++number;
    auto end = source.find('\n');
    const char* const begin = source.data();
    std::string_view line = trim(source.substr(0, end));
    source.remove_prefix(end == std::string_view::npos ? source.size() : end + 1);
    if (!line.starts_with("//")) continue;
    line = trim(line.substr(2));
    if (!line.starts_with(key) || !trim(line.substr(key.size())).starts_with(":")) continue;
    line = trim(line.substr(key.size()));
    line = trim(line.substr(1));
    const std::size_t column = line.empty() ? 0 : static_cast<std::size_t>(line.data() - begin);
    out.push_back({number, column + 1, std::string(line)});
  }
  return out;
}

Result<std::vector<std::string>> flags_in_comments(std::string_view source) {
  std::vector<std::string> out;
  for (const CommentLine& comment : comment_lines(source, "flags")) {
    std::vector<std::string> flags;
    std::string text = comment.text;
    std::replace(text.begin(), text.end(), '\t', ' ');
    for (std::string& word : split(text, ' ')) {
      if (!word.empty()) flags.push_back(std::move(word));
    }
    auto allowed = check_flags(flags);
    if (!allowed)
      return tl::unexpected(
          std::move(allowed).error().with_context(fmt::format("line {}", comment.line)));
    for (std::string& flag : flags) {
      if (std::find(out.begin(), out.end(), flag) == out.end()) out.push_back(std::move(flag));
    }
  }
  return out;
}

}  // namespace kw::task
