// Cuts a compiler's log down to its errors.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "gym/compile/plan.h"

namespace kw::gym {
namespace {

constexpr std::size_t kMaxBytes = 4096;
constexpr std::size_t kMaxLine = 300;
constexpr std::size_t kMaxNotes = 2;  // for one error

enum class Kind { kError, kNote, kWarning, kContext, kDetail };

// The kind of a line by its beginning. kContext ("In function ...", "required from here") belongs
// to the lines behind it, kDetail (source lines, carets) to the lines before it.
Kind kind_of(std::string_view line) {
  auto has = [&](std::string_view text) { return line.find(text) != std::string_view::npos; };
  if (line.starts_with(" ") || line.empty()) return Kind::kDetail;
  if (has(": error: ") || has(": fatal error: ") || has("undefined reference to") ||
      has("multiple definition of") || has("internal compiler error")) {
    return Kind::kError;
  }
  if (has(": note: ")) return Kind::kNote;
  if (has(": warning: ")) return Kind::kWarning;
  if (has(": In ") || has(": At global scope") || line.starts_with("In file included") ||
      has("required from") || has("in 'constexpr' expansion")) {
    return Kind::kContext;
  }
  return Kind::kDetail;
}

// The machine's folders mean nothing to the author: "/usr/include/c++/12/cmath:45" becomes
// "cmath:45", "/usr/bin/ld: /work/kw_0.o" becomes "ld: kw_0.o".
std::string shorten(std::string_view line) {
  std::string out = printable(line, kMaxLine);
  for (std::size_t at = out.find('/'); at != std::string::npos; at = out.find('/', at)) {
    bool begins_path = at == 0 || out[at - 1] == ' ' || out[at - 1] == '\'' || out[at - 1] == '(';
    if (!begins_path) {
      ++at;
      continue;
    }
    std::size_t end = std::min(out.find_first_of(" :'\",;)", at), out.size());
    std::size_t name = out.rfind('/', end - 1);
    // A lone slash, as in "a / b", is an operator.
    if (name == at && end == at + 1) {
      ++at;
      continue;
    }
    out.erase(at, name + 1 - at);
  }
  return out;
}

struct Block {
  Kind kind;
  std::vector<std::string> lines;
};

// The log as diagnostics, each with its context in front and its notes behind.
std::vector<Block> blocks_of(std::string_view log) {
  std::vector<Block> blocks;
  std::vector<std::string> context;
  std::size_t notes = 0;
  bool skipping = true;
  for (const std::string& line : split(log, '\n')) {
    Kind kind = kind_of(line);
    if (kind == Kind::kContext) {
      context.push_back(shorten(line));
      skipping = true;
    } else if (kind == Kind::kError || kind == Kind::kWarning) {
      skipping = false;
      notes = 0;
      blocks.push_back({kind, std::move(context)});
      context.clear();
      blocks.back().lines.push_back(shorten(line));
    } else if (kind == Kind::kNote) {
      skipping = blocks.empty() || ++notes > kMaxNotes;
      if (!skipping) blocks.back().lines.push_back(shorten(line));
    } else if (!skipping && !trim(line).empty()) {
      blocks.back().lines.push_back(shorten(line));
    }
  }
  return blocks;
}

std::string hint_for(std::string_view text) {
  auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (has("undefined reference to `run'") || has("conflicting declaration of C function") ||
      has("ambiguating new declaration of")) {
    return "hint: run (and prepare) must be declared exactly as in problem.h\n";
  }
  return "";
}

}  // namespace

std::string compiler_diagnostics(std::string_view log) {
  std::string out;
  std::size_t left_out = 0;
  for (const Block& block : blocks_of(log)) {
    if (block.kind != Kind::kError) continue;
    std::string text = join(block.lines, "\n") + "\n";
    if (out.size() + text.size() > kMaxBytes) {
      // The first error is shown even where it alone is too long: its beginning says the most.
      if (out.empty())
        out = printable(text, kMaxBytes) + "\n";
      else
        ++left_out;
    } else {
      out += text;
    }
  }
  // No known error was found. A crash of the compiler shows at the end of the log.
  if (out.empty()) {
    log = trim(log);
    return printable(log.substr(log.size() - std::min<std::size_t>(log.size(), 1000)), kMaxBytes);
  }
  if (left_out > 0) out += fmt::format("({} more errors)\n", left_out);
  return out + hint_for(out);
}

}  // namespace kw::gym
