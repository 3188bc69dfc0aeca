// A line scanner over fences, file tags and reasoning tags.
#include "prompt/blocks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include <fmt/core.h>

#include "base/text.h"
#include "prompt/file_name.h"
#include "prompt/plain_fences.h"

namespace kw::prompt {
namespace {

constexpr std::array<std::string_view, 8> kReasoning = {"think",      "thinking",  "thought",
                                                        "thoughts",   "analysis",  "reasoning",
                                                        "reflection", "scratchpad"};
constexpr int kMaxNesting = 3;
constexpr std::string_view kFinalChannel = "<|channel|>final<|message|>";

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
  bool quoted;  // behind "> "
  std::string_view info;
};

std::size_t marks_at(std::string_view line, std::size_t at) {
  return std::min(line.find_first_not_of(line[at], at), line.size()) - at;
}

// "Here it is: ```python": the fence of a line of prose ends it, but for a tag.
std::optional<std::size_t> fence_after_colon(std::string_view line) {
  std::size_t at = line.find("```");
  if (at == std::string_view::npos || line.find('`') != at) return std::nullopt;
  if (!trim(line.substr(0, at)).ends_with(':')) return std::nullopt;
  std::string_view info = trim(line.substr(at + marks_at(line, at)));
  return info.find(' ') == std::string_view::npos ? std::optional(at) : std::nullopt;
}

// "```cpp", "  ~~~~", "<answer>```python", "> ```": marks after white space, a > and simple tags.
std::optional<Fence> opening_fence(std::string_view line) {
  std::size_t at = line.find_first_not_of(" \t");
  if (at == std::string_view::npos) return std::nullopt;
  bool quoted = line[at] == '>';
  if (quoted) at = std::min(line.find_first_not_of(" \t", at + 1), line.size());
  std::size_t indent = quoted ? 0 : at;
  while (at < line.size() && line[at] == '<') {
    std::size_t end = line.find('>', at);
    if (end == std::string_view::npos) return std::nullopt;
    at = std::min(line.find_first_not_of(" \t", end + 1), line.size());
  }
  if (at >= line.size()) return std::nullopt;
  if (line[at] != '`' && line[at] != '~') {
    auto colon = fence_after_colon(line);
    if (!colon) return std::nullopt;
    at = *colon;
  }
  std::size_t length = marks_at(line, at);
  std::string_view info = trim(line.substr(at + length));
  // A mark inside the info means inline code: ```x = 1``` in prose.
  if (length < 3 || info.find('`') != std::string_view::npos) return std::nullopt;
  return Fence{line[at], length, indent, quoted, info};
}

std::string_view unquoted(std::string_view line, bool quoted) {
  if (!quoted || !line.starts_with('>')) return line;
  line.remove_prefix(1);
  return line.starts_with(' ') ? line.substr(1) : line;
}

// What ends the text before it: a model's end of turn, or a tag that wraps the answer.
bool ends_answer(std::string_view rest) {
  return rest.empty() || rest.starts_with("</") || rest.starts_with("<|");
}

bool closes(const Fence& fence, std::string_view line) {
  std::size_t columns = 0, at = 0;
  for (; at < line.size() && (line[at] == ' ' || line[at] == '\t'); ++at)
    columns += line[at] == '\t' ? 4 : 1;
  if (columns > fence.indent + 3 || at == line.size() || line[at] != fence.mark) return false;
  std::size_t marks = marks_at(line, at);
  return marks >= fence.length && ends_answer(trim(line.substr(at + marks)));
}

// "return y```": the code in front of the marks, when they are the line's only ones.
std::optional<std::string_view> closed_behind_code(const Fence& fence, std::string_view line) {
  line = trim(line).empty() ? line : line.substr(0, line.find_last_not_of(" \t\r") + 1);
  std::size_t at = line.find(fence.mark);
  bool closed = fence.mark == '`' && at != std::string_view::npos && at > 0 &&
                marks_at(line, at) == fence.length && at + fence.length == line.size();
  if (!closed || trim(line.substr(0, at)).empty()) return std::nullopt;
  return line.substr(0, at);
}

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(" \t\r"), line.size());
}

// Takes the fence's indentation off, or what all lines have of it: code need not be indented with
// its fence.
std::string without_indent(const std::vector<std::string_view>& lines, std::size_t indent) {
  for (std::string_view line : lines)
    if (indent_of(line) < line.size()) indent = std::min(indent, indent_of(line));
  std::string out;
  for (std::string_view line : lines) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    out.append(line.substr(std::min(indent, indent_of(line)))).push_back('\n');
  }
  return out;
}

std::string tag_of(std::string_view info) {
  while (info.starts_with('{') || info.starts_with('.')) info.remove_prefix(1);
  std::string_view word = info.substr(0, info.find_first_of(" \t,{}:="));
  return is_file_name(word) ? std::string() : lower(word);
}

bool is_markdown(std::string_view tag) {
  return tag == "markdown" || tag == "md";
}

// "```python import torch": code that began on the fence's own line.
std::string_view code_of_info(std::string_view info) {
  std::size_t space = info.find(' ');
  if (space == std::string_view::npos) return {};
  std::string_view rest = trim(info.substr(space));
  constexpr std::array<std::string_view, 6> kStarts = {"import ", "from ",  "#include",
                                                       "def ",    "class ", "@"};
  bool code = std::any_of(kStarts.begin(), kStarts.end(),
                          [&](std::string_view start) { return rest.starts_with(start); });
  return code ? rest : std::string_view();
}

struct FileTag {
  std::string_view name;  // of the element
  std::string file;
  std::string_view rest;  // of the line, behind the tag
};

// <cuda_file name="kernel.cu">, <file path='a.h'>, <kernel.h>
std::optional<FileTag> file_tag(std::string_view line) {
  line = trim(line);
  std::size_t end = line.find('>');
  if (!line.starts_with('<') || end == std::string_view::npos) return std::nullopt;
  std::string_view inside = line.substr(1, end - 1);
  std::string_view name = inside.substr(0, inside.find_first_of(" \t"));
  std::string file;
  if (is_file_name(name)) {
    file = name;
  } else if (name.ends_with("file") && inside.size() > name.size()) {
    file = file_name_in(inside.substr(name.size()));
  }
  std::string_view rest = line.substr(end + 1);
  // <kernel.h> in a sentence is a mention.
  bool alone = rest.empty() || rest.find(fmt::format("</{}>", name)) != std::string_view::npos;
  if (file.empty() || !alone) return std::nullopt;
  return FileTag{name, std::move(file), rest};
}

class Scanner {
 public:
  // depth: how many blocks the text is inside of; at kMaxNesting blocks are not looked into.
  explicit Scanner(std::string_view answer, int depth = 0) : text_(answer), depth_(depth) {
    if (std::size_t at = text_.rfind(kFinalChannel); at != std::string_view::npos)
      at_ = at + kFinalChannel.size();
    line_end_ = std::min(text_.find('\n', at_), text_.size());
  }

  AnswerParts run() {
    if (auto tag = next_tag(text_, at_); tag && tag->closing) at_ = tag->end;
    while (at_ < text_.size()) step();
    return std::move(parts_);
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
    if (auto tag = next_tag(current, 0)) return skip_reasoning(current, *tag);
    next_line();
    if (auto tag = file_tag(current)) return read_file(*tag);
    if (auto fence = opening_fence(current)) return read_block(*fence);
    add_prose(current);
  }

  void add_prose(std::string_view text) {
    parts_.prose.append(text).push_back('\n');
    if (!trim(text).empty()) heading_ = text;
  }

  void skip_reasoning(std::string_view current, const Tag& tag) {
    if (tag.begin > 0) add_prose(current.substr(0, tag.begin));
    at_ += tag.end;
    if (tag.closing) {
      parts_ = {};  // a stray closing tag: what stood before it was reasoning after all
      return;
    }
    for (auto end = next_tag(text_, at_); end; end = next_tag(text_, end->end)) {
      if (!end->closing || end->name != tag.name) continue;
      at_ = end->end;
      return;
    }
    at_ = text_.size();
    parts_.in_reasoning = true;
  }

  void read_block(const Fence& fence) {
    CodeBlock block{tag_of(fence.info), "", false, file_name_in(fence.info)};
    if (block.file.empty()) block.file = file_name_of_heading(heading_);
    std::vector<std::string_view> lines;
    int nested = 0;
    while (at_ < text_.size() && !block.closed) {
      std::string_view current = unquoted(line(), fence.quoted);
      bool opens = starts_another(fence, current);
      if (opens && !is_markdown(block.tag)) {
        block.closed = true;  // the next block begins: only the closing fence was forgotten
        break;
      }
      next_line();
      nested += opens ? 1 : 0;
      if (closes(fence, current)) {
        block.closed = nested == 0;
        if (nested-- > 0) lines.push_back(current);
      } else if (auto code = closed_behind_code(fence, current)) {
        lines.push_back(*code);
        block.closed = true;
      } else {
        lines.push_back(current);
      }
    }
    if (std::string_view code = code_of_info(fence.info); !code.empty())
      block.code.append(code).push_back('\n');
    block.code += without_indent(lines, fence.indent);
    add(std::move(block));
  }

  static bool starts_another(const Fence& fence, std::string_view line) {
    auto other = opening_fence(line);
    return other && other->mark == fence.mark && other->length >= fence.length &&
           other->indent <= fence.indent && !other->info.empty() && !closes(fence, line) &&
           trim(line).starts_with(fence.mark);
  }

  // Up to the closing tag; a fence inside it belongs to the file.
  void read_file(const FileTag& tag) {
    std::string end = "</" + std::string(tag.name) + ">";
    CodeBlock block{"", "", false, tag.file};
    std::vector<std::string_view> lines;
    std::string_view current = tag.rest;
    for (bool first = true; !block.closed && (first || at_ < text_.size()); first = false) {
      if (!first) {
        current = line();
        next_line();
      }
      std::size_t at = current.find(end);
      block.closed = at != std::string_view::npos;
      std::string_view code = current.substr(0, at);
      bool edge = (first || block.closed) && trim(code).empty();
      if (!edge) lines.push_back(code);
    }
    block.code = without_indent(lines, 0);
    AnswerParts inside = blocks_inside(block);
    if (!inside.blocks.empty()) {
      block.tag = inside.blocks.front().tag;
      block.code = inside.blocks.front().code;
    }
    add(std::move(block));
  }

  AnswerParts blocks_inside(const CodeBlock& block) const {
    return depth_ < kMaxNesting ? Scanner(block.code, depth_ + 1).run() : AnswerParts();
  }

  void add(CodeBlock block) {
    heading_ = {};
    if (is_markdown(block.tag)) {
      AnswerParts inside = blocks_inside(block);
      if (!inside.blocks.empty()) {
        std::move(inside.blocks.begin(), inside.blocks.end(), std::back_inserter(parts_.blocks));
        return;
      }
    }
    if (block.file.empty()) block.file = file_name_of_code(block.code);
    parts_.blocks.push_back(std::move(block));
  }

  std::string_view text_;
  int depth_;
  std::size_t at_ = 0;
  std::size_t line_end_ = 0;  // of the line that at_ lies in; stale while at_ is beyond it
  std::string_view heading_;  // the last line of prose since the last block
  AnswerParts parts_;
};

}  // namespace

AnswerParts answer_parts(std::string_view answer) {
  const std::string plain = plain_fences(answer);
  return Scanner(plain).run();
}

std::vector<CodeBlock> code_blocks(std::string_view answer) {
  return answer_parts(answer).blocks;
}

}  // namespace kw::prompt
