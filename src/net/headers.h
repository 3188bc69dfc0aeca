// Header fields of a message, in the order in which they came; names compare without case.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kw::net {

class Headers {
 public:
  struct Field {
    std::string name, value;
  };

  void add(std::string_view name, std::string_view value);
  // Replaces every field of that name.
  void set(std::string_view name, std::string_view value);
  void remove(std::string_view name);

  // The first value, or nullptr. Valid until the next change.
  const std::string* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::size_t count(std::string_view name) const;
  const std::vector<Field>& fields() const { return fields_; }

 private:
  std::vector<Field> fields_;
};

// Whether Content-Type is this type ("text/event-stream"), whatever its parameters.
bool has_media_type(const Headers& headers, std::string_view type);
bool equals_ignoring_case(std::string_view a, std::string_view b);  // ASCII letters only
bool is_token(std::string_view text);  // RFC 9110: methods and field names
// No control bytes but tabs, no white space at the ends: cannot end a line or forge a field.
bool is_field_value(std::string_view text);
// Whether a comma-separated value ("gzip, chunked") has this token.
bool has_list_token(std::string_view list, std::string_view token);

}  // namespace kw::net
