// What Python's operators do to the values of a template.
#include "text/jinja/operations.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace kw::text::jinja {
namespace {

constexpr std::size_t kMaxText = 16U << 20U;
constexpr std::size_t kMaxItems = 1U << 20U;

tl::unexpected<Error> overflow() {
  return fail(ErrorCode::kUnsupported, "a number is too large");
}

// A sequence times a number of times.
Result<Value> repeated(const Value& sequence, std::int64_t times) {
  const std::size_t count = times < 0 ? 0 : static_cast<std::size_t>(times);
  if (const auto* text = sequence.string()) {
    if (count > kMaxText || text->size() * count > kMaxText) return overflow();
    std::string out;
    for (std::size_t at = 0; at < count; ++at) out += *text;
    return Value(std::move(out));
  }
  if (count > kMaxItems || sequence.items()->size() * count > kMaxItems) return overflow();
  List out;
  for (std::size_t at = 0; at < count; ++at)
    out.insert(out.end(), sequence.items()->begin(), sequence.items()->end());
  return Value::list(std::move(out));
}

Result<Value> whole_numbers(std::string_view operation, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (operation == "+") {
    if (__builtin_add_overflow(a, b, &out)) return overflow();
  } else if (operation == "-") {
    if (__builtin_sub_overflow(a, b, &out)) return overflow();
  } else if (operation == "*") {
    if (__builtin_mul_overflow(a, b, &out)) return overflow();
  } else if (operation == "**") {
    if (b < 0 || b > 63) return overflow();
    out = 1;
    for (; b > 0; --b) {
      if (__builtin_mul_overflow(out, a, &out)) return overflow();
    }
  } else {
    if (b == 0) return fail(ErrorCode::kInvalidArgument, "a division by zero");
    if (operation == "/") return Value(static_cast<double>(a) / static_cast<double>(b));
    if (b == -1) {  // the smallest number has no negative
      if (operation == "%") return Value(std::int64_t{0});
      if (__builtin_sub_overflow(std::int64_t{0}, a, &out)) return overflow();
      return Value(out);
    }
    // Python rounds down.
    const std::int64_t quotient = a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
    out = operation == "//" ? quotient : a - quotient * b;
  }
  return Value(out);
}

Result<Value> real_numbers(std::string_view operation, double a, double b) {
  if (operation == "+") return Value(a + b);
  if (operation == "-") return Value(a - b);
  if (operation == "*") return Value(a * b);
  if (operation == "**") return Value(std::pow(a, b));
  if (b == 0) return fail(ErrorCode::kInvalidArgument, "a division by zero");
  if (operation == "/") return Value(a / b);
  const double quotient = std::floor(a / b);
  return Value(operation == "//" ? quotient : a - quotient * b);
}

// Python's slice indices: where a slice begins and how many steps it has.
struct Steps {
  std::int64_t begin = 0, count = 0;
};
Steps steps_of(std::optional<std::int64_t> from, std::optional<std::int64_t> to, std::int64_t step,
               std::int64_t size) {
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? size : size - 1;
  auto place = [&](std::optional<std::int64_t> at, std::int64_t otherwise) {
    if (!at) return otherwise;
    return std::clamp(*at < 0 ? std::max<std::int64_t>(*at, -size - 1) + size : *at, low, high);
  };
  const std::int64_t begin = place(from, step > 0 ? low : high);
  const std::int64_t end = place(to, step > 0 ? high : low);
  const std::int64_t distance = step > 0 ? end - begin : begin - end;
  const std::int64_t length = step > 0 ? step : -step;
  return {begin, distance <= 0 ? 0 : (distance - 1) / length + 1};
}

}  // namespace

Result<List> items_of(const Value& value) {
  if (value.is_undefined()) return List();
  if (const List* items = value.items()) return *items;
  List out;
  if (const auto* text = value.string()) {
    for (std::string_view character : characters(*text)) out.emplace_back(std::string(character));
    return out;
  }
  if (const Dict* entries = value.entries()) {
    for (const auto& [key, item] : *entries) out.emplace_back(key);
    return out;
  }
  return fail(ErrorCode::kInvalidArgument, "{} has no items", value.type());
}

Result<bool> contains(const Value& container, const Value& value) {
  if (const auto* text = container.string()) {
    if (value.string() == nullptr)
      return fail(ErrorCode::kInvalidArgument, "{} is looked for in a string", value.type());
    return text->find(*value.string()) != std::string::npos;
  }
  if (const Dict* entries = container.entries())
    return value.string() != nullptr && find(*entries, *value.string()) != nullptr;
  KW_TRY(List items, items_of(container));
  for (const Value& item : items) {
    KW_TRY(bool same, equal(item, value));
    if (same) return true;
  }
  return false;
}

Result<Value> item_of(const Value& value, const Value& key) {
  std::int64_t index = 0;
  std::string shown = key.string() != nullptr ? *key.string() : std::string(key.type());
  if (value.is_undefined())
    return fail(ErrorCode::kInvalidArgument, "\"{}\" is undefined", value.undefined_name());
  if (const Dict* entries = value.entries()) {
    const Value* found = key.string() != nullptr ? find(*entries, *key.string()) : nullptr;
    return found != nullptr ? *found : Value::undefined(std::move(shown));
  }
  const bool sequence = value.items() != nullptr || value.string() != nullptr;
  if (!sequence || !key.as_integer(index)) return Value::undefined(std::move(shown));
  if (const List* items = value.items()) {
    const auto size = static_cast<std::int64_t>(items->size());
    if (index < -size || index >= size) return Value::undefined(std::move(shown));
    return (*items)[static_cast<std::size_t>(index < 0 ? index + size : index)];
  }
  const auto all = characters(*value.string());
  const auto size = static_cast<std::int64_t>(all.size());
  if (index < -size || index >= size) return Value::undefined(std::move(shown));
  return Value(std::string(all[static_cast<std::size_t>(index < 0 ? index + size : index)]));
}

Result<Value> slice_of(const Value& value, std::optional<std::int64_t> begin,
                       std::optional<std::int64_t> end, std::int64_t step) {
  if (step == 0) return fail(ErrorCode::kInvalidArgument, "a slice's step is 0");
  if (step < -INT32_MAX || step > INT32_MAX) return overflow();
  if (value.items() == nullptr && value.string() == nullptr)
    return fail(ErrorCode::kInvalidArgument, "a slice of {}", value.type());
  KW_TRY(List all, items_of(value));
  const Steps steps = steps_of(begin, end, step, static_cast<std::int64_t>(all.size()));
  List out;
  std::string text;
  for (std::int64_t at = 0; at < steps.count; ++at) {
    const Value& item = all[static_cast<std::size_t>(steps.begin + at * step)];
    if (value.string() != nullptr)
      text += *item.string();
    else
      out.push_back(item);
  }
  return value.string() != nullptr ? Value(std::move(text)) : Value::list(std::move(out));
}

Result<Value> arithmetic(std::string_view operation, const Value& a, const Value& b) {
  for (const Value* one : {&a, &b}) {
    if (one->is_undefined())
      return fail(ErrorCode::kInvalidArgument, "\"{}\" is undefined", one->undefined_name());
  }
  if (operation == "+" && a.string() != nullptr && b.string() != nullptr) {
    if (a.string()->size() + b.string()->size() > kMaxText) return overflow();
    return Value(*a.string() + *b.string());
  }
  if (operation == "+" && a.items() != nullptr && b.items() != nullptr) {
    if (a.items()->size() + b.items()->size() > kMaxItems) return overflow();
    List out = *a.items();
    out.insert(out.end(), b.items()->begin(), b.items()->end());
    return Value::list(std::move(out));
  }
  std::int64_t i = 0, j = 0;
  const bool whole_a = a.as_integer(i), whole_b = b.as_integer(j);
  if (whole_a && whole_b) return whole_numbers(operation, i, j);
  double x = 0, y = 0;
  if (a.as_number(x) && b.as_number(y)) return real_numbers(operation, x, y);
  auto is_sequence = [](const Value& value) {
    return value.string() != nullptr || value.items() != nullptr;
  };
  if (operation == "*" && is_sequence(a) && whole_b) return repeated(a, j);
  if (operation == "*" && is_sequence(b) && whole_a) return repeated(b, i);
  if (operation == "%" && a.string() != nullptr)
    return fail(ErrorCode::kUnsupported, "formatting with \"%\" is not read");
  return fail(ErrorCode::kInvalidArgument, "{} {} {} has no value", a.type(), operation, b.type());
}

}  // namespace kw::text::jinja
