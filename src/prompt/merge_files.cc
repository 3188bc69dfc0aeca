// Includes and imports are followed by name; nothing is preprocessed or run.
#include "prompt/merge_files.h"

#include <map>
#include <set>

#include "base/text.h"
#include "prompt/extract.h"
#include "prompt/file_name.h"
#include "task/signature.h"
#include "text/cpp_scan.h"

namespace kw::prompt {
namespace {

using task::Language;

std::string default_name(Language language) {
  return "kernel" + std::string(task::facts_of(language).extensions.front());
}

FileFamily family_for(Language language) {
  return family_of(default_name(language));
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_test(const CodeBlock& block) {
  std::string_view name = base_name(block.file);
  return name.starts_with("test") || name.starts_with("bench") ||
         name.find("_test.") != std::string_view::npos ||
         text::defines_function(block.code, "main");
}

// The last word-like piece behind `#include "` or `import`/`from` of a line, "" when it has none.
std::string_view needed_by_line(std::string_view line, FileFamily family) {
  line = trim(line);
  if (family == FileFamily::kC) {
    std::size_t open = line.find('"');
    if (!line.starts_with('#') || line.find("include") == std::string_view::npos ||
        open == std::string_view::npos)
      return {};
    return base_name(line.substr(open + 1, line.find('"', open + 1) - open - 1));
  }
  for (std::string_view word : {"from ", "import "}) {
    if (!line.starts_with(word)) continue;
    std::string_view module = trim(line.substr(word.size()));
    while (module.starts_with('.')) module.remove_prefix(1);
    return module.substr(0, module.find_first_of(" ,.;#"));
  }
  return {};
}

// Names of files that the code asks for: "a.h", or "helper" for helper.py.
std::set<std::string, std::less<>> needs_of(std::string_view code, FileFamily family) {
  std::set<std::string, std::less<>> out;
  for (std::size_t at = 0; at < code.size();) {
    std::size_t end = std::min(code.find('\n', at), code.size());
    std::string_view name = needed_by_line(code.substr(at, end - at), family);
    if (!name.empty()) out.emplace(name);
    at = end + 1;
  }
  return out;
}

std::string_view asked_for_as(std::string_view file, FileFamily family) {
  std::string_view name = base_name(file);
  return family == FileFamily::kPython ? name.substr(0, name.rfind('.')) : name;
}

// The named files of the family but the chosen one: the last of each name, in the order of the
// first.
std::vector<const CodeBlock*> other_files(const std::vector<CodeBlock>& blocks, FileFamily family,
                                          std::string_view chosen) {
  std::vector<const CodeBlock*> out;
  std::map<std::string_view, std::size_t> places;
  for (const CodeBlock& block : blocks) {
    if (block.file == chosen || family_of(block.file) != family) continue;
    auto [place, is_new] = places.emplace(block.file, out.size());
    if (is_new) {
      out.push_back(&block);
    } else {
      out[place->second] = &block;
    }
  }
  return out;
}

}  // namespace

std::vector<task::SourceFile> merged_files(const CodeBlock& chosen,
                                           const std::vector<CodeBlock>& blocks,
                                           std::string_view entry, Language language) {
  FileFamily family = family_for(language);
  bool named = family_of(chosen.file) == family;
  std::vector<task::SourceFile> files = {
      {named ? chosen.file : default_name(language), chosen.code}};
  std::multimap<std::string_view, const CodeBlock*> waiting;  // by what an include or import says
  for (const CodeBlock* other : other_files(blocks, family, files[0].path)) {
    if (!named || family != FileFamily::kC) {
      waiting.emplace(asked_for_as(other->file, family), other);
    } else if (!is_test(*other) && !defines_entry(other->code, entry, language)) {
      files.push_back({other->file, other->code});
    }
  }
  for (std::size_t i = 0; i < files.size() && !waiting.empty(); ++i) {
    for (const std::string& need : needs_of(files[i].content, family)) {
      auto [first, last] = waiting.equal_range(need);
      for (auto found = first; found != last; ++found)
        files.push_back({found->second->file, found->second->code});
      waiting.erase(first, last);
    }
  }
  return files;
}

}  // namespace kw::prompt
