// Filters, tests, methods and global functions of Jinja templates: those that chat templates use.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/jinja/value.h"

namespace kw::text::jinja {

struct Arguments {
  List positional;
  std::vector<std::pair<std::string, Value>> named;

  // The argument at this place or of this name; nullptr where it is not given.
  const Value* find(std::size_t place, std::string_view name) const;
  // kUnsupported for more than `most` by position, or for another name.
  Status only(std::string_view of, std::size_t most,
              std::initializer_list<std::string_view> names = {}) const;
};

// kUnsupported names a filter, test, method or function that is not read; kInvalidArgument where
// Python would raise an exception, and where the template does (raise_exception).
Result<Value> apply_filter(const std::string& name, const Value& value, const Arguments& arguments);
Result<bool> apply_test(const std::string& name, const Value& value, const Arguments& arguments);
Result<Value> call_method(const std::string& name, const Value& self, const Arguments& arguments);
Result<Value> call_function(const std::string& name, const Arguments& arguments);

bool is_function(std::string_view name);
// A method of a string, a dictionary or a list, known or not: it hides an entry of the name.
bool is_method(const Value& self, std::string_view name);

// The items that a loop goes over. kInvalidArgument where there are none.
Result<List> items_of(const Value& value);
// "in"
Result<bool> contains(const Value& container, const Value& value);
// A character as a string, an item, an entry; undefined where there is none.
Result<Value> item_of(const Value& value, const Value& key);
Result<Value> slice_of(const Value& value, std::optional<std::int64_t> begin,
                       std::optional<std::int64_t> end, std::int64_t step);
// + - * / // % **
Result<Value> arithmetic(std::string_view operation, const Value& a, const Value& b);

}  // namespace kw::text::jinja
