// Header fields as a list: a message has a dozen, and the limits allow no more than a hundred.
#include "net/headers.h"

#include <algorithm>

#include "base/text.h"

namespace kw::net {
namespace {

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool is_token_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) ||
         (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

}  // namespace

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

bool is_field_value(std::string_view text) {
  auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  if (!text.empty() && (is_space(text.front()) || is_space(text.back()))) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    auto byte = static_cast<unsigned char>(c);
    return c == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

bool has_media_type(const Headers& headers, std::string_view type) {
  const std::string* field = headers.find("Content-Type");
  return field != nullptr &&
         equals_ignoring_case(trim(std::string_view(*field).substr(0, field->find(';'))), type);
}

bool has_list_token(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    std::size_t comma = std::min(list.find(','), list.size());
    if (equals_ignoring_case(trim(list.substr(0, comma)), token)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

void Headers::add(std::string_view name, std::string_view value) {
  fields_.push_back({std::string(name), std::string(value)});
}

void Headers::set(std::string_view name, std::string_view value) {
  remove(name);
  add(name, value);
}

void Headers::remove(std::string_view name) {
  std::erase_if(fields_, [&](const Field& f) { return equals_ignoring_case(f.name, name); });
}

const std::string* Headers::find(std::string_view name) const {
  for (const Field& field : fields_) {
    if (equals_ignoring_case(field.name, name)) return &field.value;
  }
  return nullptr;
}

std::size_t Headers::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::count_if(fields_.begin(), fields_.end(),
                    [&](const Field& f) { return equals_ignoring_case(f.name, name); }));
}

}  // namespace kw::net
