#include "prompt/join_blocks.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "base/text.h"
#include "task/signature.h"
#include "text/cpp_scan.h"
#include "text/python_scan.h"

namespace kw::prompt {
namespace {

using Names = std::set<std::string, std::less<>>;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The text with blanks for comments, and for the insides of texts.
std::string bare(std::string_view code, bool python) {
  std::string out(code);
  const auto blank = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < std::min(to, out.size()); ++i)
      if (out[i] != '\n') out[i] = ' ';
  };
  for (std::size_t at = 0; at < code.size();) {
    const std::string_view rest = code.substr(at);
    std::size_t end = at + 1;
    if (python ? rest[0] == '#' : rest.starts_with("//")) {
      end = std::min(code.find('\n', at), code.size());
      blank(at, end);
    } else if (!python && rest.starts_with("/*")) {
      end = std::min(code.find("*/", at + 2), code.size());
      blank(at, end);
    } else if (rest[0] == '"' ||
               (rest[0] == '\'' && (python || at == 0 || !is_word(code[at - 1])))) {
      const std::string mark = python && (rest.starts_with("\"\"\"") || rest.starts_with("'''"))
                                   ? std::string(rest.substr(0, 3))
                                   : std::string(1, rest[0]);
      end = at + mark.size();
      while (end < code.size() && code.substr(end, mark.size()) != mark &&
             (mark.size() == 3 || code[end] != '\n'))
        end += code[end] == '\\' ? 2 : 1;
      end = std::min(end + mark.size(), code.size());
      blank(at, end);
    }
    at = end;
  }
  return out;
}

// Words that stand for themselves, without those behind a dot; bound: those that get their value
// here, as parameters, by assignment, by a loop.
struct Words {
  Names used, bound;
};

class WordReader {
 public:
  explicit WordReader(std::string_view code) : code_(code) {}

  Words read() {
    while (at_ < code_.size()) {
      const char c = code_[at_];
      if (is_word(c)) {
        word();
        continue;
      }
      if (c == '(') ++depth_;
      if (c == ')' && --depth_ == 0) in_def_ = false;
      if (c == '\n' && depth_ <= 0) in_def_ = false;
      if (std::isspace(static_cast<unsigned char>(c)) == 0) {
        before_ = c;
        word_before_ = {};
      }
      ++at_;
    }
    return std::move(out_);
  }

 private:
  void word() {
    const std::size_t begin = at_;
    while (at_ < code_.size() && is_word(code_[at_])) ++at_;
    const std::string_view word = code_.substr(begin, at_ - begin);
    if (word == "def") {
      in_def_ = true;
      depth_ = 0;
    }
    const bool number = std::isdigit(static_cast<unsigned char>(word[0])) != 0;
    if (before_ != '.' && !number) (binds() ? out_.bound : out_.used).emplace(word);
    before_ = 'a';
    word_before_ = word;
  }

  // Whether the word before at_ gets its value here.
  bool binds() const {
    const std::size_t next = code_.find_first_not_of(" \t", at_);
    const bool assigned =
        next != std::string_view::npos && code_[next] == '=' && code_.substr(next, 2) != "==";
    const bool parameter =
        in_def_ && depth_ == 1 && (before_ == '(' || before_ == ',' || before_ == '*');
    return assigned || parameter || word_before_ == "for" || word_before_ == "as" ||
           word_before_ == "lambda";
  }

  std::string_view code_;
  std::size_t at_ = 0;
  int depth_ = 0;        // of parentheses, since the def
  bool in_def_ = false;  // before its parameters end
  char before_ = '\n';   // the last character that is no space; 'a' for a word's
  std::string_view word_before_;
  Words out_;
};

// Of `import a.b as c` and `from a import b as c, d`, at the beginning of a line.
Names imported(std::string_view code) {
  Names out;
  for (const std::string& line : split(code, '\n')) {
    std::string_view names = line;
    if (names.starts_with("from ")) {
      const std::size_t at = names.find(" import ");
      names = at == std::string_view::npos ? "" : names.substr(at + 8);
    } else if (names.starts_with("import ")) {
      names.remove_prefix(7);
    } else {
      continue;
    }
    for (const std::string& one : split(names, ',')) {
      std::string_view name = trim(one);
      const std::size_t as = name.find(" as ");
      name =
          as == std::string_view::npos ? name.substr(0, name.find('.')) : trim(name.substr(as + 4));
      if (!name.empty()) out.emplace(name);
    }
  }
  return out;
}

class Definitions {
 public:
  Definitions(std::string_view code, bool python)
      : python_(python), bare_(bare(code, python)), scan_(bare_), imported_(imported(bare_)) {}

  bool defines(std::string_view name) const {
    if (python_) return scan_.defines(name) || imported_.contains(name);
    if (text::defines_function(bare_, name)) return true;
    for (std::string_view front : {"struct ", "class ", "#define ", "using "}) {
      const std::size_t at = bare_.find(std::string(front) + std::string(name));
      if (at == std::string::npos) continue;
      const std::size_t end = at + front.size() + name.size();
      if (end == bare_.size() || !is_word(bare_[end])) return true;
    }
    return false;
  }
  Words words() const { return WordReader(bare_).read(); }

 private:
  bool python_;
  std::string bare_;
  text::PythonScan scan_;  // of bare_
  Names imported_;
};

}  // namespace

std::string joined_code(const CodeBlock& chosen, const std::vector<const CodeBlock*>& earlier,
                        task::Language language) {
  const bool python = task::facts_of(language).syntax == task::Syntax::kPython;
  std::string out = chosen.code;
  for (auto block = earlier.rbegin(); block != earlier.rend(); ++block) {
    const Definitions here(out, python), there((*block)->code, python);
    const Words words = here.words();
    const bool needed =
        std::any_of(words.used.begin(), words.used.end(), [&](const std::string& name) {
          return !words.bound.contains(name) && !here.defines(name) && there.defines(name);
        });
    if (needed) out = (*block)->code + (python ? "\n\n" : "\n") + out;
  }
  return out;
}

}  // namespace kw::prompt
