#include "data/features.h"

#include <algorithm>
#include <iterator>

#include "base/hash.h"
#include "prompt/blocks.h"
#include "task/language.h"

namespace kw::data {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  for (char c : text) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      if (!word.empty()) out.push_back(std::move(word));
      word.clear();
    } else {
      word += upper ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  if (!word.empty()) out.push_back(std::move(word));
  return out;
}

void append(std::vector<std::string>& to, std::vector<std::string> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

std::string reference_of(const SampleProblem& problem) {
  auto value = parse_json(problem.source);
  if (!value || !value->is_object()) return problem.source;
  auto found = value->find("reference");
  return found != value->end() && found->is_string() ? found->get<std::string>() : problem.source;
}

}  // namespace

Syntax syntax_of(std::string_view language) {
  for (const task::LanguageFacts& facts : task::all_languages()) {
    const bool is_tag = std::ranges::find(facts.fence_tags, language) != facts.fence_tags.end();
    if (facts.syntax == task::Syntax::kPython && (is_tag || facts.name == language))
      return Syntax::kPython;
  }
  return Syntax::kC;
}

std::vector<std::string> text_tokens(std::string_view text, std::string_view language) {
  std::vector<std::string> out;
  for (const prompt::CodeBlock& block : prompt::code_blocks(text))
    append(out, normalised(block.code, syntax_of(block.tag.empty() ? language : block.tag)));
  return out.empty() ? words_of(text) : out;
}

std::vector<std::string> problem_tokens(const Sample& sample) {
  if (sample.problem) {
    const SampleProblem& problem = *sample.problem;
    return normalised(problem.is_module ? problem.source : reference_of(problem), Syntax::kPython);
  }
  std::vector<std::string> out;
  for (const text::ChatMessage& message : sample.messages) {
    if (message.role == "user") append(out, text_tokens(message.content, "python"));
  }
  return out;
}

Features features_of(const Sample& sample, ComparedBy by) {
  std::vector<std::string> tokens;
  if (by != ComparedBy::kAnswer) tokens = problem_tokens(sample);
  tokens.emplace_back("\n");  // no token is a line end, so problem and answer stay apart
  if (by != ComparedBy::kProblem) {
    append(tokens, text_tokens(sample.answer(), sample.language));
    if (sample.pending) append(tokens, text_tokens(sample.pending->previous, sample.language));
  }
  if (!sample.problem) {
    for (const text::ChatMessage& message : sample.messages) {
      const bool answer = message.role == "assistant";
      if (by == ComparedBy::kBoth || answer == (by == ComparedBy::kAnswer))
        append(tokens, words_of(prompt::answer_parts(message.content).prose));
    }
  }
  Features out;
  out.shingles = shingles(tokens, kShingle);
  tokens.emplace_back("\n");
  if (by != ComparedBy::kProblem) tokens.emplace_back(to_string(sample.kind));
  tokens.push_back(sample.language);
  out.digest = normalised_digest(tokens);
  return out;
}

}  // namespace kw::data
