// A small tokenizer.json for tests: the 256 bytes, tokens of a few merges, special tokens.
#pragma once
#include <string>
#include <vector>

#include "base/json.h"
#include "lm/tokenizer/byte_level.h"
#include "lm/tokenizer/word_scanner.h"

namespace kw::lm::testing {

// Ids: byte b has b; then one for each merge, in order; then one for each special token.
// merges: pairs of texts as tokenizer.json has them ("Ġt", "he").
inline Json tokenizer_json(const std::vector<std::pair<std::string, std::string>>& merges,
                           const std::vector<std::string>& special = {"<|endoftext|>",
                                                                      "<|im_start|>", "<|im_end|>"},
                           WordPattern pattern = WordPattern::kQwen) {
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte)
    vocab[to_byte_level(std::string(1, static_cast<char>(byte)))] = byte;
  Json rules = Json::array();
  for (const auto& [left, right] : merges) {
    if (!vocab.contains(left + right)) vocab[left + right] = vocab.size();
    rules.push_back(left + " " + right);
  }
  Json added = Json::array();
  for (const std::string& token : special)
    added.push_back({{"id", vocab.size() + added.size()},
                     {"content", token},
                     {"special", true},
                     {"normalized", false}});
  Json split = {
      {"type", "Split"}, {"pattern", {{"Regex", regex_of(pattern)}}}, {"behavior", "Isolated"}};
  Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  return {{"added_tokens", added},
          {"normalizer", {{"type", "NFC"}}},
          {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {split, byte_level}}}},
          {"post_processor", byte_level},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", rules}}}};
}

}  // namespace kw::lm::testing
