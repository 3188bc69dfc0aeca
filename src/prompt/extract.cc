// A line scanner over Markdown fences and reasoning tags; linear in the answer's length.
#include "prompt/extract.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/text.h"

namespace kw::prompt {
namespace {

constexpr std::array<std::string_view, 4> kReasoning = {"think", "thinking", "thought",
                                                        "reasoning"};

struct Tag {
  std::size_t begin, end;  // of the whole tag, in the text searched
  std::string_view name;
  bool closing;
};

// The next <think> or </think> (any of kReasoning, any case) at or after `from`.
std::optional<Tag> next_tag(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find('<', from); at != std::string_view::npos;
       at = text.find('<', at + 1)) {
    std::string_view rest = text.substr(at + 1);
    bool closing = !rest.empty() && rest.front() == '/';
    if (closing) rest.remove_prefix(1);
    for (std::string_view name : kReasoning) {
      if (rest.size() <= name.size() || rest[name.size()] != '>') continue;
      bool same = std::equal(name.begin(), name.end(), rest.begin(), [](char a, char b) {
        return a == std::tolower(static_cast<unsigned char>(b));
      });
      if (same) return Tag{at, at + 1 + (closing ? 1 : 0) + name.size() + 1, name, closing};
    }
  }
  return std::nullopt;
}

struct Fence {
  char mark;
  std::size_t length;
  std::size_t indent;
  std::string_view info;
};

// "```cpp", "  ~~~~", "<answer>```python": marks at the start of a line, after white space and
// simple tags.
std::optional<Fence> opening_fence(std::string_view line) {
  std::size_t at = line.find_first_not_of(" \t");
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t indent = at;
  while (at < line.size() && line[at] == '<') {
    std::size_t end = line.find('>', at);
    if (end == std::string_view::npos) return std::nullopt;
    at = std::min(line.find_first_not_of(" \t", end + 1), line.size());
  }
  if (at >= line.size() || (line[at] != '`' && line[at] != '~')) return std::nullopt;
  std::size_t end = std::min(line.find_first_not_of(line[at], at), line.size());
  std::string_view info = trim(line.substr(end));
  // A mark inside the info means inline code: ```x = 1``` in prose.
  if (end - at < 3 || info.find('`') != std::string_view::npos) return std::nullopt;
  return Fence{line[at], end - at, indent, info};
}

bool closes(const Fence& fence, std::string_view line) {
  line = trim(line);
  std::size_t marks = std::min(line.find_first_not_of(fence.mark), line.size());
  std::string_view rest = trim(line.substr(marks));
  return marks >= fence.length && (rest.empty() || rest.starts_with("</"));
}

std::string_view without_indent(std::string_view line, std::size_t indent) {
  std::size_t remove = 0;
  while (remove < indent && remove < line.size() && (line[remove] == ' ' || line[remove] == '\t'))
    ++remove;
  return line.substr(remove);
}

std::string tag_of(std::string_view info) {
  std::string tag(info.substr(0, info.find_first_of(" \t,{:")));
  std::transform(tag.begin(), tag.end(), tag.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return tag;
}

class Scanner {
 public:
  explicit Scanner(std::string_view answer)
      : text_(answer), line_end_(std::min(answer.find('\n'), answer.size())) {}

  std::vector<CodeBlock> run() {
    if (auto tag = next_tag(text_, 0); tag && tag->closing) at_ = tag->end;
    while (at_ < text_.size()) step();
    return std::move(blocks_);
  }

 private:
  // The end is remembered, so that many tags on one long line cost no search each.
  std::string_view line() {
    if (at_ > line_end_) line_end_ = std::min(text_.find('\n', at_), text_.size());
    return text_.substr(at_, line_end_ - at_);
  }
  void next_line() { at_ = line_end_ + 1; }

  void step() {
    std::string_view current = line();
    if (auto tag = next_tag(current, 0)) return skip_reasoning(*tag);
    auto fence = opening_fence(current);
    next_line();
    if (fence) read_block(*fence);
  }

  void skip_reasoning(const Tag& tag) {
    at_ += tag.end;
    if (tag.closing) {
      blocks_.clear();  // a stray closing tag: what stood before it was reasoning after all
      return;
    }
    for (auto end = next_tag(text_, at_); end; end = next_tag(text_, end->end)) {
      if (!end->closing || end->name != tag.name) continue;
      at_ = end->end;
      return;
    }
    at_ = text_.size();
  }

  void read_block(const Fence& fence) {
    CodeBlock block{tag_of(fence.info), "", false};
    while (at_ < text_.size() && !block.closed) {
      std::string_view current = line();
      next_line();
      if (closes(fence, current)) {
        block.closed = true;
      } else {
        if (current.ends_with('\r')) current.remove_suffix(1);
        block.code.append(without_indent(current, fence.indent)).push_back('\n');
      }
    }
    blocks_.push_back(std::move(block));
  }

  std::string_view text_;
  std::size_t line_end_;  // of the line that at_ lies in; stale while at_ is beyond it
  std::size_t at_ = 0;
  std::vector<CodeBlock> blocks_;
};

std::vector<std::string_view> tags_of(task::Language language) {
  using task::Language;
  switch (language) {
    case Language::kCpp:
      return {"cpp", "c++", "cc", "cxx", "c"};
    case Language::kCuda:
      return {"cuda", "cu", "cuda-cpp", "cpp", "c++"};
    case Language::kPtx:
      return {"ptx", "asm", "assembly"};
    case Language::kCubin:
      return {};
    case Language::kTriton:
      return {"python", "triton", "py", "python3"};
    case Language::kPython:
      return {"python", "py", "python3"};
    case Language::kTilelang:
      return {"python", "tilelang", "py", "python3"};
  }
  return {};
}

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

constexpr std::size_t kMostTags = 10;  // in a message

std::string nothing_fits(const std::vector<CodeBlock>& blocks, std::string_view wanted) {
  if (blocks.empty())
    return fmt::format(
        "the answer has no code block: put the code into one block fenced with ```{} and ```",
        wanted);
  std::vector<std::string> found;
  for (const CodeBlock& block : blocks) {
    if (found.size() == kMostTags) break;
    std::string tag = block.tag.empty() ? "no tag" : printable(block.tag, 20);
    if (std::find(found.begin(), found.end(), tag) == found.end()) found.push_back(std::move(tag));
  }
  return fmt::format("no code block of the answer is tagged {} (found: {})", wanted,
                     join(found, ", "));
}

}  // namespace

std::vector<CodeBlock> code_blocks(std::string_view answer) {
  return Scanner(answer).run();
}

std::string_view fence_tag(task::Language language) {
  auto tags = tags_of(language);
  return tags.empty() ? std::string_view() : tags.front();
}

Extraction extract_code(std::string_view answer, task::Language language,
                        const ExtractOptions& options) {
  std::vector<CodeBlock> blocks = code_blocks(answer);
  std::vector<std::string_view> tags = tags_of(language);
  auto last_of = [&](auto&& fits) -> const CodeBlock* {
    const CodeBlock* last = nullptr;
    for (const CodeBlock& block : blocks) {
      if (!fits(block)) continue;
      bool entry_lost = last != nullptr && !options.entry.empty() &&
                        has_word(last->code, options.entry) && !has_word(block.code, options.entry);
      if (!entry_lost) last = &block;
    }
    return last;
  };
  const CodeBlock* chosen = last_of(
      [&](const CodeBlock& b) { return std::find(tags.begin(), tags.end(), b.tag) != tags.end(); });
  if (chosen == nullptr) chosen = last_of([](const CodeBlock& b) { return b.tag.empty(); });
  if (chosen == nullptr) return {"", nothing_fits(blocks, fence_tag(language))};
  if (!chosen->closed && !options.accept_unclosed) {
    return {"",
            "the code block is not closed: the answer was cut off, or the closing ``` is missing"};
  }
  if (trim(chosen->code).empty()) return {"", "the code block is empty"};
  return {chosen->code, ""};
}

}  // namespace kw::prompt
