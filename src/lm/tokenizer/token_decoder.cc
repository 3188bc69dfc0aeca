#include "lm/tokenizer/token_decoder.h"

#include <charconv>

#include "base/text.h"
#include "lm/tokenizer/byte_level.h"
#include "lm/tokenizer/tokenizer.h"
#include "lm/tokenizer/unicode.h"

namespace kw::lm {

Result<TokenDecoder> TokenDecoder::from_json(const Json* value, const std::string& where,
                                             bool byte_level) {
  if (value == nullptr) return fail(ErrorCode::kUnsupported, "{}: there is none", where);
  KW_TRY(ObjectReader reader, ObjectReader::make(*value, where));
  KW_TRY(std::string type, reader.string("type"));
  TokenDecoder out;
  out.byte_level_ = type == "ByteLevel";
  if (out.byte_level_ != byte_level)
    return fail(ErrorCode::kUnsupported, "{}: \"{}\" is not read {} a ByteLevel pre-tokenizer",
                reader.path("type"), printable(type, 60), byte_level ? "behind" : "without");
  if (type == "Metaspace") {
    KW_TRY(std::string replacement, reader.string_or("replacement", "\u2581"));
    KW_TRY(bool prefix_space, reader.boolean_or("add_prefix_space", true));
    KW_TRY(std::string scheme,
           reader.string_or("prepend_scheme", prefix_space ? "always" : "never"));
    if (replacement.empty())
      return fail(ErrorCode::kInvalidArgument, "{}: is empty", reader.path("replacement"));
    out.replaced_.push_back({replacement, " "});
    out.cut_first_ = scheme != "never";
  } else if (type == "Sequence") {
    KW_TRY_STATUS(out.read_sequence(reader));
  } else if (!byte_level) {
    KW_TRY_STATUS(out.read_step(reader, type));
  }
  return out;
}

Status TokenDecoder::read_sequence(ObjectReader& reader) {
  KW_TRY(const Json* parts, reader.get("decoders"));
  if (!parts->is_array())
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list", reader.path("decoders"));
  for (std::size_t at = 0; at < parts->size(); ++at) {
    KW_TRY(ObjectReader part,
           ObjectReader::make((*parts)[at], fmt::format("{}[{}]", reader.path("decoders"), at)));
    KW_TRY(std::string type, part.string("type"));
    KW_TRY_STATUS(read_step(part, type));
  }
  return {};
}

Status TokenDecoder::read_step(ObjectReader& reader, const std::string& type) {
  auto refuse = [&](std::string_view what) {
    return fail(ErrorCode::kUnsupported, "{}: \"{}\" is not read{}", reader.path("type"),
                printable(type, 60), what);
  };
  if (type == "Replace") {
    if (byte_fallback_ || fused_) return refuse(" behind ByteFallback or Fuse");
    KW_TRY(Replacement step, Replacement::from_json(reader));
    replaced_.push_back(std::move(step));
  } else if (type == "ByteFallback") {
    if (fused_) return refuse(" behind Fuse");
    byte_fallback_ = true;
  } else if (type == "Fuse") {
    fused_ = true;
  } else if (type == "Strip") {
    KW_TRY(std::string content, reader.string_or("content", " "));
    KW_TRY(std::int64_t start, reader.integer_or("start", 0));
    KW_TRY(std::int64_t stop, reader.integer_or("stop", 0));
    if (!fused_ || content != " " || start < 0 || start > 1000 || stop != 0 || cut_spaces_ > 0)
      return refuse(": only spaces at the left, behind Fuse");
    cut_spaces_ = static_cast<std::size_t>(start);
  } else {
    return refuse("");
  }
  return {};
}

std::optional<std::uint8_t> TokenDecoder::byte_value(std::string_view token) const {
  if (!byte_fallback_ || token.size() != 6 || !token.starts_with("<0x") || token[5] != '>')
    return std::nullopt;
  std::uint8_t value = 0;
  auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, value, 16);
  if (error != std::errc() || end != token.data() + 5) return std::nullopt;
  return value;
}

std::string TokenDecoder::bytes_of(std::string_view token) const {
  if (byte_level_) return decoded_bytes(token);
  if (auto byte = byte_value(token)) return std::string(1, static_cast<char>(*byte));
  std::string out(token);
  for (const Replacement& step : replaced_) out = step.in(out);
  return out;
}

std::string TokenDecoder::first_bytes_of(std::string_view token) const {
  return cut_first_ ? Replacement{replaced_[0].from, ""}.in(token) : bytes_of(token);
}

void TokenJoiner::append(std::string_view bytes, std::string& out) {
  const std::size_t most = tokenizer_->decoder().leading_spaces_cut();
  while (cutting_ && !bytes.empty()) {
    cutting_ = cut_ < most && bytes[0] == ' ';
    if (!cutting_) break;
    ++cut_;
    bytes.remove_prefix(1);
  }
  out += bytes;
}

void TokenJoiner::end_run(std::string& out) {
  if (run_.empty()) return;
  if (is_utf8(run_)) {
    append(run_, out);
  } else {
    for (std::size_t at = 0; at < run_.size(); ++at) append("\uFFFD", out);
  }
  run_.clear();
}

void TokenJoiner::push(std::int32_t id, std::string& out) {
  if (!tokenizer_->decoder().depends_on_place()) {
    out += tokenizer_->token_bytes(id);
    return;
  }
  std::string_view text = tokenizer_->token_text(id);
  if (text.empty()) return;
  if (tokenizer_->decoder().is_byte(text)) {
    run_ += tokenizer_->token_bytes(id);
  } else {
    end_run(out);
    if (first_)
      append(tokenizer_->decoder().first_bytes_of(text), out);
    else
      append(tokenizer_->token_bytes(id), out);
  }
  first_ = false;
}

void TokenJoiner::finish(std::string& out) {
  end_run(out);
}

}  // namespace kw::lm
