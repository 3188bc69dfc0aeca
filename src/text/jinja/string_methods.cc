#include "text/jinja/string_methods.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace kw::text::jinja {
namespace {

using Method = Result<Value> (*)(const std::string& self, const Arguments& arguments);

Result<std::string> text_argument(const Arguments& arguments, std::size_t place) {
  if (place >= arguments.positional.size() || arguments.positional[place].string() == nullptr)
    return fail(ErrorCode::kInvalidArgument, "expected a string as argument {}", place + 1);
  return *arguments.positional[place].string();
}

// A limit of how often; -1: none.
Result<std::int64_t> count_argument(const Arguments& arguments, std::size_t place) {
  std::int64_t out = -1;
  if (place < arguments.positional.size() && !arguments.positional[place].as_integer(out))
    return fail(ErrorCode::kInvalidArgument, "expected a whole number as argument {}", place + 1);
  return out;
}

template <bool left, bool right>
Result<Value> strip(const std::string& self, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("strip", 1));
  std::string_view text = self;
  if (arguments.positional.empty() || arguments.positional[0].is_none()) {
    if (left) text = strip_left(text);
    if (right) text = strip_right(text);
    return Value(std::string(text));
  }
  KW_TRY(std::string set, text_argument(arguments, 0));
  const auto wanted = characters(set);
  const auto all = characters(text);
  auto in_set = [&](std::string_view c) {
    return std::find(wanted.begin(), wanted.end(), c) != wanted.end();
  };
  std::size_t begin = 0, end = all.size();
  while (left && begin < end && in_set(all[begin])) ++begin;
  while (right && end > begin && in_set(all[end - 1])) --end;
  std::string out;
  for (; begin < end; ++begin) out += all[begin];
  return Value(std::move(out));
}

// From the left; at white space where no separator is given.
Result<Value> split(const std::string& self, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("split", 2));
  KW_TRY(std::int64_t most, count_argument(arguments, 1));
  List out;
  std::string_view rest = self;
  if (arguments.positional.empty() || arguments.positional[0].is_none()) {
    for (rest = strip_left(rest); !rest.empty(); rest = strip_left(rest)) {
      std::size_t end = 0;
      const bool limit = most >= 0 && static_cast<std::int64_t>(out.size()) >= most;
      for (std::string_view c : characters(rest)) {
        if (!limit && strip_left(c).empty()) break;
        end += c.size();
      }
      out.emplace_back(std::string(limit ? strip_right(rest) : rest.substr(0, end)));
      rest.remove_prefix(end);
    }
    return Value::list(std::move(out));
  }
  KW_TRY(std::string separator, text_argument(arguments, 0));
  if (separator.empty()) return fail(ErrorCode::kInvalidArgument, "split at nothing");
  for (std::size_t at = rest.find(separator);
       at != std::string_view::npos && (most < 0 || static_cast<std::int64_t>(out.size()) < most);
       at = rest.find(separator)) {
    out.emplace_back(std::string(rest.substr(0, at)));
    rest.remove_prefix(at + separator.size());
  }
  out.emplace_back(std::string(rest));
  return Value::list(std::move(out));
}

Result<Value> rsplit(const std::string& self, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("rsplit", 2));
  KW_TRY(std::string separator, text_argument(arguments, 0));
  KW_TRY(std::int64_t most, count_argument(arguments, 1));
  if (separator.empty()) return fail(ErrorCode::kInvalidArgument, "rsplit at nothing");
  List out;
  std::string_view rest = self;
  for (std::size_t at = rest.rfind(separator);
       at != std::string_view::npos && (most < 0 || static_cast<std::int64_t>(out.size()) < most);
       at = rest.rfind(separator)) {
    out.emplace_back(std::string(rest.substr(at + separator.size())));
    rest = rest.substr(0, at);
  }
  out.emplace_back(std::string(rest));
  std::reverse(out.begin(), out.end());
  return Value::list(std::move(out));
}

// One text, or any of several.
template <bool (*holds_for)(std::string_view, std::string_view)>
Result<Value> affix(const std::string& self, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("startswith", 1));
  if (arguments.positional.size() == 1 && arguments.positional[0].items() != nullptr) {
    for (const Value& one : *arguments.positional[0].items()) {
      if (one.string() == nullptr)
        return fail(ErrorCode::kInvalidArgument, "{} is no beginning or end", one.type());
      if (holds_for(self, *one.string())) return Value(true);
    }
    return Value(false);
  }
  KW_TRY(std::string text, text_argument(arguments, 0));
  return Value(holds_for(self, text));
}
constexpr auto kStarts =
    +[](std::string_view text, std::string_view part) { return text.starts_with(part); };
constexpr auto kEnds =
    +[](std::string_view text, std::string_view part) { return text.ends_with(part); };

Result<Value> replace(const std::string& self, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("replace", 3));
  KW_TRY(std::string from, text_argument(arguments, 0));
  KW_TRY(std::string to, text_argument(arguments, 1));
  KW_TRY(std::int64_t most, count_argument(arguments, 2));
  if (from.empty()) return fail(ErrorCode::kUnsupported, "replacing nothing is not read");
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = self.find(from); at != std::string::npos && most != 0;
       at = self.find(from, done), most -= most > 0 ? 1 : 0) {
    out += self.substr(done, at - done) + to;
    if (out.size() > (16U << 20U)) return fail(ErrorCode::kUnsupported, "a text is too long");
    done = at + from.size();
  }
  return Value(out + self.substr(done));
}

enum class Case { kUpper, kLower, kCapitalize, kTitle };
template <Case chosen>
Result<Value> in_case(const std::string& self, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("a change of case", 0));
  std::string out;
  bool begins = true;  // a word, or the text
  for (char c : self) {
    if (static_cast<unsigned char>(c) >= 0x80)
      return fail(ErrorCode::kUnsupported, "the case of a text beyond ASCII is not changed");
    const bool upper = chosen == Case::kUpper || (chosen != Case::kLower && begins);
    const bool is_upper = c >= 'A' && c <= 'Z', is_lower = c >= 'a' && c <= 'z';
    if (is_lower && upper)
      out += static_cast<char>(c - 32);
    else if (is_upper && !upper)
      out += static_cast<char>(c + 32);
    else
      out += c;
    begins = chosen == Case::kTitle && !is_upper && !is_lower;
  }
  return Value(std::move(out));
}

// Characters before the first occurrence; -1 where there is none.
Result<Value> find_text(const std::string& self, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("find", 1));
  KW_TRY(std::string text, text_argument(arguments, 0));
  const std::size_t at = self.find(text);
  if (at == std::string::npos) return Value(std::int64_t{-1});
  return Value(static_cast<std::int64_t>(characters(std::string_view(self).substr(0, at)).size()));
}

Result<Value> count(const std::string& self, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("count", 1));
  KW_TRY(std::string text, text_argument(arguments, 0));
  if (text.empty()) return fail(ErrorCode::kUnsupported, "counting nothing is not read");
  std::int64_t out = 0;
  for (std::size_t at = self.find(text); at != std::string::npos;
       at = self.find(text, at + text.size()))
    ++out;
  return Value(out);
}

Result<Value> join(const std::string& self, const Arguments& arguments) {
  KW_TRY_STATUS(arguments.only("join", 1));
  if (arguments.positional.size() != 1)
    return fail(ErrorCode::kInvalidArgument, "join without a list");
  KW_TRY(List items, items_of(arguments.positional[0]));
  std::string out;
  for (std::size_t at = 0; at < items.size(); ++at) {
    if (items[at].string() == nullptr)
      return fail(ErrorCode::kInvalidArgument, "join of {}", items[at].type());
    out += (at > 0 ? self : "") + *items[at].string();
  }
  return Value(std::move(out));
}

constexpr std::pair<std::string_view, Method> kMethods[] = {
    {"capitalize", &in_case<Case::kCapitalize>},
    {"count", &count},
    {"endswith", &affix<kEnds>},
    {"find", &find_text},
    {"join", &join},
    {"lower", &in_case<Case::kLower>},
    {"lstrip", &strip<true, false>},
    {"replace", &replace},
    {"rsplit", &rsplit},
    {"rstrip", &strip<false, true>},
    {"split", &split},
    {"startswith", &affix<kStarts>},
    {"strip", &strip<true, true>},
    {"title", &in_case<Case::kTitle>},
    {"upper", &in_case<Case::kUpper>},
};

// What else Python's strings have.
constexpr std::array<std::string_view, 32> kOthers = {
    "casefold",     "center",  "encode",    "expandtabs",  "format",       "format_map",
    "index",        "isalnum", "isalpha",   "isascii",     "isdecimal",    "isdigit",
    "isidentifier", "islower", "isnumeric", "isprintable", "isspace",      "istitle",
    "isupper",      "ljust",   "maketrans", "partition",   "removeprefix", "removesuffix",
    "rfind",        "rindex",  "rjust",     "rpartition",  "splitlines",   "swapcase",
    "translate",    "zfill"};

}  // namespace

bool is_string_method(std::string_view name) {
  for (const auto& [known, method] : kMethods) {
    if (known == name) return true;
  }
  return std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end();
}

Result<Value> call_string_method(const std::string& name, const std::string& self,
                                 const Arguments& arguments) {
  for (const auto& [known, method] : kMethods) {
    if (known == name) return method(self, arguments);
  }
  return fail(ErrorCode::kUnsupported, "the method \"{}\" of a string is not read", name);
}

}  // namespace kw::text::jinja
