#include "writer/author/answer_plan.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/text.h"

namespace kw::writer {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"operators", "limit", "strategy", "tiling"};

struct Line {
  std::size_t name = kNames.size();  // of kNames; their number: another line
  std::string_view value;
};

Line line_of(std::string_view text) {
  text = trim(text);
  if (text.starts_with("- ") || text.starts_with("* ")) text = trim(text.substr(2));
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  const auto found = std::find(kNames.begin(), kNames.end(), text.substr(0, colon));
  return {static_cast<std::size_t>(found - kNames.begin()), trim(text.substr(colon + 1))};
}

std::vector<Line> lines_before_code(std::string_view answer) {
  std::vector<Line> out;
  while (!answer.empty()) {
    const std::size_t end = std::min(answer.find('\n'), answer.size());
    const std::string_view line = answer.substr(0, end);
    if (trim(line).starts_with("```")) break;
    out.push_back(line_of(line));
    answer.remove_prefix(std::min(end + 1, answer.size()));
  }
  return out;
}

}  // namespace

Result<AnswerPlan> parse_plan(std::string_view answer) {
  const std::vector<Line> lines = lines_before_code(answer);
  std::array<std::size_t, kNames.size()> places{};
  for (std::size_t name = 0; name < kNames.size(); ++name) {
    const auto is_it = [name](const Line& line) { return line.name == name; };
    const auto found = std::find_if(lines.begin(), lines.end(), is_it);
    if (found == lines.end())
      return fail(ErrorCode::kInvalidArgument, "the plan has no line \"{}\"", kNames[name]);
    if (std::count_if(lines.begin(), lines.end(), is_it) > 1)
      return fail(ErrorCode::kInvalidArgument, "the plan has the line \"{}\" twice", kNames[name]);
    if (found->value.empty())
      return fail(ErrorCode::kInvalidArgument, "the plan's line \"{}\" is empty", kNames[name]);
    places[name] = static_cast<std::size_t>(found - lines.begin());
    if (name > 0 && places[name] != places[name - 1] + 1)
      return fail(ErrorCode::kInvalidArgument, "the plan's line \"{}\" is not behind \"{}\"",
                  kNames[name], kNames[name - 1]);
  }
  const auto value = [&](std::size_t name) { return std::string(lines[places[name]].value); };
  return AnswerPlan{value(0), value(1), value(2), value(3)};
}

}  // namespace kw::writer
