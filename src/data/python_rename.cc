#include "data/python_rename.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/present.h"
#include "data/tokens.h"

namespace kw::data {
namespace {

using Tokens = std::span<const Token>;

bool opens(std::string_view sign) {
  return sign == "(" || sign == "[" || sign == "{";
}
bool closes(std::string_view sign) {
  return sign == ")" || sign == "]" || sign == "}";
}

// The index of the bracket that closes the one at `open`; tokens.size() where there is none.
std::size_t closing(Tokens tokens, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    if (opens(tokens[i].text)) ++depth;
    if (closes(tokens[i].text) && --depth == 0) return i;
  }
  return tokens.size();
}

// The source from the first to the last token.
std::string_view text_of(Tokens tokens) {
  if (tokens.empty()) return {};
  const char* begin = tokens.front().text.data();
  const char* end = tokens.back().text.data() + tokens.back().text.size();
  return {begin, static_cast<std::size_t>(end - begin)};
}

// Parts between commas that are in no further bracket; a last empty one is left out.
std::vector<Tokens> parts_of(Tokens tokens) {
  std::vector<Tokens> out;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= tokens.size(); ++i) {
    const bool end = i == tokens.size();
    if (!end && opens(tokens[i].text)) ++depth;
    if (!end && closes(tokens[i].text)) --depth;
    if (!end && (depth > 0 || tokens[i].text != ",")) continue;
    if (i > begin) out.push_back(tokens.subspan(begin, i - begin));
    begin = i + 1;
  }
  return out;
}

std::size_t find_words(Tokens tokens, std::initializer_list<std::string_view> words,
                       std::size_t from = 0) {
  for (std::size_t i = from; i + words.size() <= tokens.size(); ++i) {
    if (std::equal(words.begin(), words.end(), tokens.begin() + static_cast<std::ptrdiff_t>(i),
                   [](std::string_view word, const Token& token) { return token.text == word; }))
      return i;
  }
  return tokens.size();
}

struct Parameter {
  std::string name;
  std::optional<std::string> fallback;  // a constant
};

// Parameters of the class's own __init__, without self; nullopt where it has none or takes more
// than names.
std::optional<std::vector<Parameter>> init_parameters(Tokens tokens, std::string_view entry_point) {
  const std::size_t begin = find_words(tokens, {"class", entry_point});
  if (begin == tokens.size()) return std::nullopt;
  const std::size_t next_class = find_words(tokens, {"class"}, begin + 1);
  const std::size_t init = find_words(tokens, {"def", "__init__", "("}, begin);
  if (init >= next_class) return std::nullopt;
  const std::size_t open = init + 2, close = closing(tokens, open);
  if (close == tokens.size()) return std::nullopt;
  std::vector<Parameter> out;
  for (Tokens part : parts_of(tokens.subspan(open + 1, close - open - 1))) {
    if (part[0].kind != Token::Kind::kName) return std::nullopt;  // *args, a lone *
    Parameter parameter{std::string(part[0].text), std::nullopt};
    const std::size_t equals = find_words(part, {"="});
    if (equals + 1 < part.size()) {
      const Tokens value = part.subspan(equals + 1);
      const bool constant = std::all_of(value.begin(), value.end(), [](const Token& token) {
        return token.kind != Token::Kind::kName || token.text == "True" || token.text == "False" ||
               token.text == "None";
      });
      if (constant) parameter.fallback = std::string(text_of(value));
    }
    out.push_back(std::move(parameter));
  }
  if (out.empty() || out[0].name != "self") return std::nullopt;
  out.erase(out.begin());
  return out;
}

// 'name': VALUE
std::optional<std::map<std::string, std::string>> keywords_of(Tokens inside) {
  std::map<std::string, std::string> out;
  for (Tokens part : parts_of(inside)) {
    if (part.size() < 3 || part[0].kind != Token::Kind::kText || part[1].text != ":")
      return std::nullopt;
    std::string_view name = part[0].text;
    name = name.substr(1, name.size() - 2);
    out[std::string(name)] = std::string(text_of(part.subspan(2)));
  }
  return out;
}

std::optional<std::string> by_position(std::map<std::string, std::string> keywords,
                                       std::size_t given, const std::vector<Parameter>& names) {
  std::string out;
  for (std::size_t i = given; i < names.size() && !keywords.empty(); ++i) {
    auto found = keywords.find(names[i].name);
    const auto& fallback = names[i].fallback;
    if (found == keywords.end() && !fallback) return std::nullopt;
    if (!out.empty()) out += ", ";
    out += found == keywords.end() ? present(fallback) : found->second;
    if (found != keywords.end()) keywords.erase(found);
  }
  if (!keywords.empty()) return std::nullopt;
  return out;
}

}  // namespace

bool uses_name(std::string_view source, std::string_view name) {
  const auto tokens = tokens_of(source, Syntax::kPython);
  return std::any_of(tokens.begin(), tokens.end(), [&](const Token& token) {
    return token.kind == Token::Kind::kName && token.text == name;
  });
}

std::string rename_names(std::string_view source, const std::map<std::string, std::string>& names) {
  std::string out;
  std::size_t copied = 0;
  for (const Token& token : tokens_of(source, Syntax::kPython)) {
    if (token.kind != Token::Kind::kName) continue;
    auto found = names.find(std::string(token.text));
    if (found == names.end()) continue;
    const auto at = static_cast<std::size_t>(token.text.data() - source.data());
    out += source.substr(copied, at - copied);
    out += found->second;
    copied = at + token.text.size();
  }
  return out += source.substr(copied);
}

std::string flat_init_inputs(std::string_view source, std::string_view entry_point) {
  const auto all = tokens_of(source, Syntax::kPython);
  const Tokens tokens(all);
  const std::size_t at =
      find_words(tokens, {"def", "get_init_inputs", "(", ")", ":", "return", "[", "["});
  if (at == tokens.size()) return std::string(source);
  const std::size_t outer = at + 6, list = at + 7;
  const std::size_t list_end = closing(tokens, list), outer_end = closing(tokens, outer);
  const bool pair = list_end + 2 < tokens.size() && tokens[list_end + 1].text == "," &&
                    tokens[list_end + 2].text == "{" &&
                    closing(tokens, list_end + 2) + 1 == outer_end;
  if (!pair || outer_end == tokens.size()) return std::string(source);
  const Tokens arguments = tokens.subspan(list + 1, list_end - list - 1);
  auto keywords = keywords_of(tokens.subspan(list_end + 3, outer_end - list_end - 4));
  if (!keywords) return std::string(source);
  std::string flat(text_of(arguments));
  if (!keywords->empty()) {
    const auto names = init_parameters(tokens, entry_point);
    if (!names) return std::string(source);
    auto rest = by_position(std::move(*keywords), parts_of(arguments).size(), *names);
    if (!rest) return std::string(source);
    if (!flat.empty() && !flat.ends_with(',')) flat += ",";
    flat += (flat.empty() ? "" : " ") + *rest;
  }
  const auto begin = static_cast<std::size_t>(tokens[outer].text.data() - source.data());
  const auto end = static_cast<std::size_t>(tokens[outer_end].text.data() - source.data());
  return std::string(source.substr(0, begin + 1)) + flat + std::string(source.substr(end));
}

}  // namespace kw::data
