// Reads `pre_tokenizer` and runs its steps.
#include "lm/tokenizer/pretokenizer.h"

#include "base/text.h"
#include "lm/tokenizer/unicode.h"

namespace kw::lm {
namespace {

constexpr std::size_t kMaxSteps = 16;
constexpr std::size_t kMaxLiteral = 256;

tl::unexpected<Error> not_read(const ObjectReader& reader, std::string_view key,
                               std::string_view value) {
  return fail(ErrorCode::kUnsupported, "{}: \"{}\" is not read", reader.path(key),
              printable(value, 60));
}

std::string replaced(std::string_view text, char from, std::string_view to) {
  std::string out;
  for (char c : text) {
    if (c == from)
      out += to;
    else
      out += c;
  }
  return out;
}

}  // namespace

Status PreTokenizer::read_split(ObjectReader& reader) {
  KW_TRY(const Json* pattern, reader.get("pattern"));
  KW_TRY(ObjectReader inner, ObjectReader::make(*pattern, reader.path("pattern")));
  KW_TRY(std::string behavior, reader.string("behavior"));
  auto known_behavior = split_behavior_of(behavior);
  if (!known_behavior) return not_read(reader, "behavior", behavior);
  KW_TRY(bool invert, reader.boolean_or("invert", false));
  if (inner.has("String")) {
    KW_TRY(std::string literal, inner.string("String"));
    if (literal.empty() || literal.size() > kMaxLiteral)
      return fail(ErrorCode::kInvalidArgument, "{}: expected 1 to {} bytes", inner.path("String"),
                  kMaxLiteral);
    steps_.emplace_back(Pattern{std::move(literal), *known_behavior, invert});
    return {};
  }
  KW_TRY(std::string regex, inner.string("Regex"));
  auto known = known_pattern(regex);
  if (known && *known_behavior == SplitBehavior::kIsolated) {
    steps_.emplace_back(*known);
    return {};
  }
  if (known) {
    steps_.emplace_back(Pattern{*known, *known_behavior, invert});
    return {};
  }
  auto splitter = RegexSplitter::make(regex);
  if (!splitter)
    return tl::unexpected(std::move(splitter).error().with_context(inner.path("Regex")));
  steps_.emplace_back(Pattern{std::move(*splitter), *known_behavior, invert});
  return {};
}

// add_prefix_space is the older name of prepend_scheme.
Status PreTokenizer::read_metaspace(ObjectReader& reader) {
  Metaspace step;
  KW_TRY(step.replacement, reader.string_or("replacement", "\u2581"));
  if (!is_utf8(step.replacement) || step.replacement.empty() ||
      read_utf8(step.replacement).length != step.replacement.size())
    return fail(ErrorCode::kInvalidArgument, "{}: expected one character",
                reader.path("replacement"));
  KW_TRY(bool prefix_space, reader.boolean_or("add_prefix_space", true));
  KW_TRY(std::string scheme, reader.string_or("prepend_scheme", prefix_space ? "always" : "never"));
  if (scheme == "always")
    step.prepend = Prepend::kAlways;
  else if (scheme == "first")
    step.prepend = Prepend::kFirst;
  else if (scheme == "never")
    step.prepend = Prepend::kNever;
  else
    return not_read(reader, "prepend_scheme", scheme);
  KW_TRY(step.split, reader.boolean_or("split", true));
  steps_.emplace_back(std::move(step));
  return {};
}

Status PreTokenizer::read_sequence(ObjectReader& reader, int depth) {
  KW_TRY(const Json* parts, reader.get("pretokenizers"));
  if (!parts->is_array())
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list", reader.path("pretokenizers"));
  for (std::size_t at = 0; at < parts->size(); ++at) {
    if (byte_level_)
      return fail(ErrorCode::kUnsupported, "{}: a step behind ByteLevel is not read",
                  reader.path("pretokenizers"));
    KW_TRY_STATUS(
        read((*parts)[at], fmt::format("{}[{}]", reader.path("pretokenizers"), at), depth + 1));
  }
  return {};
}

Status PreTokenizer::read(const Json& value, const std::string& where, int depth) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(std::string type, reader.string("type"));
  if (type == "Split") {
    KW_TRY_STATUS(read_split(reader));
  } else if (type == "Digits") {
    KW_TRY(bool individual, reader.boolean_or("individual_digits", false));
    steps_.emplace_back(Digits{individual});
  } else if (type == "Metaspace") {
    KW_TRY_STATUS(read_metaspace(reader));
  } else if (type == "ByteLevel") {
    KW_TRY(bool prefix_space, reader.boolean_or("add_prefix_space", true));
    if (prefix_space) steps_.emplace_back(PrefixSpace{});
    KW_TRY(bool use_regex, reader.boolean_or("use_regex", true));
    if (use_regex) steps_.emplace_back(WordPattern::kGpt2);
    byte_level_ = true;
  } else if (type == "Sequence" && depth == 0) {
    KW_TRY_STATUS(read_sequence(reader, depth));
  } else {
    return not_read(reader, "type", type);
  }
  if (steps_.size() > kMaxSteps)
    return fail(ErrorCode::kUnsupported, "{}: more than {} steps", where, kMaxSteps);
  return {};
}

Result<PreTokenizer> PreTokenizer::from_json(const Json* value, const std::string& where) {
  PreTokenizer out;
  if (value != nullptr) KW_TRY_STATUS(out.read(*value, where, 0));
  return out;
}

Result<std::vector<TextSpan>> PreTokenizer::pieces_of(const Pattern& step,
                                                      std::string_view text) const {
  std::vector<TextSpan> spans;
  if (const auto* literal = std::get_if<std::string>(&step.pattern)) {
    spans = literal_spans(text, *literal);
  } else if (const auto* regex = std::get_if<RegexSplitter>(&step.pattern)) {
    KW_TRY_STATUS(regex->split(text, [&](std::string_view part, bool match) {
      const auto begin = static_cast<std::size_t>(part.data() - text.data());
      spans.push_back({begin, begin + part.size(), match});
    }));
  } else {
    // The words of the expressions that we know cover the text.
    const auto known = std::get<WordPattern>(step.pattern);
    for (std::size_t begin = 0; begin < text.size(); begin = spans.back().end)
      spans.push_back({begin, word_end(known, text, begin), true});
  }
  if (step.invert) {
    for (TextSpan& span : spans) span.match = !span.match;
  }
  return split_spans(step.behavior, spans);
}

std::string PreTokenizer::with_metaspace(const Metaspace& step, std::string_view text,
                                         bool at_start) {
  std::string out = replaced(text, ' ', step.replacement);
  const bool prepends =
      step.prepend == Prepend::kAlways || (step.prepend == Prepend::kFirst && at_start);
  if (prepends && !out.starts_with(step.replacement)) out.insert(0, step.replacement);
  return out;
}

Status PreTokenizer::split_from(std::size_t at, std::string_view text, bool at_start,
                                const Word& word) const {
  if (text.empty()) return {};
  if (at == steps_.size()) {
    word(text);
    return {};
  }
  const bool is_last = at + 1 == steps_.size();
  Status inner;
  auto pass_on = [&](std::size_t begin, std::size_t end) {
    std::string_view piece = text.substr(begin, end - begin);
    if (is_last && !piece.empty())
      word(piece);
    else if (inner)
      inner = split_from(at + 1, piece, at_start && begin == 0, word);
  };
  if (const auto* known = std::get_if<WordPattern>(&steps_[at])) {
    for (std::size_t begin = 0; begin < text.size() && inner;) {
      std::size_t end = word_end(*known, text, begin);
      pass_on(begin, end);
      begin = end;
    }
    return inner;
  }
  std::string changed;
  std::vector<TextSpan> pieces;
  if (std::holds_alternative<PrefixSpace>(steps_[at])) {
    if (text[0] != ' ') text = changed = " " + std::string(text);
    pieces = {{0, text.size()}};
  } else if (const auto* digits = std::get_if<Digits>(&steps_[at])) {
    pieces = split_spans(digits->individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous,
                         digit_spans(text));
  } else if (const auto* space = std::get_if<Metaspace>(&steps_[at])) {
    text = changed = with_metaspace(*space, text, at_start);
    pieces = {{0, text.size()}};
    if (space->split)
      pieces = split_spans(SplitBehavior::kMergedWithNext, literal_spans(text, space->replacement));
  } else if (const auto* pattern = std::get_if<Pattern>(&steps_[at])) {
    KW_TRY(pieces, pieces_of(*pattern, text));
  }
  for (const TextSpan& piece : pieces) pass_on(piece.begin, piece.end);
  return inner;
}

Status PreTokenizer::split(std::string_view text, bool at_start,
                           const std::function<void(std::string_view)>& word) const {
  return split_from(0, text, at_start, word);
}

}  // namespace kw::lm
