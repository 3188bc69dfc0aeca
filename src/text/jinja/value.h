// The values of a Jinja template, as Python has them.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kw::text::jinja {

class Value;
struct Macro;
struct Scope;

using List = std::vector<Value>;
using Dict = std::vector<std::pair<std::string, Value>>;  // in the order of insertion

// A variable or attribute that is not there. Printing it gives nothing, asking more of it fails.
struct Undefined {
  std::string name;
};
struct None {};
struct Namespace {
  std::map<std::string, Value> values;
};
// What a loop's body sees as `loop`. items outlives it.
struct Loop {
  const std::vector<Value>* items = nullptr;
  std::size_t index = 0;  // from 0
};
// A macro, a global function (by name), or a method of `self`.
struct Callable {
  std::string name;
  std::shared_ptr<const Value> self;
  const Macro* macro = nullptr;
  std::weak_ptr<Scope> scope;  // where the macro was defined
};

class Value {
 public:
  Value() : data_(None{}) {}
  // A template's expressions mix them: NOLINTBEGIN(google-explicit-constructor)
  Value(bool value) : data_(value) {}
  Value(std::int64_t value) : data_(value) {}
  Value(double value) : data_(value) {}
  Value(std::string value) : data_(std::move(value)) {}
  Value(const char* value) : data_(std::string(value)) {}
  // NOLINTEND(google-explicit-constructor)
  static Value undefined(std::string name) { return Value(Data(Undefined{std::move(name)})); }
  static Value list(List items) {
    return Value(Data(std::make_shared<const List>(std::move(items))));
  }
  static Value dict(Dict items) {
    return Value(Data(std::make_shared<const Dict>(std::move(items))));
  }
  static Value name_space() { return Value(Data(std::make_shared<Namespace>())); }
  static Value loop(std::shared_ptr<Loop> loop) { return Value(Data(std::move(loop))); }
  static Value callable(Callable callable) {
    return Value(Data(std::make_shared<const Callable>(std::move(callable))));
  }

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  const bool* boolean() const { return std::get_if<bool>(&data_); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&data_); }
  const double* real() const { return std::get_if<double>(&data_); }
  const std::string* string() const { return std::get_if<std::string>(&data_); }
  const List* items() const { return pointed<std::shared_ptr<const List>>(); }
  const Dict* entries() const { return pointed<std::shared_ptr<const Dict>>(); }
  Namespace* as_namespace() const { return pointed<std::shared_ptr<Namespace>>(); }
  Loop* as_loop() const { return pointed<std::shared_ptr<Loop>>(); }
  const Callable* as_callable() const { return pointed<std::shared_ptr<const Callable>>(); }
  // An integer or a boolean, which counts as 0 or 1.
  bool as_integer(std::int64_t& out) const;
  bool as_number(double& out) const;

  bool is_true() const;
  std::string undefined_name() const { return std::get<Undefined>(data_).name; }
  std::string_view type() const;  // "a string", for messages

 private:
  using Data = std::variant<Undefined, None, bool, std::int64_t, double, std::string,
                            std::shared_ptr<const List>, std::shared_ptr<const Dict>,
                            std::shared_ptr<Namespace>, std::shared_ptr<Loop>,
                            std::shared_ptr<const Callable>>;
  explicit Value(Data data) : data_(std::move(data)) {}
  template <typename Pointer>
  typename Pointer::element_type* pointed() const {
    const auto* found = std::get_if<Pointer>(&data_);
    return found == nullptr ? nullptr : found->get();
  }
  Data data_;
};

const Value* find(const Dict& dict, std::string_view key);

// Numbers by value, containers item by item; kUnsupported for what has no such comparison here.
Result<bool> equal(const Value& a, const Value& b);
// a < b of two numbers or two strings; kInvalidArgument as Python's TypeError.
Result<bool> less(const Value& a, const Value& b);

// str(value). kUnsupported for containers and for numbers that Python writes with an exponent.
Result<std::string> to_text(const Value& value);
// json.dumps(value, ensure_ascii=False, indent=indent); indent < 0: on one line.
Result<std::string> to_json_text(const Value& value, int indent);

// Python's str.isspace(): white space and the four separators of ASCII.
bool is_space(char32_t code);
// The characters of a text, each as UTF-8. Bytes that are no UTF-8 are characters of their own.
std::vector<std::string_view> characters(std::string_view text);
std::string_view strip_left(std::string_view text);
std::string_view strip_right(std::string_view text);

}  // namespace kw::text::jinja
