// Learns a byte-level BPE vocabulary from text and writes it as tokenizer.json, as HF's BpeTrainer
// does with the same settings.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lm/tokenizer/word_scanner.h"

namespace kw::lm {

struct TrainerOptions {
  std::size_t vocab_size = 8192;    // with the 256 bytes and the special tokens, which come first
  std::uint64_t min_frequency = 2;  // of a pair, to be merged
  WordPattern pattern = WordPattern::kQwen;
  bool nfc = true;  // normalise text first, as Qwen does
  std::vector<std::string> special = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
  std::string eos = "<|im_end|>";     // "" for none; one of `special`
  std::string pad = "<|endoftext|>";  // "" for none; one of `special`
};

// The same texts give the same vocabulary, in whatever order they were added. One thread at a time.
class BpeTrainer {
 public:
  // kInvalidArgument for a vocab_size that has no room for bytes and special tokens, or special
  // tokens that are empty, no UTF-8, given twice, or a byte's text.
  static Result<BpeTrainer> make(TrainerOptions options);

  // Counts the words of a text. Special tokens in it count as text.
  void add(std::string_view text);

  // The documents of tokenizer.json and tokenizer_config.json. The config has a ChatML template
  // when both its tokens are special tokens.
  struct Files {
    Json tokenizer, config;
  };
  Files train() const;
  // Writes both files of train() into a folder that is there.
  Status write(const Files& files, const std::filesystem::path& folder) const;

 private:
  explicit BpeTrainer(TrainerOptions options) : options_(std::move(options)) {}

  TrainerOptions options_;
  std::unordered_map<std::string, std::uint64_t> words_;
};

}  // namespace kw::lm
