#include "lm/import/gguf_tokenizer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>

#include "base/text.h"
#include "lm/tokenizer/word_scanner.h"

namespace kw::lm {
namespace {

enum TokenType : std::int64_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5
};

// What tokenizer.ggml.pre stands for: the names are llama.cpp's.
enum class Words { kGpt2, kDigitsAndGpt2, kLlama3, kQwen };
struct PreTokenizerName {
  std::string_view name;
  Words words;
};
constexpr PreTokenizerName kPreTokenizers[] = {
    {"default", Words::kGpt2},
    {"gpt-2", Words::kGpt2},
    {"phi-2", Words::kGpt2},
    {"smollm", Words::kDigitsAndGpt2},
    {"starcoder", Words::kDigitsAndGpt2},
    {"refact", Words::kDigitsAndGpt2},
    {"command-r", Words::kDigitsAndGpt2},
    {"codeshell", Words::kDigitsAndGpt2},
    {"llama3", Words::kLlama3},
    {"llama-v3", Words::kLlama3},
    {"llama-bpe", Words::kLlama3},
    {"falcon3", Words::kLlama3},
    {"pixtral", Words::kLlama3},
    {"qwen2", Words::kQwen},
    {"deepseek-r1-qwen", Words::kQwen},
    {"megrez", Words::kQwen},
};

std::string key_of(std::string_view name) {
  return fmt::format("tokenizer.ggml.{}", name);
}

const Json* find(const Json& metadata, std::string_view name) {
  auto found = metadata.find(key_of(name));
  return found == metadata.end() ? nullptr : &*found;
}

Result<const Json*> list(const Json& metadata, std::string_view name) {
  const Json* found = find(metadata, name);
  if (found == nullptr || !found->is_array())
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list", key_of(name));
  return found;
}

Result<Words> words_of(const Json& metadata) {
  const Json* pre = find(metadata, "pre");
  const std::string name = pre != nullptr && pre->is_string() ? pre->get<std::string>() : "default";
  for (const PreTokenizerName& one : kPreTokenizers) {
    if (one.name == name) return one.words;
  }
  return fail(ErrorCode::kUnsupported, "{}: \"{}\" is not read", key_of("pre"),
              printable(name, 60));
}

Json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

Json pre_tokenizer(Words words) {
  if (words == Words::kGpt2) return byte_level(true);
  Json first = {{"type", "Digits"}, {"individual_digits", true}};
  if (words != Words::kDigitsAndGpt2) {
    const auto pattern = words == Words::kLlama3 ? WordPattern::kLlama3 : WordPattern::kQwen;
    first = {{"type", "Split"},
             {"pattern", {{"Regex", regex_of(pattern)}}},
             {"behavior", "Isolated"},
             {"invert", false}};
  }
  return {{"type", "Sequence"},
          {"pretokenizers",
           Json::array({std::move(first), byte_level(words == Words::kDigitsAndGpt2)})}};
}

// A token's id under this name; nullopt where there is none.
Result<std::optional<std::size_t>> special_id(const Json& metadata, const char* name,
                                              std::size_t tokens) {
  const Json* id = find(metadata, name);
  if (id == nullptr) return std::optional<std::size_t>();
  if (!id->is_number_unsigned() || id->get<std::uint64_t>() >= tokens)
    return fail(ErrorCode::kInvalidArgument, "{}: is no token's", key_of(name));
  return std::optional<std::size_t>(id->get<std::size_t>());
}

Json begin_of_text(const std::string& token, std::size_t id) {
  auto text = [](const char* name, int type) {
    return Json{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  auto begin = [&](int type) { return Json{{"SpecialToken", {{"id", token}, {"type_id", type}}}}; };
  return {
      {"type", "TemplateProcessing"},
      {"single", Json::array({begin(0), text("A", 0)})},
      {"pair", Json::array({begin(0), text("A", 0), begin(1), text("B", 1)})},
      {"special_tokens",
       {{token, {{"id", token}, {"ids", Json::array({id})}, {"tokens", Json::array({token})}}}}}};
}

// tokens, their types, and the vocabulary that they make.
struct Vocabulary {
  std::vector<std::string> tokens;
  Json vocab = Json(Json::object_t());
  Json added = Json::array();
};

Result<Vocabulary> vocabulary_of(const Json& metadata) {
  KW_TRY(const Json* tokens, list(metadata, "tokens"));
  const Json* types = find(metadata, "token_type");
  if (types != nullptr && (!types->is_array() || types->size() != tokens->size()))
    return fail(ErrorCode::kInvalidArgument, "{}: expected as many as there are tokens",
                key_of("token_type"));
  Vocabulary out;
  Json::object_t vocab;
  std::unordered_set<std::string> known;
  for (std::size_t id = 0; id < tokens->size(); ++id) {
    const Json& token = (*tokens)[id];
    const Json type = types == nullptr ? Json(kNormal) : (*types)[id];
    auto bad = [&](std::string_view what) {
      return fail(ErrorCode::kInvalidArgument, "{}[{}]: {}", key_of("tokens"), id, what);
    };
    if (!token.is_string() || !type.is_number_integer()) return bad("expected a text and its type");
    out.tokens.push_back(token.get<std::string>());
    if (type == kUnused) continue;  // rows of the embedding that stand for nothing
    if (out.tokens.back().empty()) return bad("is empty");
    if (!known.insert(out.tokens.back()).second)
      return bad(fmt::format("\"{}\" is there twice", printable(out.tokens.back(), 60)));
    vocab.emplace_back(out.tokens.back(), id);  // known to be new
    if (type == kControl || type == kUserDefined)
      out.added.push_back({{"id", id},
                           {"content", out.tokens.back()},
                           {"single_word", false},
                           {"lstrip", false},
                           {"rstrip", false},
                           {"normalized", false},
                           {"special", type == kControl}});
  }
  out.vocab = Json(std::move(vocab));
  return out;
}

}  // namespace

Result<TokenizerFiles> tokenizer_of(const tensor::GgufFile& file) {
  const Json& metadata = file.metadata;
  const Json* model = find(metadata, "model");
  if (model == nullptr || *model != "gpt2")
    return fail(ErrorCode::kUnsupported, "{}: {} is not read, only \"gpt2\" (byte-level BPE)",
                key_of("model"), model == nullptr ? "none" : printable(model->dump(), 60));
  KW_TRY(const Words words, words_of(metadata));
  KW_TRY(Vocabulary vocabulary, vocabulary_of(metadata));
  KW_TRY(const Json* merges, list(metadata, "merges"));
  TokenizerFiles out;
  out.config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                {"clean_up_tokenization_spaces", false}};
  std::optional<std::size_t> begin;
  for (auto [name, key] :
       {std::pair("bos_token", "bos_token_id"), std::pair("eos_token", "eos_token_id"),
        std::pair("unk_token", "unknown_token_id"), std::pair("pad_token", "padding_token_id")}) {
    KW_TRY(auto id, special_id(metadata, key, vocabulary.tokens.size()));
    out.config[name] = id ? Json(vocabulary.tokens[*id]) : Json(nullptr);
    if (std::string_view(name) == "bos_token") begin = id;
  }
  const Json* adds = find(metadata, "add_bos_token");
  const bool adds_begin = adds == nullptr ? words == Words::kLlama3 : *adds == true;
  if (auto chat = metadata.find("tokenizer.chat_template");
      chat != metadata.end() && chat->is_string())
    out.config["chat_template"] = *chat;
  out.tokenizer = {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", std::move(vocabulary.added)},
      {"normalizer", words == Words::kQwen ? Json{{"type", "NFC"}} : Json(nullptr)},
      {"pre_tokenizer", pre_tokenizer(words)},
      {"post_processor",
       adds_begin && begin ? begin_of_text(vocabulary.tokens[*begin], *begin) : byte_level(false)},
      {"decoder", byte_level(true)},
      {"model",
       {{"type", "BPE"},
        {"dropout", nullptr},
        {"unk_token", nullptr},
        {"continuing_subword_prefix", nullptr},
        {"end_of_word_suffix", nullptr},
        {"fuse_unk", false},
        {"byte_fallback", false},
        {"ignore_merges", words == Words::kLlama3},
        {"vocab", std::move(vocabulary.vocab)},
        {"merges", *merges}}}};
  return out;
}

}  // namespace kw::lm
