// Walks JSON values; replaces entities.
#include "prompt/unwrap.h"

#include <array>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "prompt/file_name.h"

namespace kw::prompt {
namespace {

std::string text_beside(const Json& object, std::initializer_list<const char*> keys,
                        bool (*fits)(std::string_view)) {
  for (const char* key : keys) {
    auto found = object.find(key);
    if (found != object.end() && found->is_string() && fits(found->get_ref<const std::string&>()))
      return found->get<std::string>();
  }
  return {};
}

void add_code(const std::string& text, std::string tag, std::string file,
              std::vector<CodeBlock>& out) {
  if (std::vector<CodeBlock> fenced = code_blocks(text); !fenced.empty()) {
    std::move(fenced.begin(), fenced.end(), std::back_inserter(out));
    return;
  }
  if (file.empty()) file = file_name_of_code(text);
  out.push_back({std::move(tag), text, true, std::move(file)});
}

void walk(const Json& value, std::vector<CodeBlock>& out) {
  if (value.is_array())
    for (const Json& item : value) walk(item, out);
  if (!value.is_object()) return;
  std::string file = text_beside(value, {"path", "file", "filename", "name"}, is_file_name);
  std::string tag = text_beside(value, {"language", "lang"}, [](std::string_view) { return true; });
  for (const auto& [key, item] : value.items()) {
    if (!item.is_string()) {
      walk(item, out);
      continue;
    }
    const auto& text = item.get_ref<const std::string&>();
    // A sentence is no code; a key may be the file's name.
    if (text.find('\n') == std::string::npos) continue;
    add_code(text, tag, is_file_name(key) ? key : file, out);
  }
}

}  // namespace

std::vector<CodeBlock> blocks_of_json(std::string_view text) {
  text = trim(text);
  if (!text.starts_with('{') && !text.starts_with('[')) return {};
  auto value = parse_json(text);
  std::vector<CodeBlock> out;
  if (value) walk(*value, out);
  return out;
}

std::string without_entities(std::string code) {
  bool escaped = code.find("&lt;") != std::string::npos || code.find("&gt;") != std::string::npos;
  if (!escaped || code.find_first_of("<>") != std::string::npos) return code;
  constexpr std::array<std::pair<std::string_view, char>, 6> kEntities = {{{"&lt;", '<'},
                                                                           {"&gt;", '>'},
                                                                           {"&amp;", '&'},
                                                                           {"&quot;", '"'},
                                                                           {"&#39;", '\''},
                                                                           {"&apos;", '\''}}};
  std::string out;
  for (std::size_t at = 0; at < code.size();) {
    std::string_view rest = std::string_view(code).substr(at);
    std::size_t length = 1;
    char c = rest[0];
    for (const auto& [entity, character] : kEntities) {
      if (!rest.starts_with(entity)) continue;
      length = entity.size();
      c = character;
    }
    out.push_back(c);
    at += length;
  }
  return out;
}

}  // namespace kw::prompt
