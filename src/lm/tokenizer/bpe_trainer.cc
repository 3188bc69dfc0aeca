// Merges the most frequent pair of tokens, of equals the one with the smallest ids, until the
// vocabulary is full.
//
// Counts are kept up to date word by word: each pair knows the words that it came into being in. A
// pair's entry in the queue may be out of date; it is corrected when it comes to the front. This is
// the order of work of HF's trainer, because the order shows in the result where two merges give
// the same text.
#include "lm/tokenizer/bpe_trainer.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "base/text.h"
#include "lm/tokenizer/byte_level.h"
#include "lm/tokenizer/nfc.h"
#include "lm/tokenizer/unicode.h"
#include "os/file.h"

namespace kw::lm {
namespace {

using Id = std::uint32_t;
using Pair = std::pair<Id, Id>;

struct PairHash {
  std::size_t operator()(const Pair& pair) const {
    return ((static_cast<std::uint64_t>(pair.first) << 32U) | pair.second) *
               0x9E3779B97F4A7C15ULL >>
           7U;
  }
};

struct Word {
  std::vector<Id> ids;
  std::int64_t count;
};

struct Candidate {
  Pair pair;
  std::int64_t count;
  std::vector<std::uint32_t> words;
  // The one to merge first is the greatest.
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class Training {
 public:
  Training(std::vector<std::string> tokens, std::vector<Word> words)
      : tokens_(std::move(tokens)), words_(std::move(words)) {
    for (Id id = 0; id < tokens_.size(); ++id) ids_.emplace(tokens_[id], id);
    for (std::uint32_t at = 0; at < words_.size(); ++at) {
      const Word& word = words_[at];
      for (std::size_t i = 0; i + 1 < word.ids.size(); ++i)
        change({word.ids[i], word.ids[i + 1]}, word.count, at);
    }
    queue_new_pairs();
  }

  void run(std::size_t vocab_size, std::int64_t min_frequency) {
    while (tokens_.size() < vocab_size && !queue_.empty()) {
      Candidate top = queue_.top();
      queue_.pop();
      std::int64_t count = counts_[top.pair];
      if (top.count != count) {
        top.count = count;
        queue_.push(std::move(top));
        continue;
      }
      if (top.count < 1 || top.count < min_frequency) break;
      Id merged = id_of(tokens_[top.pair.first] + tokens_[top.pair.second]);
      merges_.push_back(top.pair);
      for (std::uint32_t at : top.words) merge(at, top.pair, merged);
      queue_new_pairs();
    }
  }

  const std::vector<std::string>& tokens() const { return tokens_; }
  // A pair can come to the front again in words that it was not in before; its last place counts.
  std::vector<Pair> merges() const {
    std::vector<Pair> out;
    std::set<Pair> seen;
    for (auto pair = merges_.rbegin(); pair != merges_.rend(); ++pair) {
      if (seen.insert(*pair).second) out.push_back(*pair);
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

 private:
  Id id_of(const std::string& text) {
    auto [at, is_new] = ids_.emplace(text, static_cast<Id>(tokens_.size()));
    if (is_new) tokens_.push_back(text);
    return at->second;
  }

  void change(Pair pair, std::int64_t by, std::uint32_t word) {
    counts_[pair] += by;
    if (by <= 0) return;
    auto& words = new_pairs_[pair];
    if (words.empty() || words.back() != word) words.push_back(word);
  }

  void merge(std::uint32_t at, Pair pair, Id merged) {
    Word& word = words_[at];
    std::vector<Id>& ids = word.ids;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      if (ids[i] != pair.first || ids[i + 1] != pair.second) continue;
      if (i > 0) {
        change({ids[i - 1], pair.first}, -word.count, at);
        change({ids[i - 1], merged}, word.count, at);
      }
      ids[i] = merged;
      ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      if (i + 1 < ids.size()) {
        change({pair.second, ids[i + 1]}, -word.count, at);
        change({merged, ids[i + 1]}, word.count, at);
      }
    }
  }

  void queue_new_pairs() {
    for (auto& [pair, words] : new_pairs_) {
      if (std::int64_t count = counts_[pair]; count > 0)
        queue_.push({pair, count, std::move(words)});
    }
    new_pairs_.clear();
  }

  std::vector<std::string> tokens_;
  std::vector<Word> words_;
  std::unordered_map<std::string, Id> ids_;
  std::unordered_map<Pair, std::int64_t, PairHash> counts_;
  std::unordered_map<Pair, std::vector<std::uint32_t>, PairHash> new_pairs_;
  std::priority_queue<Candidate> queue_;
  std::vector<Pair> merges_;
};

// The bytes in the order of their characters' code points, as HF's alphabet has them.
std::vector<std::string> alphabet() {
  std::vector<std::string> out;
  for (unsigned byte = 0; byte < 256; ++byte)
    out.push_back(to_byte_level(std::string(1, static_cast<char>(byte))));
  std::sort(out.begin(), out.end());  // UTF-8 sorts as code points do
  return out;
}

Json split_by(WordPattern pattern) {
  Json byte_level = {{"type", "ByteLevel"},
                     {"add_prefix_space", false},
                     {"trim_offsets", true},
                     {"use_regex", pattern == WordPattern::kGpt2}};
  if (pattern == WordPattern::kGpt2) return byte_level;
  Json split = {{"type", "Split"},
                {"pattern", {{"Regex", regex_of(pattern)}}},
                {"behavior", "Isolated"},
                {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", {split, byte_level}}};
}

constexpr std::string_view kChatMl =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ "
    "'<|im_start|>assistant\\n' }}{% endif %}";

Json config_of(const TrainerOptions& options) {
  auto or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  Json out = {{"tokenizer_class", "PreTrainedTokenizerFast"},
              {"bos_token", nullptr},
              {"eos_token", or_null(options.eos)},
              {"pad_token", or_null(options.pad)},
              {"clean_up_tokenization_spaces", false}};
  auto has = [&](std::string_view token) {
    return std::find(options.special.begin(), options.special.end(), token) !=
           options.special.end();
  };
  if (has("<|im_start|>") && has("<|im_end|>")) out["chat_template"] = kChatMl;
  return out;
}

}  // namespace

Result<BpeTrainer> BpeTrainer::make(TrainerOptions options) {
  std::set<std::string> taken;
  for (const std::string& token : alphabet()) taken.insert(token);
  for (std::size_t at = 0; at < options.special.size(); ++at) {
    const std::string& token = options.special[at];
    if (token.empty() || !is_utf8(token) || !taken.insert(token).second)
      return fail(ErrorCode::kInvalidArgument,
                  "special[{}]: \"{}\" is empty, no UTF-8, given twice, or the text of a byte", at,
                  printable(token, 60));
  }
  for (auto [key, token] : {std::pair("eos", &options.eos), std::pair("pad", &options.pad)}) {
    if (!token->empty() &&
        std::find(options.special.begin(), options.special.end(), *token) == options.special.end())
      return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is not among the special tokens", key,
                  printable(*token, 60));
  }
  constexpr std::size_t kMaxVocab = 1U << 20U;
  if (options.vocab_size < taken.size() || options.vocab_size > kMaxVocab)
    return fail(ErrorCode::kInvalidArgument, "vocab_size: {} is not from {} to {}",
                options.vocab_size, taken.size(), kMaxVocab);
  return BpeTrainer(std::move(options));
}

void BpeTrainer::add(std::string_view text) {
  std::string valid = to_valid_utf8(text);
  if (options_.nfc && !is_surely_nfc(valid)) valid = to_nfc(valid);
  for (std::size_t begin = 0; begin < valid.size();) {
    std::size_t end = word_end(options_.pattern, valid, begin);
    ++words_[valid.substr(begin, end - begin)];
    begin = end;
  }
}

BpeTrainer::Files BpeTrainer::train() const {
  std::vector<std::string> tokens = options_.special;
  std::unordered_map<char, Id> byte_ids;
  for (const std::string& token : alphabet()) {
    byte_ids[decoded_bytes(token).front()] = static_cast<Id>(tokens.size());
    tokens.push_back(token);
  }
  std::vector<Word> words;
  for (const auto& [text, count] : words_) {
    Word word{{}, static_cast<std::int64_t>(count)};
    for (char byte : text) word.ids.push_back(byte_ids[byte]);
    words.push_back(std::move(word));
  }
  Training training(std::move(tokens), std::move(words));
  training.run(options_.vocab_size, static_cast<std::int64_t>(options_.min_frequency));

  Json added = Json::array();
  for (std::size_t id = 0; id < options_.special.size(); ++id) {
    added.push_back({{"id", id},
                     {"content", options_.special[id]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  Json::object_t vocab;
  for (const std::string& token : training.tokens()) {
    std::size_t id = vocab.size();
    vocab.emplace_back(token, id);  // known to be new: operator[] would look through all before it
  }
  Json merges = Json::array();
  for (const auto& [left, right] : training.merges())
    merges.push_back({training.tokens()[left], training.tokens()[right]});
  Json byte_level = {{"type", "ByteLevel"},
                     {"add_prefix_space", false},
                     {"trim_offsets", false},
                     {"use_regex", false}};
  Json model = {{"type", "BPE"},
                {"dropout", nullptr},
                {"unk_token", nullptr},
                {"continuing_subword_prefix", nullptr},
                {"end_of_word_suffix", nullptr},
                {"fuse_unk", false},
                {"byte_fallback", false},
                {"ignore_merges", false},
                {"vocab", Json(std::move(vocab))},
                {"merges", std::move(merges)}};
  Json tokenizer = {{"version", "1.0"},
                    {"truncation", nullptr},
                    {"padding", nullptr},
                    {"added_tokens", std::move(added)},
                    {"normalizer", options_.nfc ? Json{{"type", "NFC"}} : Json(nullptr)},
                    {"pre_tokenizer", split_by(options_.pattern)},
                    {"post_processor", byte_level},
                    {"decoder", byte_level},
                    {"model", std::move(model)}};
  return {std::move(tokenizer), config_of(options_)};
}

Status BpeTrainer::write(const Files& files, const std::filesystem::path& folder) const {
  KW_TRY_STATUS(os::write_file_atomic(folder / "tokenizer.json", files.tokenizer.dump(1) + "\n"));
  return os::write_file_atomic(folder / "tokenizer_config.json", files.config.dump(1) + "\n");
}

}  // namespace kw::lm
