// Text to tokens and back, as HF `tokenizers` does it: byte-level BPE read from a tokenizer.json
// (docs/tokenizer.md).
//
// A Tokenizer is immutable: any number of threads may use it at once. Text that comes in may hold
// any bytes; those that are no UTF-8 count as U+FFFD. Text that goes out is always UTF-8.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lm/tokenizer/added_tokens.h"
#include "lm/tokenizer/bpe.h"
#include "lm/tokenizer/normalizer.h"
#include "lm/tokenizer/pretokenizer.h"
#include "lm/tokenizer/token_decoder.h"

namespace kw::lm {

struct EncodeOptions {
  bool add_special = true;    // what the post-processor adds: <|begin_of_text|> of Llama 3
  bool parse_special = true;  // special tokens in the text are tokens; false: they are text
};

// What tokenizer_config.json and chat_template.jinja beside it say.
struct TokenizerConfig {
  std::string bos, eos, pad;  // contents; "" where there is none
  std::string chat_template;  // Jinja; "" where there is none
  // What templates know by name: "bos_token", "unk_token", ..., those that are there.
  std::vector<std::pair<std::string, std::string>> special_tokens;
};

class Tokenizer {
 public:
  // A tokenizer.json, or the folder that holds one; tokenizer_config.json and chat_template.jinja
  // beside it are read where they are. Errors name the file and the key: kNotFound,
  // kInvalidArgument for what is corrupt, kUnsupported for what is not read.
  static Result<Tokenizer> load(const std::filesystem::path& path);
  // config, chat_template: the contents of the other two files, or nullptr and "".
  static Result<Tokenizer> from_json(const Json& tokenizer, const Json* config = nullptr,
                                     std::string_view chat_template = {});

  // kResourceExhausted only where the file brought a regular expression of its own that needs too
  // many steps on this text.
  Result<std::vector<TokenId>> encode(std::string_view text, EncodeOptions options = {}) const;

  // The bytes of the tokens with U+FFFD for what is no UTF-8; ids without a token are left out.
  std::string decode(std::span<const TokenId> ids, bool skip_special = true) const;

  // Gives what the token adds to decoded text; "" for an id without a token. It is valid as long
  // as the tokenizer.
  std::string_view token_bytes(TokenId id) const;
  // The token as tokenizer.json writes it; "" for an id without one. Valid as long as the
  // tokenizer.
  std::string_view token_text(TokenId id) const;
  const TokenDecoder& decoder() const { return decoder_; }
  bool is_special(TokenId id) const;
  // The token written like this in tokenizer.json: "<|im_end|>", "Ġthe".
  std::optional<TokenId> token_id(std::string_view token) const;
  // One more than the highest id; a model's embedding may have more rows.
  std::size_t size() const { return bytes_.size(); }

  std::optional<TokenId> bos() const { return token_id(config_.bos); }
  std::optional<TokenId> eos() const { return token_id(config_.eos); }
  std::optional<TokenId> pad() const { return token_id(config_.pad); }
  const TokenizerConfig& config() const { return config_; }

 private:
  class Caches;
  Tokenizer(Bpe bpe, PreTokenizer pretokenizer);
  Status read_post_processor(const Json* value, const std::string& where, int depth);
  Status read_template(ObjectReader& reader);
  Status read_config(const Json& value);
  void finish();
  Status encode_text(std::string_view text, bool parse_special, WordCache& cache,
                     std::vector<TokenId>& out) const;

  Bpe bpe_;
  PreTokenizer pretokenizer_;
  AddedTokens added_;
  Normalizer normalizer_;
  TokenDecoder decoder_;
  std::vector<TokenId> prefix_, suffix_;  // of the post-processor
  TokenizerConfig config_;
  std::vector<std::string> bytes_;  // by id
  std::vector<bool> special_;       // by id
  std::unique_ptr<Caches> caches_;

 public:
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();
};

}  // namespace kw::lm
