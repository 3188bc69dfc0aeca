// The expressions behind the format reward, spelt out as searches: linear, and without a stack.
#include "reward/format.h"

#include "reward/code_points.h"
#include "reward/similarity.h"

namespace kw::reward {
namespace {

constexpr std::string_view kOpen = "<think>", kClose = "</think>", kFence = "```",
                           kPython = "python";

std::optional<std::string> first_block(std::string_view tail) {
  std::size_t begin = tail.find(kFence);
  if (begin == std::string_view::npos) return std::nullopt;
  begin += kFence.size();
  std::size_t end = tail.find(kFence, begin);
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view code = strip(tail.substr(begin, end - begin));
  if (code.starts_with(kPython)) code = strip(code.substr(kPython.size()));
  return std::string(code);
}

}  // namespace

Format format_reward(std::string_view completion, std::string_view end_of_text) {
  if (!end_of_text.empty() && completion.ends_with(end_of_text))
    completion.remove_suffix(end_of_text.size());
  std::size_t close = completion.find(kClose);
  if (close == std::string_view::npos || completion.find(kOpen) < close) return {};
  Format out;
  out.code = first_block(completion.substr(close + kClose.size()));
  if (strip(completion.substr(0, close)).empty()) return out;
  out.reward = out.code && !out.code->empty() ? 1 : 0.5;
  return out;
}

double format_and_similarity_reward(std::string_view completion, std::string_view oracle,
                                    std::string_view end_of_text) {
  Format format = format_reward(completion, end_of_text);
  return format.reward + similarity_reward(format.code.value_or(""), oracle);
}

}  // namespace kw::reward
