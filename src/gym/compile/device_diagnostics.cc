// Two forms: "main.cu(2): error: ..." of the front end, with the source line and a caret behind it,
// and "ptxas main.ptx, line 9; error   : ..." of the assembler.
#include "gym/compile/device_diagnostics.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace kw::gym {
namespace {

constexpr std::size_t kMaxShownBytes = 4096, kMaxShownLine = 300, kMaxDiagnostics = 1000;
constexpr std::string_view kOwnPtx = "application ptx input";  // what NVRTC hands to ptxas

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

int number_at(std::string_view text) {
  int out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string source_line(const std::vector<task::SourceFile>& files, std::string_view file,
                        int line) {
  for (const task::SourceFile& one : files) {
    if (base_name(one.path) != file) continue;
    std::string_view rest = one.content;
    for (int i = 1; i < line && !rest.empty(); ++i) {
      const auto end = rest.find('\n');
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return std::string(rest.substr(0, rest.find('\n')));
  }
  return "";
}

// "error: ", "error #20: ", "catastrophic error: ", "warning #177-D: "; text is left behind it.
std::optional<DiagnosticKind> take_kind(std::string_view& text) {
  std::string_view rest = text;
  take_prefix(rest, "catastrophic ");
  std::optional<DiagnosticKind> out;
  if (take_prefix(rest, "error"))
    out = DiagnosticKind::kError;
  else if (take_prefix(rest, "warning"))
    out = DiagnosticKind::kWarning;
  const auto colon = rest.find(':');
  if (!out || colon == std::string_view::npos) return std::nullopt;
  const std::string_view number = trim(rest.substr(0, colon));
  if (!number.empty() && !number.starts_with('#')) return std::nullopt;
  text = trim(rest.substr(colon + 1));
  return out;
}

// "main.cu(2): error: ..."
std::optional<DeviceDiagnostic> front_end(std::string_view line) {
  const auto close = line.find("): ");
  if (close == std::string_view::npos) return std::nullopt;
  const auto open = line.rfind('(', close);
  if (open == std::string_view::npos || open == 0) return std::nullopt;
  DeviceDiagnostic out;
  out.line = number_at(line.substr(open + 1, close - open - 1));
  std::string_view rest = line.substr(close + 3);
  const auto kind = take_kind(rest);
  if (!kind || out.line <= 0) return std::nullopt;
  out.kind = *kind;
  out.file = std::string(base_name(line.substr(0, open)));
  out.message = std::string(rest);
  return out;
}

// "ptxas main.ptx, line 9; error   : ..." and "ptxas fatal   : ..."
std::optional<DeviceDiagnostic> assembler(std::string_view line) {
  if (!take_prefix(line, "ptxas ") && !take_prefix(line, "nvlink ")) return std::nullopt;
  DeviceDiagnostic out;
  const auto place = line.find(", line ");
  const auto semicolon = line.find("; ");
  if (place != std::string_view::npos && semicolon != std::string_view::npos && place < semicolon) {
    out.file = std::string(base_name(trim(line.substr(0, place))));
    out.line = std::max(number_at(line.substr(place + 7)), 0);
    line.remove_prefix(semicolon + 2);
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view kind = trim(line.substr(0, colon));
  out.message = std::string(trim(line.substr(colon + 1)));
  if (kind == "warning")
    out.kind = DiagnosticKind::kWarning;
  else if (kind != "error" && kind != "fatal")
    return std::nullopt;
  return out;
}

bool is_caret(std::string_view line) {
  return trim(line) == "^";
}

// Reads the lines below a message up to an empty line: more of the message, the source line, and a
// caret that is two columns to the right of its place.
void read_details(DeviceDiagnostic& out, const std::vector<std::string>& lines, std::size_t& i) {
  std::vector<std::string> details;
  while (i + 1 < lines.size() && !trim(lines[i + 1]).empty() && lines[i + 1].starts_with(' '))
    details.push_back(lines[++i]);
  const bool shown = details.size() >= 2 && is_caret(details.back());
  if (shown) {
    const std::size_t caret = details.back().find('^');
    details.pop_back();
    const std::string& quoted = details.back();
    if (trim(quoted) == trim(out.source) && caret >= 2)
      out.column = static_cast<int>(caret - 1);
    else if (out.source.empty())
      out.source = std::string(trim(quoted));
    details.pop_back();
  }
  for (const std::string& more : details) out.message += "\n" + std::string(trim(more));
}

// The words in single quotes, without leading dots.
std::vector<std::string> quoted_words(std::string_view message) {
  std::vector<std::string> out;
  for (auto open = message.find('\''); open != std::string_view::npos;
       open = message.find('\'', open)) {
    const auto close = message.find('\'', open + 1);
    if (close == std::string_view::npos) break;
    out.emplace_back(message.substr(open + 1, close - open - 1));
    open = close + 1;
  }
  return out;
}

void find_inline_assembly(DeviceDiagnostic& out, const std::vector<task::SourceFile>& files) {
  out.line = 0;
  out.file.clear();
  for (const std::string& word : quoted_words(out.message)) {
    int places = 0;
    for (const task::SourceFile& file : files) {
      int number = 0;
      for (const std::string& line : split(file.content, '\n')) {
        ++number;
        const auto quote = line.find('"');
        if (quote == std::string::npos || word.empty() ||
            line.find(word, quote) == std::string::npos)
          continue;
        if (++places > 1) continue;
        out.file = std::string(base_name(file.path));
        out.line = number;
        out.source = line;
      }
    }
    if (places == 1) return;
    out.line = 0;
    out.file.clear();
    out.source.clear();
  }
}

std::string shown(const DeviceDiagnostic& one) {
  std::string out;
  if (!one.file.empty()) out += printable(one.file, 200);
  if (one.line > 0) out += fmt::format(":{}", one.line);
  if (one.column > 0) out += fmt::format(":{}", one.column);
  if (!out.empty()) out += ": ";
  out += "error: ";
  bool first = true;
  for (const std::string& line : split(one.message, '\n')) {
    out += (first ? "" : "  ") + printable(line, kMaxShownLine) + "\n";
    first = false;
  }
  if (one.source.empty()) return out;
  const bool fits = one.source.find('\t') == std::string::npos &&
                    one.source.size() <= kMaxShownLine && is_valid_utf8(one.source);
  out += "  " + printable(one.source, kMaxShownLine) + "\n";
  if (one.column > 0 && fits)
    out += std::string(static_cast<std::size_t>(one.column) + 1, ' ') + "^\n";
  return out;
}

}  // namespace

std::vector<DeviceDiagnostic> read_device_log(std::string_view log,
                                              const std::vector<task::SourceFile>& files) {
  std::vector<DeviceDiagnostic> out;
  const std::vector<std::string> lines = split(log, '\n');
  for (std::size_t i = 0; i < lines.size() && out.size() < kMaxDiagnostics; ++i) {
    auto one = front_end(lines[i]);
    if (one) {
      one->source = source_line(files, one->file, one->line);
      read_details(*one, lines, i);
    } else if (one = assembler(lines[i]); one) {
      if (one->message.starts_with("Ptx assembly aborted") && !out.empty()) continue;
      if (one->file == kOwnPtx)
        find_inline_assembly(*one, files);
      else if (one->line > 0)
        one->source = source_line(files, one->file, one->line);
    } else {
      continue;
    }
    const bool again = std::any_of(out.begin(), out.end(), [&](const DeviceDiagnostic& before) {
      return before.line == one->line && before.file == one->file && before.message == one->message;
    });
    if (!again) out.push_back(std::move(*one));
  }
  return out;
}

std::string device_diagnostics(std::string_view log, const std::vector<task::SourceFile>& files) {
  std::string out;
  std::size_t left_out = 0;
  for (const DeviceDiagnostic& one : read_device_log(log, files)) {
    if (one.kind != DiagnosticKind::kError) continue;
    const std::string text = shown(one);
    if (!out.empty() && out.size() + text.size() > kMaxShownBytes)
      ++left_out;
    else
      out += text.size() > kMaxShownBytes ? printable(text, kMaxShownBytes) + "\n" : text;
  }
  if (left_out > 0) out += fmt::format("({} more errors)\n", left_out);
  if (!out.empty()) return out;
  log = trim(log);
  return printable(log.substr(log.size() - std::min<std::size_t>(log.size(), 1000)),
                   kMaxShownBytes);
}

}  // namespace kw::gym
