// Reads `pre_tokenizer` and runs its steps.
#include "lm/tokenizer/pretokenizer.h"

#include "base/text.h"

namespace kw::lm {
namespace {

constexpr std::size_t kMaxSteps = 16;

tl::unexpected<Error> not_read(const ObjectReader& reader, std::string_view key,
                               std::string_view value) {
  return fail(ErrorCode::kUnsupported, "{}: \"{}\" is not read", reader.path(key),
              printable(value, 60));
}

}  // namespace

Status PreTokenizer::read_split(ObjectReader& reader) {
  KW_TRY(const Json* pattern, reader.get("pattern"));
  KW_TRY(ObjectReader inner, ObjectReader::make(*pattern, reader.path("pattern")));
  KW_TRY(std::string regex, inner.string("Regex"));
  KW_TRY(std::string behavior, reader.string("behavior"));
  if (behavior != "Isolated") return not_read(reader, "behavior", behavior);
  KW_TRY(bool invert, reader.boolean_or("invert", false));
  if (invert) return not_read(reader, "invert", "true");
  Step step;
  if (auto known = known_pattern(regex)) {
    step.cut = *known;
  } else {
    auto splitter = RegexSplitter::make(regex);
    if (!splitter)
      return tl::unexpected(std::move(splitter).error().with_context(inner.path("Regex")));
    step.cut = std::move(*splitter);
  }
  steps_.push_back(std::move(step));
  byte_level_ = false;
  return {};
}

Status PreTokenizer::read(const Json& value, const std::string& where, int depth) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(std::string type, reader.string("type"));
  if (type == "Split") {
    KW_TRY_STATUS(read_split(reader));
  } else if (type == "ByteLevel") {
    Step step;
    KW_TRY(step.prefix_space, reader.boolean_or("add_prefix_space", true));
    KW_TRY(bool use_regex, reader.boolean_or("use_regex", true));
    if (use_regex) step.cut = WordPattern::kGpt2;
    if (use_regex || step.prefix_space) steps_.push_back(std::move(step));
    byte_level_ = true;
  } else if (type == "Sequence" && depth == 0) {
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
  } else {
    return not_read(reader, "type", type);
  }
  if (steps_.size() > kMaxSteps)
    return fail(ErrorCode::kUnsupported, "{}: more than {} steps", where, kMaxSteps);
  return {};
}

Result<PreTokenizer> PreTokenizer::from_json(const Json& value, const std::string& where) {
  PreTokenizer out;
  KW_TRY_STATUS(out.read(value, where, 0));
  if (!out.byte_level_)
    return fail(ErrorCode::kUnsupported,
                "{}: only byte-level BPE is read, and there is no ByteLevel", where);
  return out;
}

Status PreTokenizer::split_from(std::size_t at, std::string_view text,
                                const std::function<void(std::string_view)>& word) const {
  if (text.empty()) return {};
  if (at == steps_.size()) {
    word(text);
    return {};
  }
  const Step& step = steps_[at];
  std::string prefixed;
  if (step.prefix_space && text[0] != ' ') {
    prefixed = " " + std::string(text);
    text = prefixed;
  }
  const bool is_last = at + 1 == steps_.size();
  Status inner;
  auto pass_on = [&](std::string_view piece) {
    if (inner) inner = split_from(at + 1, piece, word);
  };
  if (const auto* pattern = std::get_if<WordPattern>(&step.cut)) {
    for (std::size_t begin = 0; begin < text.size() && inner;) {
      std::size_t end = word_end(*pattern, text, begin);
      if (is_last)
        word(text.substr(begin, end - begin));
      else
        pass_on(text.substr(begin, end - begin));
      begin = end;
    }
  } else if (const auto* splitter = std::get_if<RegexSplitter>(&step.cut)) {
    KW_TRY_STATUS(
        splitter->split(text, is_last ? word : std::function<void(std::string_view)>(pass_on)));
  } else {
    pass_on(text);
  }
  return inner;
}

Status PreTokenizer::split(std::string_view text,
                           const std::function<void(std::string_view)>& word) const {
  return split_from(0, text, word);
}

}  // namespace kw::lm
