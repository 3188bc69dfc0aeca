// Filters and tests.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "base/text.h"
#include "text/jinja/operations.h"
#include "text/jinja/string_methods.h"

namespace kw::text::jinja {
namespace {

using Filter = Result<Value> (*)(const Value& value, const Arguments& arguments);
using Test = Result<bool> (*)(const Value& value, const Arguments& arguments);

// soft_str of Jinja.
Result<Value> as_string(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("string", 0));
  KW_TRY(std::string text, to_text(value));
  return Value(std::move(text));
}

Result<Value> trim(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("trim", 1, {"chars"}));
  KW_TRY(std::string text, to_text(value));
  const Value* chars = arguments.find(0, "chars");
  if (chars == nullptr || chars->is_none())
    return Value(std::string(strip_left(strip_right(text))));
  return call_method("strip", Value(std::move(text)), {{*chars}, {}});
}

template <const char* method_name>
Result<Value> by_method(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only(method_name, 0));
  KW_TRY(std::string text, to_text(value));
  return call_method(method_name, Value(std::move(text)), {});
}
constexpr char kUpperName[] = "upper", kLowerName[] = "lower", kCapitalizeName[] = "capitalize";

Result<Value> length(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("length", 0));
  KW_TRY(List items, items_of(value));
  return Value(static_cast<std::int64_t>(items.size()));
}

Result<Value> default_value(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("default", 2, {"default_value", "boolean"}));
  const Value* other = arguments.find(0, "default_value");
  const Value* boolean = arguments.find(1, "boolean");
  const bool falsy = boolean != nullptr && boolean->is_true() && !value.is_true();
  if (!value.is_undefined() && !falsy) return value;
  return other != nullptr ? *other : Value("");
}

Result<Value> first(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("first", 0));
  KW_TRY(List items, items_of(value));
  return items.empty() ? Value::undefined("first") : items.front();
}

Result<Value> last(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("last", 0));
  KW_TRY(List items, items_of(value));
  return items.empty() ? Value::undefined("last") : items.back();
}

Result<Value> join(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("join", 2, {"d", "attribute"}));
  const Value* between = arguments.find(0, "d");
  const Value* attribute = arguments.find(1, "attribute");
  std::string separator;
  if (between != nullptr) {
    KW_TRY(separator, to_text(*between));
  }
  KW_TRY(List items, items_of(value));
  std::string out;
  for (std::size_t at = 0; at < items.size(); ++at) {
    Value item = items[at];
    if (attribute != nullptr) {
      KW_TRY(item, item_of(items[at], *attribute));
    }
    KW_TRY(std::string text, to_text(item));
    out += (at > 0 ? separator : "") + text;
  }
  return Value(std::move(out));
}

Result<Value> replace(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("replace", 3, {"old", "new", "count"}));
  KW_TRY(std::string text, to_text(value));
  Arguments given;
  for (auto [place, name] : {std::pair(0, "old"), std::pair(1, "new"), std::pair(2, "count")}) {
    const Value* one = arguments.find(static_cast<std::size_t>(place), name);
    if (one != nullptr && !one->is_none()) given.positional.push_back(*one);
  }
  return call_method("replace", Value(std::move(text)), given);
}

Result<Value> to_json(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("tojson", 2, {"ensure_ascii", "indent"}));
  const Value* ascii = arguments.find(0, "ensure_ascii");
  if (ascii != nullptr && ascii->is_true())
    return fail(ErrorCode::kUnsupported, "tojson with ensure_ascii is not read");
  const Value* indent = arguments.find(1, "indent");
  std::int64_t spaces = -1;
  if (indent != nullptr && !indent->is_none() &&
      (!indent->as_integer(spaces) || spaces < 0 || spaces > 16))
    return fail(ErrorCode::kUnsupported, "tojson with this indent is not read");
  KW_TRY(std::string text, to_json_text(value, static_cast<int>(spaces)));
  return Value(std::move(text));
}

Result<Value> items(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("items", 0));
  if (value.is_undefined()) return Value::list({});
  if (value.entries() == nullptr)
    return fail(ErrorCode::kInvalidArgument, "items of {}", value.type());
  return call_method("items", value, {});
}

Result<Value> as_list(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("list", 0));
  KW_TRY(List all, items_of(value));
  return Value::list(std::move(all));
}

Result<Value> reverse(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("reverse", 0));
  if (value.string() != nullptr || value.items() != nullptr)
    return slice_of(value, std::nullopt, std::nullopt, -1);
  return fail(ErrorCode::kUnsupported, "reverse of {} is not read", value.type());
}

Result<Value> as_integer(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("int", 1, {"default"}));
  std::int64_t whole = 0;
  double real = 0;
  if (value.as_integer(whole)) return Value(whole);
  if (value.as_number(real) && std::fabs(real) < 1e15)
    return Value(static_cast<std::int64_t>(real));
  if (const auto* text = value.string()) {
    std::string_view digits = strip_left(strip_right(*text));
    if (digits.starts_with('+')) digits.remove_prefix(1);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
    if (error == std::errc() && end == digits.data() + digits.size()) return Value(whole);
  }
  return fail(ErrorCode::kUnsupported, "int of {} is not read", value.type());
}

// selectattr("role", "equalto", "user") and its relatives: which items, by what of them.
template <bool select, bool by_attribute>
Result<Value> chosen(const Value& value, const Arguments& arguments) {
  if (!arguments.named.empty())
    return fail(ErrorCode::kUnsupported, "select with named arguments is not read");
  constexpr std::size_t kTest = by_attribute ? 1 : 0;
  if (arguments.positional.size() < kTest)
    return fail(ErrorCode::kInvalidArgument, "selectattr without an attribute");
  KW_TRY(List all, items_of(value));
  List out;
  for (const Value& item : all) {
    Value of = item;
    if (by_attribute) {
      KW_TRY(of, item_of(item, arguments.positional[0]));
    }
    bool holds = of.is_true();
    if (arguments.positional.size() > kTest) {
      if (arguments.positional[kTest].string() == nullptr)
        return fail(ErrorCode::kInvalidArgument, "a test's name is {}",
                    arguments.positional[kTest].type());
      Arguments rest;
      rest.positional.assign(arguments.positional.begin() + kTest + 1, arguments.positional.end());
      KW_TRY(holds, apply_test(*arguments.positional[kTest].string(), of, rest));
    }
    if (holds == select) out.push_back(item);
  }
  return Value::list(std::move(out));
}

// map(attribute="content") and map("filter").
Result<Value> map(const Value& value, const Arguments& arguments) {
  const Value* attribute = arguments.find(1000, "attribute");
  const bool by_filter = attribute == nullptr && arguments.named.empty() &&
                         !arguments.positional.empty() &&
                         arguments.positional[0].string() != nullptr;
  if (!by_filter &&
      (attribute == nullptr || arguments.named.size() != 1 || !arguments.positional.empty()))
    return fail(ErrorCode::kUnsupported, "map with these arguments is not read");
  KW_TRY(List all, items_of(value));
  Arguments rest;
  if (by_filter)
    rest.positional.assign(arguments.positional.begin() + 1, arguments.positional.end());
  for (Value& item : all) {
    if (by_filter) {
      KW_TRY(item, apply_filter(*arguments.positional[0].string(), item, rest));
    } else {
      KW_TRY(item, item_of(item, *attribute));
    }
  }
  return Value::list(std::move(all));
}

constexpr std::pair<std::string_view, Filter> kFilters[] = {
    {"capitalize", &by_method<kCapitalizeName>},
    {"count", &length},
    {"d", &default_value},
    {"default", &default_value},
    {"first", &first},
    {"int", &as_integer},
    {"items", &items},
    {"join", &join},
    {"last", &last},
    {"length", &length},
    {"list", &as_list},
    {"lower", &by_method<kLowerName>},
    {"map", &map},
    {"reject", &chosen<false, false>},
    {"rejectattr", &chosen<false, true>},
    {"replace", &replace},
    {"reverse", &reverse},
    {"select", &chosen<true, false>},
    {"selectattr", &chosen<true, true>},
    {"string", &as_string},
    {"tojson", &to_json},
    {"trim", &trim},
    {"upper", &by_method<kUpperName>},
};

template <bool (*holds_for)(const Value&)>
Result<bool> of_type(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("a test", 0));
  return holds_for(value);
}

template <bool (*holds_for)(bool same, bool lower)>
Result<bool> compared(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("a comparison", 1));
  if (arguments.positional.size() != 1)
    return fail(ErrorCode::kInvalidArgument, "a comparison without another value");
  KW_TRY(bool same, equal(value, arguments.positional[0]));
  const bool only_equality = holds_for(true, false) != holds_for(false, false) &&
                             holds_for(false, true) == holds_for(false, false);
  bool lower = false;
  if (!only_equality) {
    KW_TRY(lower, less(value, arguments.positional[0]));
  }
  return holds_for(same, lower);
}

template <int rest>
Result<bool> parity(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("a test", 0));
  std::int64_t whole = 0;
  if (!value.as_integer(whole))
    return fail(ErrorCode::kInvalidArgument, "even or odd of {}", value.type());
  return (whole % 2 != 0) == (rest == 1);
}

Result<bool> divisible(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("divisibleby", 1));
  if (arguments.positional.size() != 1)
    return fail(ErrorCode::kInvalidArgument, "divisibleby without a number");
  KW_TRY(Value rest, arithmetic("%", value, arguments.positional[0]));
  return !rest.is_true();
}

Result<bool> in(const Value& value, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("in", 1));
  if (arguments.positional.size() != 1)
    return fail(ErrorCode::kInvalidArgument, "in without a container");
  return contains(arguments.positional[0], value);
}

bool iterable(const Value& v) {
  return v.is_undefined() || v.string() != nullptr || v.items() != nullptr ||
         v.entries() != nullptr;
}
constexpr auto kIsTrue = +[](const Value& v) { return v.boolean() != nullptr && *v.boolean(); };
constexpr auto kIsFalse = +[](const Value& v) { return v.boolean() != nullptr && !*v.boolean(); };
constexpr auto kIsNumber = +[](const Value& v) {
  double out = 0;
  return v.as_number(out);
};
constexpr auto kIsDefined = +[](const Value& v) { return !v.is_undefined(); };
constexpr auto kIsUndefined = +[](const Value& v) { return v.is_undefined(); };
constexpr auto kIsNone = +[](const Value& v) { return v.is_none(); };
constexpr auto kIsString = +[](const Value& v) { return v.string() != nullptr; };
constexpr auto kIsMapping = +[](const Value& v) { return v.entries() != nullptr; };
constexpr auto kIsBoolean = +[](const Value& v) { return v.boolean() != nullptr; };
constexpr auto kIsInteger = +[](const Value& v) { return v.integer() != nullptr; };
constexpr auto kIsFloat = +[](const Value& v) { return v.real() != nullptr; };
constexpr auto kSame = +[](bool same, bool) { return same; };
constexpr auto kOther = +[](bool same, bool) { return !same; };
constexpr auto kLess = +[](bool, bool lower) { return lower; };
constexpr auto kAtMost = +[](bool same, bool lower) { return same || lower; };
constexpr auto kGreater = +[](bool same, bool lower) { return !same && !lower; };
constexpr auto kAtLeast = +[](bool, bool lower) { return !lower; };

constexpr std::pair<std::string_view, Test> kTests[] = {
    {"boolean", &of_type<kIsBoolean>}, {"defined", &of_type<kIsDefined>},
    {"divisibleby", &divisible},       {"eq", &compared<kSame>},
    {"equalto", &compared<kSame>},     {"even", &parity<0>},
    {"false", &of_type<kIsFalse>},     {"float", &of_type<kIsFloat>},
    {"ge", &compared<kAtLeast>},       {"greaterthan", &compared<kGreater>},
    {"gt", &compared<kGreater>},       {"in", &in},
    {"integer", &of_type<kIsInteger>}, {"iterable", &of_type<&iterable>},
    {"le", &compared<kAtMost>},        {"lessthan", &compared<kLess>},
    {"lt", &compared<kLess>},          {"mapping", &of_type<kIsMapping>},
    {"ne", &compared<kOther>},         {"none", &of_type<kIsNone>},
    {"number", &of_type<kIsNumber>},   {"odd", &parity<1>},
    {"sequence", &of_type<&iterable>}, {"string", &of_type<kIsString>},
    {"true", &of_type<kIsTrue>},       {"undefined", &of_type<kIsUndefined>},
};

}  // namespace

Result<Value> apply_filter(const std::string& name, const Value& value,
                           const Arguments& arguments) {
  for (const auto& [known, filter] : kFilters) {
    if (known == name) return filter(value, arguments);
  }
  return fail(ErrorCode::kUnsupported, "the filter \"{}\" is not read", printable(name, 40));
}

Result<bool> apply_test(const std::string& name, const Value& value, const Arguments& arguments) {
  for (const auto& [known, test] : kTests) {
    if (known == name) return test(value, arguments);
  }
  return fail(ErrorCode::kUnsupported, "the test \"{}\" is not read", printable(name, 40));
}

}  // namespace kw::text::jinja
