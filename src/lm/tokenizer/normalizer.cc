#include "lm/tokenizer/normalizer.h"

#include "base/text.h"
#include "lm/tokenizer/nfc.h"

namespace kw::lm {
namespace {

constexpr std::size_t kMaxNormalizers = 16;

}  // namespace

Result<Replacement> Replacement::from_json(ObjectReader& reader) {
  KW_TRY(const Json* pattern, reader.get("pattern"));
  KW_TRY(ObjectReader inner, ObjectReader::make(*pattern, reader.path("pattern")));
  Replacement out;
  KW_TRY(out.from, inner.string("String"));
  KW_TRY(out.to, reader.string("content"));
  if (out.from.empty())
    return fail(ErrorCode::kInvalidArgument, "{}: is empty", inner.path("String"));
  return out;
}

std::string Replacement::in(std::string_view text) const {
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, done)) {
    out += text.substr(done, at - done);
    out += to;
    done = at + from.size();
  }
  out += text.substr(done);
  return out;
}

Status Normalizer::read(const Json& value, const std::string& where, int depth) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(std::string type, reader.string("type"));
  if (type == "NFC") {
    steps_.emplace_back(Nfc{});
  } else if (type == "Replace") {
    KW_TRY(Replacement step, Replacement::from_json(reader));
    steps_.emplace_back(std::move(step));
  } else if (type == "Prepend") {
    KW_TRY(std::string text, reader.string("prepend"));
    steps_.emplace_back(Prepend{std::move(text)});
  } else if (type == "Sequence" && depth == 0) {
    KW_TRY(const Json* parts, reader.get("normalizers"));
    if (!parts->is_array())
      return fail(ErrorCode::kInvalidArgument, "{}: expected a list", reader.path("normalizers"));
    for (std::size_t at = 0; at < parts->size(); ++at) {
      KW_TRY_STATUS(
          read((*parts)[at], fmt::format("{}[{}]", reader.path("normalizers"), at), depth + 1));
    }
  } else {
    return fail(ErrorCode::kUnsupported, "{}: \"{}\" is not read", reader.path("type"),
                printable(type, 60));
  }
  if (steps_.size() > kMaxNormalizers)
    return fail(ErrorCode::kUnsupported, "{}: more than {} steps", where, kMaxNormalizers);
  return {};
}

Result<Normalizer> Normalizer::from_json(const Json* value, const std::string& where) {
  Normalizer out;
  if (value != nullptr) KW_TRY_STATUS(out.read(*value, where, 0));
  return out;
}

std::string Normalizer::run(std::string_view text) const {
  std::string out(text);
  for (const auto& step : steps_) {
    if (std::holds_alternative<Nfc>(step))
      out = to_nfc(out);
    else if (const auto* replace = std::get_if<Replacement>(&step))
      out = replace->in(out);
    else if (const auto* prepend = std::get_if<Prepend>(&step); !out.empty())
      out.insert(0, prepend->text);
  }
  return out;
}

bool Normalizer::may_change(std::string_view text) const {
  for (const auto& step : steps_) {
    if (!std::holds_alternative<Nfc>(step)) return true;
  }
  return !steps_.empty() && !is_surely_nfc(text);
}

}  // namespace kw::lm
