// tokenizer.json up to the first NUL, text behind it: what loads encodes any bytes, decodes them
// again, streams the same, and renders conversations.
#include "fuzz.h"
#include "lm/tokenizer/byte_level.h"
#include "lm/tokenizer/chat_template.h"
#include "lm/tokenizer/detokenizer.h"
#include "lm/tokenizer/nfc.h"
#include "lm/tokenizer/tokenizer.h"
#include "lm/tokenizer/unicode.h"

namespace kw::fuzz {
namespace {

// A model without a vocabulary gets the 256 bytes and what its merges make: inputs stay short.
void add_vocabulary(Json& model) {
  if (!model.is_object() || model.contains("vocab")) return;
  Json vocab = Json::object();
  auto add = [&](const std::string& token) {
    if (!token.empty() && !vocab.contains(token)) vocab[token] = vocab.size();
  };
  for (int byte = 0; byte < 256; ++byte)
    add(lm::to_byte_level(std::string(1, static_cast<char>(byte))));
  if (auto merges = model.find("merges"); merges != model.end() && merges->is_array()) {
    for (const Json& merge : *merges) {
      bool pair =
          merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
      if (pair) add(merge[0].get<std::string>() + merge[1].get<std::string>());
    }
  }
  model["vocab"] = std::move(vocab);
}

const lm::Tokenizer& plain() {
  static const lm::Tokenizer kTokenizer = [] {
    auto json = parse_json(
        R"({"normalizer":{"type":"NFC"},"decoder":{"type":"ByteLevel"},
            "pre_tokenizer":{"type":"Sequence","pretokenizers":[
              {"type":"Split","pattern":{"Regex":"REGEX"},"behavior":"Isolated"},
              {"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]},
            "model":{"merges":[["e","r"],["Ġ","t"],["Ġt","h"],["i","n"],["a","a"],["aa","aa"]]}})");
    KW_CHECK(json);
    (*json)["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] =
        lm::regex_of(lm::WordPattern::kQwen);
    add_vocabulary((*json)["model"]);
    auto tokenizer = lm::Tokenizer::from_json(*json);
    KW_CHECK(tokenizer);
    return std::move(*tokenizer);
  }();
  return kTokenizer;
}

void check_stream(const lm::Tokenizer& tokenizer, const std::vector<lm::TokenId>& ids,
                  std::string_view text) {
  std::string whole = tokenizer.decode(ids);
  KW_CHECK(lm::is_utf8(whole));
  std::string stop(text.substr(text.size() / 2, 3));
  auto made = lm::Detokenizer::make(tokenizer, {{stop}, true});
  if (!accepted(made)) return;
  std::string streamed;
  for (lm::TokenId id : ids) {
    streamed += made->push(id);
    KW_CHECK(lm::is_utf8(streamed));
  }
  streamed += made->finish();
  KW_CHECK(streamed == whole.substr(0, whole.find(stop)));
  KW_CHECK(made->stopped_by().has_value() == (whole.find(stop) != std::string::npos));
}

}  // namespace

KW_FUZZ(tokenizer, text) {
  std::string_view document = take_until(text, '\0');
  auto ids = plain().encode(text);
  KW_CHECK(ids);
  std::string valid = lm::to_valid_utf8(text);
  KW_CHECK(plain().decode(*ids, false) == lm::to_nfc(valid));
  KW_CHECK(!lm::is_surely_nfc(valid) || lm::to_nfc(valid) == valid);
  check_stream(plain(), *ids, text);

  std::vector<text::ChatMessage> messages = {{"user", valid}, {"assistant", valid}};

  auto json = parse_json(document);
  if (!accepted(json)) return;
  if (json->is_object() && json->contains("model")) add_vocabulary((*json)["model"]);
  Json config = json->is_object() ? json->value("config", Json::object()) : Json::object();
  auto tokenizer = lm::Tokenizer::from_json(*json, &config);
  if (!accepted(tokenizer)) return;
  lm::ChatTemplate chat = lm::ChatTemplate::of(*tokenizer);
  for (lm::ChatEnd end : {lm::ChatEnd::kGenerationPrompt, lm::ChatEnd::kContinueFinal})
    accepted(chat.render(messages, {.end = end}));
  auto encoded = tokenizer->encode(text);
  if (!accepted(encoded)) return;
  for (lm::TokenId id : *encoded) KW_CHECK(!tokenizer->token_text(id).empty());
  check_stream(*tokenizer, *encoded, text);
  accepted(tokenizer->encode(text, {.add_special = false, .parse_special = false}));
}

}  // namespace kw::fuzz
