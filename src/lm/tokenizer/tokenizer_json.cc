// Reads tokenizer.json, tokenizer_config.json and chat_template.jinja. What would change the tokens
// and is not read is refused.
#include <system_error>

#include "base/text.h"
#include "lm/tokenizer/caches.h"
#include "lm/tokenizer/tokenizer.h"
#include "os/file.h"

namespace kw::lm {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxTemplate = 1U << 20U;

tl::unexpected<Error> not_read(const ObjectReader& reader, std::string_view value) {
  return fail(ErrorCode::kUnsupported, "{}: \"{}\" is not read", reader.path("type"),
              printable(value, 60));
}

// A special token of tokenizer_config.json: a string, an object with "content", or null.
Result<std::string> content_of(ObjectReader& reader, std::string_view key) {
  const Json* value = reader.find(key);
  if (value == nullptr) return std::string();
  if (value->is_string()) return value->get<std::string>();
  KW_TRY(ObjectReader token, ObjectReader::make(*value, reader.path(key)));
  return token.string("content");
}

// One template, or a list of {name, template}, of which "default" counts.
Result<std::string> template_of(ObjectReader& reader) {
  const Json* value = reader.find("chat_template");
  if (value == nullptr) return std::string();
  if (value->is_string()) return value->get<std::string>();
  std::string where = reader.path("chat_template");
  if (!value->is_array())
    return fail(ErrorCode::kInvalidArgument, "{}: expected a string or a list", where);
  for (std::size_t at = 0; at < value->size(); ++at) {
    KW_TRY(ObjectReader named, ObjectReader::make((*value)[at], fmt::format("{}[{}]", where, at)));
    KW_TRY(std::string name, named.string("name"));
    if (name == "default") return named.string("template");
  }
  return std::string();
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

Result<Json> read_json(const fs::path& path) {
  KW_TRY(std::string text, os::read_file(path));
  auto value = parse_json(text);
  if (!value) return tl::unexpected(std::move(value).error().with_context(path.string()));
  return value;
}

}  // namespace

// "single" is a list of {SpecialToken: {id}} and {Sequence: {id}}; the ids of the former are listed
// in "special_tokens".
Status Tokenizer::read_template(ObjectReader& reader) {
  KW_TRY(const Json* single, reader.get("single"));
  std::string where = reader.path("single");
  if (!single->is_array()) return fail(ErrorCode::kInvalidArgument, "{}: expected a list", where);
  std::vector<TokenId> before, behind;
  bool text_seen = false;
  for (std::size_t at = 0; at < single->size(); ++at) {
    std::string here = fmt::format("{}[{}]", where, at);
    KW_TRY(ObjectReader part, ObjectReader::make((*single)[at], here));
    if (part.has("Sequence")) {
      if (text_seen)
        return fail(ErrorCode::kUnsupported, "{}: the text is there a second time", here);
      text_seen = true;
      continue;
    }
    KW_TRY(const Json* token, part.get("SpecialToken"));
    KW_TRY(ObjectReader named, ObjectReader::make(*token, part.path("SpecialToken")));
    KW_TRY(std::string name, named.string("id"));
    KW_TRY(const Json* all, reader.get("special_tokens"));
    KW_TRY(ObjectReader tokens, ObjectReader::make(*all, reader.path("special_tokens")));
    KW_TRY(const Json* found, tokens.get(name));
    KW_TRY(ObjectReader described, ObjectReader::make(*found, tokens.path(printable(name, 60))));
    KW_TRY(const Json* ids, described.get("ids"));
    if (!ids->is_array())
      return fail(ErrorCode::kInvalidArgument, "{}: expected a list", described.path("ids"));
    for (const Json& id : *ids) {
      std::int64_t number = id.is_number_integer() ? id.get<std::int64_t>() : -1;
      if (number < 0 || number > kMaxTokenId || token_bytes(static_cast<TokenId>(number)).empty())
        return fail(ErrorCode::kInvalidArgument, "{}: {} is no token's id", described.path("ids"),
                    printable(id.dump(-1, ' ', false, Json::error_handler_t::replace), 40));
      (text_seen ? behind : before).push_back(static_cast<TokenId>(number));
    }
  }
  if (!text_seen) return fail(ErrorCode::kInvalidArgument, "{}: there is no Sequence", where);
  prefix_.insert(prefix_.begin(), before.begin(), before.end());
  suffix_.insert(suffix_.end(), behind.begin(), behind.end());
  return {};
}

Status Tokenizer::read_post_processor(const Json* value, const std::string& where, int depth) {
  if (value == nullptr) return {};
  KW_TRY(ObjectReader reader, ObjectReader::make(*value, where));
  KW_TRY(std::string type, reader.string("type"));
  if (type == "ByteLevel") return {};  // changes offsets only
  if (type == "TemplateProcessing") return read_template(reader);
  if (type != "Sequence" || depth > 0) return not_read(reader, type);
  KW_TRY(const Json* parts, reader.get("processors"));
  if (!parts->is_array())
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list", reader.path("processors"));
  for (std::size_t at = 0; at < parts->size(); ++at) {
    KW_TRY_STATUS(read_post_processor(
        &(*parts)[at], fmt::format("{}[{}]", reader.path("processors"), at), depth + 1));
  }
  return {};
}

Status Tokenizer::read_config(const Json& value) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, ""));
  for (auto [key, field] :
       {std::pair("bos_token", &config_.bos), std::pair("eos_token", &config_.eos),
        std::pair("pad_token", &config_.pad)}) {
    KW_TRY(*field, content_of(reader, key));
    if (!field->empty() && !token_id(*field))
      return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is no token", key,
                  printable(*field, 80));
  }
  for (const char* key : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                          "cls_token", "mask_token"}) {
    KW_TRY(std::string token, content_of(reader, key));
    if (!token.empty()) config_.special_tokens.emplace_back(key, std::move(token));
  }
  KW_TRY(config_.chat_template, template_of(reader));
  return {};
}

Result<Tokenizer> Tokenizer::from_json(const Json& tokenizer, const Json* config,
                                       std::string_view chat_template) {
  KW_TRY(ObjectReader reader, ObjectReader::make(tokenizer, ""));
  KW_TRY(const Json* model, reader.get("model"));
  KW_TRY(PreTokenizer pretokenizer,
         PreTokenizer::from_json(reader.find("pre_tokenizer"), "pre_tokenizer"));
  const bool byte_level = pretokenizer.is_byte_level();
  KW_TRY(Bpe bpe, Bpe::from_json(*model, "model",
                                 byte_level ? BpeSymbols::kBytes : BpeSymbols::kCharacters));
  Tokenizer out(std::move(bpe), std::move(pretokenizer));
  KW_TRY(out.normalizer_, Normalizer::from_json(reader.find("normalizer"), "normalizer"));
  KW_TRY(out.decoder_, TokenDecoder::from_json(reader.find("decoder"), "decoder", byte_level));
  KW_TRY(out.added_, AddedTokens::from_json(reader.find("added_tokens"), "added_tokens", out.bpe_));
  constexpr std::string_view kConfig = "tokenizer_config.json";
  if (config != nullptr && config->is_object() && config->contains("added_tokens_decoder")) {
    auto added =
        out.added_.add_decoder((*config)["added_tokens_decoder"], "added_tokens_decoder", out.bpe_);
    if (!added) return tl::unexpected(std::move(added).error().with_context(kConfig));
  }
  out.finish();
  KW_TRY_STATUS(out.read_post_processor(reader.find("post_processor"), "post_processor", 0));
  if (config != nullptr) {
    auto read = out.read_config(*config);
    if (!read) return tl::unexpected(std::move(read).error().with_context(kConfig));
  }
  if (!chat_template.empty()) out.config_.chat_template = chat_template;
  return out;
}

Result<Tokenizer> Tokenizer::load(const fs::path& path) {
  std::error_code error;
  fs::path file = fs::is_directory(path, error) ? path / "tokenizer.json" : path;
  fs::path folder = file.parent_path();
  KW_TRY(Json tokenizer, read_json(file));
  std::optional<Json> config;
  if (fs::path beside = folder / "tokenizer_config.json"; is_there(beside)) {
    KW_TRY(config, read_json(beside));
  }
  std::string chat_template;
  if (fs::path beside = folder / "chat_template.jinja"; is_there(beside)) {
    KW_TRY(chat_template, os::read_file(beside, kMaxTemplate));
  }
  auto out = from_json(tokenizer, config ? &*config : nullptr, chat_template);
  if (!out) {
    std::string_view message = out.error().message();
    bool of_config = message.starts_with("tokenizer_config.json: ");
    return tl::unexpected(
        std::move(out).error().with_context(of_config ? folder.string() : file.string()));
  }
  return out;
}

}  // namespace kw::lm
