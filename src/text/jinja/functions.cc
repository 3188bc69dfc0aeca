// Methods of dictionaries and lists, and global functions.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "text/jinja/operations.h"
#include "text/jinja/string_methods.h"

namespace kw::text::jinja {
namespace {

constexpr std::int64_t kMaxRange = 100000;  // of Jinja's sandbox

constexpr std::array<std::string_view, 11> kDictMethods = {
    "clear", "copy",    "fromkeys",   "get",    "items", "keys",
    "pop",   "popitem", "setdefault", "update", "values"};
constexpr std::array<std::string_view, 11> kListMethods = {"append", "clear",   "copy",   "count",
                                                           "extend", "index",   "insert", "pop",
                                                           "remove", "reverse", "sort"};

template <typename Names>
bool has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<Value> call_dict_method(const std::string& name, const Dict& self,
                               const Arguments& arguments) {
  if (name == "get") {
    KW_TRY_STATUS(arguments.only("get", 2));
    if (arguments.positional.empty()) return fail(ErrorCode::kInvalidArgument, "get without a key");
    const auto* key = arguments.positional[0].string();
    const Value* found = key != nullptr ? find(self, *key) : nullptr;
    if (found != nullptr) return *found;
    return arguments.positional.size() > 1 ? arguments.positional[1] : Value();
  }
  if (name != "items" && name != "keys" && name != "values")
    return fail(ErrorCode::kUnsupported, "the method \"{}\" of a dictionary is not read", name);
  KW_TRY_STATUS(arguments.only(name, 0));
  List out;
  for (const auto& [key, value] : self) {
    if (name == "keys")
      out.emplace_back(key);
    else
      out.push_back(name == "values" ? value : Value::list({Value(key), value}));
  }
  return Value::list(std::move(out));
}

Result<Value> range(const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("range", 3));
  std::vector<std::int64_t> numbers;
  for (const Value& one : arguments.positional) {
    numbers.push_back(0);
    if (!one.as_integer(numbers.back()))
      return fail(ErrorCode::kInvalidArgument, "range of {}", one.type());
  }
  if (numbers.empty()) return fail(ErrorCode::kInvalidArgument, "range without an end");
  if (numbers.size() == 1) numbers.insert(numbers.begin(), 0);
  if (numbers.size() == 2) numbers.push_back(1);
  const std::int64_t step = numbers[2];
  if (step == 0) return fail(ErrorCode::kInvalidArgument, "range with the step 0");
  for (std::int64_t number : numbers) {
    if (number < -INT32_MAX || number > INT32_MAX)
      return fail(ErrorCode::kUnsupported, "range up to {} is not read", number);
  }
  List out;
  for (std::int64_t at = numbers[0]; step > 0 ? at < numbers[1] : at > numbers[1]; at += step) {
    if (static_cast<std::int64_t>(out.size()) >= kMaxRange)
      return fail(ErrorCode::kUnsupported, "range has more than {} numbers", kMaxRange);
    out.emplace_back(at);
  }
  return Value::list(std::move(out));
}

}  // namespace

const Value* Arguments::find(std::size_t place, std::string_view name) const {
  if (place < positional.size()) return &positional[place];
  for (const auto& [given, value] : named) {
    if (given == name) return &value;
  }
  return nullptr;
}

Status Arguments::only(std::string_view of, std::size_t most,
                       std::initializer_list<std::string_view> names) const {
  if (positional.size() > most)
    return fail(ErrorCode::kUnsupported, "{} with {} arguments is not read", of, positional.size());
  for (const auto& [name, value] : named) {
    const auto* known = std::find(names.begin(), names.end(), name);
    const auto place = static_cast<std::size_t>(known - names.begin());
    if (known == names.end() || place < positional.size())
      return fail(ErrorCode::kUnsupported, "{} with the argument \"{}\" is not read", of,
                  printable(name, 40));
  }
  return {};
}

bool is_method(const Value& self, std::string_view name) {
  if (self.string() != nullptr) return is_string_method(name);
  if (self.entries() != nullptr) return has(kDictMethods, name);
  return self.items() != nullptr && has(kListMethods, name);
}

Result<Value> call_method(const std::string& name, const Value& self, const Arguments& arguments) {
  if (const auto* text = self.string()) return call_string_method(name, *text, arguments);
  if (const Dict* entries = self.entries()) return call_dict_method(name, *entries, arguments);
  return fail(ErrorCode::kUnsupported, "the method \"{}\" of {} is not read", printable(name, 40),
              self.type());
}

bool is_function(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kFunctions = {
      "range", "namespace", "raise_exception", "strftime_now",
      "dict",  "lipsum",    "cycler",          "joiner"};
  return has(kFunctions, name);
}

Result<Value> call_function(const std::string& name, const Arguments& arguments) {
  if (name == "range") return range(arguments);
  if (name == "raise_exception") {
    KW_TRY_STATUS(arguments.only(name, 1, {"message"}));
    const Value* message = arguments.find(0, "message");
    if (message == nullptr || message->string() == nullptr)
      return fail(ErrorCode::kInvalidArgument, "the template refuses the conversation");
    return fail(ErrorCode::kInvalidArgument, "{}", printable(*message->string(), 400));
  }
  if (name == "strftime_now")
    return fail(ErrorCode::kUnsupported,
                "strftime_now: the prompt would be another one each day; give date_string");
  if (name == "namespace" || name == "dict") {
    if (!arguments.positional.empty())
      return fail(ErrorCode::kUnsupported, "{} of a value is not read", name);
    if (name == "dict") return Value::dict(arguments.named);
    Value out = Value::name_space();
    for (const auto& [key, value] : arguments.named) {
      if (key.starts_with('_'))
        return fail(ErrorCode::kInvalidArgument, "a namespace has no \"{}\"", printable(key, 40));
      out.as_namespace()->values[key] = value;
    }
    return out;
  }
  return fail(ErrorCode::kUnsupported, "the function \"{}\" is not read", name);
}

}  // namespace kw::text::jinja
