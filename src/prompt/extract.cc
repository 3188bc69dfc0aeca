// Ranks the blocks of an answer and takes the best.
#include "prompt/extract.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <tuple>

#include "base/text.h"
#include "prompt/continued_fence.h"
#include "prompt/file_name.h"
#include "prompt/join_blocks.h"
#include "prompt/merge_files.h"
#include "prompt/unwrap.h"
#include "task/signature.h"
#include "text/cpp_scan.h"
#include "text/python_scan.h"

namespace kw::prompt {
namespace {

using task::Language;

bool has_word(std::string_view text, std::string_view word) {
  auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    std::size_t end = at + word.size();
    if ((at == 0 || !in_word(text[at - 1])) && (end == text.size() || !in_word(text[end])))
      return true;
  }
  return false;
}

// Lines without white space at their ends, blank ones left out: how echoes are recognised.
std::string bare_lines(std::string_view code) {
  std::string out;
  for (std::size_t at = 0; at < code.size();) {
    std::size_t end = std::min(code.find('\n', at), code.size());
    std::string_view line = code.substr(at, end - at);
    std::size_t last = line.find_last_not_of(" \t\r");
    if (last != std::string_view::npos) out.append(line.substr(0, last + 1)).push_back('\n');
    at = end + 1;
  }
  return out;
}

constexpr std::array<std::string_view, 5> kEndsOfTurn = {"<|im_end|>", "<|endoftext|>",
                                                         "<|eot_id|>", "</s>", "<|end|>"};

void cut_ends_of_turn(std::string& code) {
  std::size_t cut = code.size();
  for (std::string_view end : kEndsOfTurn) cut = std::min(cut, code.find(end));
  if (cut < code.size()) code.erase(cut).push_back('\n');
}

// A fence without a tag whose first line is the tag.
void take_tag_from_code(CodeBlock& block, std::span<const std::string_view> tags) {
  if (!block.tag.empty()) return;
  std::size_t end = block.code.find('\n');
  std::string_view first = trim(std::string_view(block.code).substr(0, end));
  if (end == std::string::npos || std::find(tags.begin(), tags.end(), first) == tags.end()) return;
  block.tag = first;
  block.code.erase(0, end + 1);
}

// Where code without a fence begins: at the first line that can be nothing else.
std::size_t begin_of_code(std::string_view text) {
  constexpr std::array<std::string_view, 9> kStarts = {"import ",      "from ",   "#include",
                                                       "// ",          "@triton", "@torch",
                                                       "extern \"C\"", "#pragma", "class "};
  for (std::size_t at = 0; at < text.size();) {
    std::string_view line = text.substr(at, text.find('\n', at) - at);
    if (std::any_of(kStarts.begin(), kStarts.end(),
                    [&](std::string_view start) { return line.starts_with(start); }))
      return at;
    at += line.size() + 1;
  }
  return text.size();
}

// Of an answer without fences: JSON, the last <answer>, <code> or <kernel>, or all of it.
std::vector<CodeBlock> blocks_without_fences(const std::string& prose) {
  if (std::vector<CodeBlock> blocks = blocks_of_json(prose); !blocks.empty()) return blocks;
  for (std::string_view name : {"code", "kernel", "answer"}) {
    std::string open = fmt::format("<{}>", name), close = fmt::format("</{}>", name);
    std::size_t begin = prose.rfind(open);
    if (begin == std::string::npos) continue;
    begin += open.size();
    std::size_t end = prose.find(close, begin);
    std::string code(trim(std::string_view(prose).substr(begin, end - begin)));
    return {{"", code + "\n", end != std::string::npos, ""}};
  }
  std::size_t begin = begin_of_code(prose);
  if (begin == prose.size()) return {};
  return {{"", prose.substr(begin), false, file_name_of_code(prose.substr(begin))}};
}

std::vector<CodeBlock> all_blocks(const AnswerParts& parts, Language language, bool has_entry) {
  std::vector<CodeBlock> out;
  for (const CodeBlock& block : parts.blocks) {
    std::vector<CodeBlock> inside;
    if (block.tag == "json" || block.tag.empty()) inside = blocks_of_json(block.code);
    if (inside.empty()) inside.push_back(block);
    std::move(inside.begin(), inside.end(), std::back_inserter(out));
  }
  // Prose is code only when there is a way to tell.
  if (out.empty() && has_entry) out = blocks_without_fences(parts.prose);
  const auto tags = task::facts_of(language).fence_tags;
  for (CodeBlock& block : out) {
    block.code = without_entities(std::move(block.code));
    if (!block.closed) cut_ends_of_turn(block.code);
    take_tag_from_code(block, tags);
  }
  return out;
}

class Choice {
 public:
  Choice(std::vector<CodeBlock> blocks, Language language, const ExtractOptions& options)
      : blocks_(std::move(blocks)),
        language_(language),
        options_(options),
        tags_(task::facts_of(language).fence_tags) {
    for (const std::string& shown : options.shown) shown_.push_back(bare_lines(shown));
  }

  const std::vector<CodeBlock>& blocks() const { return blocks_; }

  // Null: no block can be the candidate.
  const CodeBlock* best(bool with_unclosed) const {
    const CodeBlock* best = nullptr;
    Rank highest;
    for (const CodeBlock& block : blocks_) {
      if (!with_unclosed && !block.closed) continue;
      Rank rank = rank_of(block);
      if (!rank.fits || (best != nullptr && rank < highest)) continue;
      best = &block;
      highest = rank;
    }
    return best;
  }

  // Whole blocks of the language without a name that stand before the chosen one, which has none
  // either: where one file was cut into pieces.
  std::vector<const CodeBlock*> before(const CodeBlock& chosen) const {
    std::vector<const CodeBlock*> out;
    if (!chosen.file.empty() || task::facts_of(language_).syntax == task::Syntax::kAssembly)
      return out;
    for (const CodeBlock& block : blocks_) {
      if (&block == &chosen) break;
      const bool tagged = std::find(tags_.begin(), tags_.end(), block.tag) != tags_.end();
      if (tagged && block.closed && block.file.empty() && !is_echo(block)) out.push_back(&block);
    }
    return out;
  }

  bool defines(const CodeBlock& block) const {
    return !options_.entry.empty() && defines_entry(block.code, options_.entry, language_);
  }

  bool is_echo(const CodeBlock& block) const {
    if (shown_.empty()) return false;
    std::string bare = bare_lines(block.code);
    return std::any_of(shown_.begin(), shown_.end(), [&](const std::string& shown) {
      return shown.find(bare) != std::string::npos;
    });
  }

 private:
  struct Rank {
    bool fits = false;
    int entry = 0;  // 2: defined, 1: named
    bool own = true;
    int tag = 0;  // 2: the language's, 1: none

    bool operator<(const Rank& other) const {
      return std::tie(entry, own, tag) < std::tie(other.entry, other.own, other.tag);
    }
  };

  Rank rank_of(const CodeBlock& block) const {
    Rank rank;
    if (trim(block.code).empty()) return rank;
    bool tagged = std::find(tags_.begin(), tags_.end(), block.tag) != tags_.end();
    rank.tag = tagged ? 2 : block.tag.empty() ? 1 : 0;
    if (options_.entry.empty()) {
      rank.fits = rank.tag > 0;
      return rank;
    }
    rank.entry = defines(block) ? 2 : has_word(block.code, options_.entry) ? 1 : 0;
    rank.fits = rank.entry == 2 || (rank.entry == 1 && rank.tag > 0);
    rank.own = !is_echo(block);
    return rank;
  }

  std::vector<CodeBlock> blocks_;
  Language language_;
  const ExtractOptions& options_;
  std::span<const std::string_view> tags_;
  std::vector<std::string> shown_;
};

constexpr std::size_t kMaxTags = 10;  // in a message

std::string nothing_fits(const std::vector<CodeBlock>& blocks, Language language,
                         const std::string& entry) {
  std::string_view wanted = fence_tag(language);
  std::vector<std::string> found;
  bool all_empty = true;
  for (const CodeBlock& block : blocks) {
    all_empty = all_empty && trim(block.code).empty();
    std::string tag = block.tag.empty() ? "no tag" : printable(block.tag, 20);
    if (found.size() < kMaxTags && std::find(found.begin(), found.end(), tag) == found.end())
      found.push_back(std::move(tag));
  }
  if (all_empty) return "the code block is empty";
  std::string tags = join(found, ", ");
  if (entry.empty())
    return fmt::format("no code block of the answer is tagged {} (found: {})", wanted, tags);
  return fmt::format("no code block of the answer defines `{}` (tags found: {}; wanted: {})",
                     printable(entry, 100), tags, wanted);
}

Extraction without_code(const AnswerParts& parts, const Choice& choice, Language language,
                        const ExtractOptions& options) {
  bool cut = options.finish == text::Finish::kLength;
  bool open = choice.best(true) != nullptr ||
              (!choice.blocks().empty() && !choice.blocks().back().closed && cut);
  if (cut && (open || choice.blocks().empty())) {
    return {.outcome = Extracted::kTruncated,
            .why_not = parts.in_reasoning
                           ? "the answer was cut off at its token limit inside its reasoning"
                           : "the answer was cut off at its token limit before its code ended"};
  }
  if (open) {
    return {.outcome = Extracted::kTruncated,
            .why_not =
                "the code block is not closed: the answer was cut off, or the closing ``` "
                "is missing"};
  }
  if (!choice.blocks().empty()) {
    return {.outcome = Extracted::kNoEntry,
            .why_not = nothing_fits(choice.blocks(), language, options.entry)};
  }
  std::string why =
      fmt::format("put the code into one block fenced with ```{} and ```", fence_tag(language));
  return {.outcome = Extracted::kNoBlock,
          .why_not = (parts.in_reasoning ? "the answer ends inside its reasoning and has no code "
                                           "block: "
                                         : "the answer has no code block: ") +
                     why};
}

}  // namespace

std::string_view to_string(Extracted outcome) {
  switch (outcome) {
    case Extracted::kCode:
      return "code";
    case Extracted::kNoBlock:
      return "no_block";
    case Extracted::kNoEntry:
      return "no_entry";
    case Extracted::kTruncated:
      return "truncated";
  }
  return "no_block";
}

const std::string& Extraction::code() const {
  static const std::string kNone;
  return files.empty() ? kNone : files.front().content;
}

std::string_view fence_tag(Language language) {
  const auto tags = task::facts_of(language).fence_tags;
  return tags.empty() ? std::string_view() : tags.front();
}

bool defines_entry(std::string_view code, std::string_view entry, Language language) {
  if (entry.empty()) return false;
  switch (task::facts_of(language).syntax) {
    case task::Syntax::kC:
      return text::defines_function(code, entry);
    case task::Syntax::kPython:
      return text::PythonScan(code).defines(entry);
    case task::Syntax::kAssembly:
    case task::Syntax::kBinary:
      return has_word(code, entry);
  }
  return false;
}

Extraction extract_code(std::string_view answer, Language language, const ExtractOptions& options) {
  if (task::facts_of(language).syntax == task::Syntax::kBinary) {
    return {.outcome = Extracted::kNoBlock,
            .why_not = fmt::format("a {} is not text, so no answer can contain one",
                                   task::facts_of(language).title)};
  }
  AnswerParts parts =
      answer_parts(options.entry.empty() ? std::string(answer)
                                         : with_opening_fence(answer, options.entry, language));
  Choice choice(all_blocks(parts, language, !options.entry.empty()), language, options);
  const CodeBlock* chosen = choice.best(true);
  if (chosen != nullptr && !chosen->closed && options.finish != text::Finish::kStop) {
    const CodeBlock* whole = choice.best(false);
    bool usable = whole != nullptr && choice.defines(*whole) && !choice.is_echo(*whole);
    chosen = usable ? whole : nullptr;
  }
  if (chosen == nullptr) return without_code(parts, choice, language, options);
  CodeBlock whole = *chosen;
  whole.code = joined_code(*chosen, choice.before(*chosen), language);
  return {.outcome = Extracted::kCode,
          .files = merged_files(whole, choice.blocks(), options.entry, language),
          .echo = choice.is_echo(*chosen),
          .repaired = !chosen->closed,
          .why_not = ""};
}

}  // namespace kw::prompt
