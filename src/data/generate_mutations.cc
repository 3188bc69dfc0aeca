#include "data/generate_mutations.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace kw::data {
namespace {

using task::Language;

// A place in a source, and what stands there instead.
struct Edit {
  std::size_t begin = 0, end = 0;
  std::string text;
};
using Edits = std::vector<Edit>;

constexpr std::size_t kNone = std::string_view::npos;

bool is_word(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c);
}

std::vector<std::size_t> places_of(std::string_view source, std::string_view text) {
  std::vector<std::size_t> out;
  for (std::size_t at = source.find(text); at != kNone; at = source.find(text, at + text.size()))
    out.push_back(at);
  return out;
}

// The bracket that closes the one at `open`.
std::size_t closing(std::string_view source, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < source.size(); ++i) {
    const char c = source[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth == 0) return i;
  }
  return kNone;
}
std::size_t opening(std::string_view source, std::size_t close) {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    const char c = source[i];
    if (c == ')' || c == ']' || c == '}') ++depth;
    if ((c == '(' || c == '[' || c == '{') && --depth == 0) return i;
  }
  return kNone;
}

Edits replaced(std::string_view source, std::string_view from, std::string_view to) {
  Edits out;
  for (const std::size_t at : places_of(source, from))
    out.push_back({at, at + from.size(), std::string(to)});
  return out;
}

// ---- C family ----

// The condition of a loop: between "; " and "; ++".
Edits loop_conditions(std::string_view source, std::string_view before, std::string_view after,
                      bool at_sign) {
  Edits out;
  for (const std::size_t loop : places_of(source, "for (int64_t ")) {
    const std::size_t sign = source.find(" < ", loop), end = source.find("; ++", loop);
    if (sign == kNone || end == kNone || sign > end) continue;
    if (at_sign)
      out.push_back({sign, sign + before.size(), std::string(after)});
    else
      out.push_back({end, end, std::string(after)});
  }
  return out;
}
Edits loop_one_too_far(std::string_view s) {
  return loop_conditions(s, " < ", " <= ", true);
}
Edits loop_one_too_short(std::string_view s) {
  return loop_conditions(s, "", " - 1", false);
}

Edits missing_bounds_check(std::string_view source) {
  Edits out;
  for (const std::size_t at : places_of(source, ") ? ")) {
    const std::size_t open = opening(source, at);
    if (open != kNone) out.push_back({open, at + 1, "(true)"});
  }
  return out;
}

// Floating literals that are not 0.
Edits wrong_constant(std::string_view source) {
  Edits out;
  for (std::size_t i = 1; i + 1 < source.size(); ++i) {
    if (source[i] != '.' || !is_digit(source[i - 1]) || !is_digit(source[i + 1])) continue;
    std::size_t begin = i, end = i + 1;
    while (begin > 0 && is_digit(source[begin - 1])) --begin;
    while (end < source.size() && is_digit(source[end])) ++end;
    if (begin > 0 && is_word(source[begin - 1])) continue;
    if (end < source.size() && source[end] == 'e') continue;
    const double value = std::stod(std::string(source.substr(begin, end - begin)));
    if (value == 0) continue;
    std::string other = fmt::format("{:.4g}", value == 1 ? 2.0 : value * 1.25);
    if (other.find('.') == std::string::npos) other += ".0";
    out.push_back({begin, end, std::move(other)});
  }
  return out;
}

// " + name[...]" of a value, not of an index
Edits missing_bias(std::string_view source) {
  Edits out;
  for (const std::size_t at : places_of(source, " + ")) {
    std::size_t end = at + 3;
    while (end < source.size() && is_word(source[end])) ++end;
    if (end == at + 3 || end >= source.size() || source[end] != '[') continue;
    end = closing(source, end);
    if (end != kNone) out.push_back({at, end + 1, ""});
  }
  return out;
}

// "float a3 = 0;" and what fills a block with zeros
Edits uninitialised_accumulator(std::string_view source) {
  Edits out;
  for (const std::string_view type : {"float a", "double a"}) {
    for (const std::size_t at : places_of(source, type)) {
      std::size_t end = at + type.size();
      while (end < source.size() && is_digit(source[end])) ++end;
      if (source.substr(end, 3) == " = ") out.push_back({end, source.find(';', end), ""});
    }
  }
  for (const std::size_t at : places_of(source, " = 0.0f;\n")) {
    if (at == 0 || source[at - 1] != ']') continue;
    const std::size_t line = source.rfind('\n', at) + 1;
    out.push_back({line, at + 8, ""});
  }
  return out;
}

Edits wrong_identity(std::string_view s) {
  Edits out = replaced(s, "-std::numeric_limits<float>::infinity()", "0");
  for (Edit& one : replaced(s, "std::numeric_limits<float>::infinity()", "0")) {
    if (one.begin == 0 || s[one.begin - 1] != '-') out.push_back(std::move(one));
  }
  return out;
}

// Two loop variables of one index, exchanged: rows for columns.
Edits wrong_index(std::string_view source) {
  Edits out;
  for (const std::size_t at : places_of(source, "[")) {
    const std::size_t close = closing(source, at);
    if (close == kNone) continue;
    std::vector<std::pair<std::size_t, std::size_t>> variables;
    for (std::size_t i = at + 1; i < close; ++i) {
      if ((source[i] != 'i' && source[i] != 'r') || is_word(source[i - 1])) continue;
      std::size_t end = i + 1;
      while (is_word(source[end])) ++end;
      if (end > i + 1 && is_digit(source[i + 1])) variables.emplace_back(i, end);
      i = end;
    }
    if (variables.size() < 2) continue;
    const auto [a, a_end] = variables.front();
    const auto [b, b_end] = variables.back();
    const std::string_view first = source.substr(a, a_end - a), last = source.substr(b, b_end - b);
    if (first == last) continue;
    out.push_back({a, b_end, fmt::format("{}{}{}", last, source.substr(a_end, b - a_end), first)});
  }
  return out;
}

Edits wrong_dtype(std::string_view source) {
  Edits out;
  for (const std::string_view type : {"float a", "float t"}) {
    for (const std::size_t at : places_of(source, type)) {
      if (is_digit(source[at + type.size()]) && (at == 0 || !is_word(source[at - 1])))
        out.push_back({at, at + 5, "int"});
    }
  }
  return out;
}

Edits mean_without_division(std::string_view source) {
  Edits out;
  constexpr std::string_view kDivision = " / static_cast<float>(";
  for (const std::size_t at : places_of(source, kDivision)) {
    const std::size_t close = closing(source, at + kDivision.size() - 1);
    if (close != kNone) out.push_back({at, close + 1, ""});
  }
  return out;
}

// Calls another function, or drops the call. "kw_max<float>(" is found with its type.
Edits wrong_function(std::string_view s) {
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"kw_max<float>(", "std::min<float>("},
      {"kw_min<float>(", "std::max<float>("},
      {"kw_exp<float>(", "std::exp2("},
      {"kw_erf<float>(", "std::erfc("},
      {"kw_abs<float>(", "("},
      {"std::sqrt(", "("},
      {"tanhf(", "std::tan("},
      {"logf(", "std::log2("},
      {"log1pf(", "std::log("},
      {"expm1f(", "std::exp("}};
  Edits out;
  for (const auto& [from, to] : kOthers) {
    for (Edit& one : replaced(s, from, to)) {
      const std::string_view before = s.substr(0, one.begin);
      const bool declared = before.ends_with("float ") || before.ends_with("T ");
      const bool longer = one.begin > 0 && is_word(s[one.begin - 1]);
      if (!declared && !longer) out.push_back(std::move(one));
    }
  }
  return out;
}

Edits sign_error(std::string_view source) {
  Edits out;
  for (const std::size_t at : places_of(source, "] - ")) out.push_back({at + 2, at + 3, "+"});
  for (const std::size_t at : places_of(source, "] + ")) out.push_back({at + 2, at + 3, "-"});
  return out;
}

Edits missing_semicolon(std::string_view s) {
  return replaced(s, ";\n", "\n");
}
Edits missing_brace(std::string_view s) {
  return replaced(s, "  }\n", "");
}
Edits undeclared_name(std::string_view s) {
  Edits out;
  for (Edit& one : replaced(s, "out[", "output[")) {
    if (one.begin > 0 && !is_word(s[one.begin - 1])) out.push_back(std::move(one));
  }
  return out;
}
// Removes one parameter that the header declares.
Edits wrong_signature(std::string_view source) {
  const std::size_t run = source.find(" run(");
  if (run == kNone) return {};
  const std::size_t close = closing(source, run + 4);
  const std::size_t comma = close == kNone ? kNone : source.rfind(',', close);
  if (comma == kNone || comma < run) return {};
  return {{comma, close, ""}};
}
Edits missing_barrier(std::string_view s) {
  return replaced(s, "__syncthreads();", "");
}

// ---- Triton ----

// ", name=value" of a call
Edits without_argument(std::string_view source, std::string_view argument) {
  Edits out;
  for (const std::size_t at : places_of(source, argument)) {
    std::size_t end = at + argument.size();
    for (int depth = 0; end < source.size(); ++end) {
      const char c = source[end];
      if (c == '(' || c == '[') ++depth;
      if ((c == ')' || c == ']') && depth-- == 0) break;
      if (c == ',' && depth == 0) break;
    }
    out.push_back({at, end, ""});
  }
  return out;
}
Edits missing_mask(std::string_view s) {
  return without_argument(s, ", mask=");
}
Edits missing_other(std::string_view s) {
  return without_argument(s, ", other=");
}
Edits wrong_axis(std::string_view s) {
  Edits out = replaced(s, "axis=0", "axis=1");
  for (Edit& one : replaced(s, "axis=1", "axis=0")) out.push_back(std::move(one));
  return out;
}
Edits narrow_dtype(std::string_view s) {
  return replaced(s, "tl.float32", "tl.float16");
}
Edits wrong_reduction(std::string_view s) {
  Edits out = replaced(s, "tl.sum(", "tl.max(");
  for (Edit& one : replaced(s, "tl.max(", "tl.min(")) out.push_back(std::move(one));
  return out;
}
// "acc = acc + x", "acc = tl.dot(a, b, acc, ..)", "x += y"
Edits accumulator_overwritten(std::string_view s) {
  Edits out = replaced(s, " += ", " = ");
  for (const std::size_t at : places_of(s, " = ")) {
    std::size_t begin = at;
    while (begin > 0 && is_word(s[begin - 1])) --begin;
    const std::string_view name = s.substr(begin, at - begin);
    const std::string_view made = s.substr(at + 3, s.find('\n', at) - at - 3);
    if (name.empty()) continue;
    for (const std::string& wanted : {fmt::format("{} + ", name), fmt::format(", {}", name)}) {
      const std::size_t found = made.find(wanted);
      if (found == kNone || (found > 0 && wanted[0] != ',')) continue;
      if (wanted[0] == ',' && !made.starts_with("tl.dot(")) continue;
      const std::size_t end = at + 3 + found + wanted.size();
      if (end < s.size() && wanted[0] == ',' && is_word(s[end])) continue;
      out.push_back({at + 3 + found, end, ""});
    }
  }
  return out;
}
Edits missing_store(std::string_view s) {
  return replaced(s, "tl.store(", "tl.load(");
}
Edits bound_too_large(std::string_view s) {
  return replaced(s, " < ", " <= ");
}
Edits missing_colon(std::string_view s) {
  return replaced(s, "):\n", ")\n");
}
Edits missing_import(std::string_view s) {
  return replaced(s, "import triton.language as tl\n", "");
}
Edits unknown_function(std::string_view s) {
  Edits out = replaced(s, "tl.cdiv(", "tl.ceil_div(");
  for (Edit& one : replaced(s, "triton.cdiv(", "triton.ceil_div(")) out.push_back(std::move(one));
  for (Edit& one : replaced(s, "tl.where(", "tl.select(")) out.push_back(std::move(one));
  return out;
}

struct Mutation {
  std::string_view kind;
  Edits (*places)(std::string_view source);
};

constexpr Mutation kCFamily[] = {
    {"loop_one_too_far", loop_one_too_far},
    {"loop_one_too_short", loop_one_too_short},
    {"missing_bounds_check", missing_bounds_check},
    {"wrong_constant", wrong_constant},
    {"missing_bias", missing_bias},
    {"uninitialised_accumulator", uninitialised_accumulator},
    {"wrong_identity", wrong_identity},
    {"wrong_index", wrong_index},
    {"wrong_dtype", wrong_dtype},
    {"mean_without_division", mean_without_division},
    {"wrong_function", wrong_function},
    {"sign_error", sign_error},
    {"missing_semicolon", missing_semicolon},
    {"missing_brace", missing_brace},
    {"undeclared_name", undeclared_name},
    {"wrong_signature", wrong_signature},
};
constexpr Mutation kCudaAlone[] = {{"missing_barrier", missing_barrier}};
constexpr Mutation kTriton[] = {
    {"missing_mask", missing_mask},       {"missing_other", missing_other},
    {"wrong_axis", wrong_axis},           {"narrow_dtype", narrow_dtype},
    {"wrong_reduction", wrong_reduction}, {"accumulator_overwritten", accumulator_overwritten},
    {"missing_store", missing_store},     {"bound_too_large", bound_too_large},
    {"wrong_constant", wrong_constant},   {"missing_colon", missing_colon},
    {"missing_import", missing_import},   {"unknown_function", unknown_function},
};

std::vector<const Mutation*> mutations_for(Language language) {
  std::vector<const Mutation*> out;
  const auto add = [&](std::span<const Mutation> some) {
    for (const Mutation& one : some) out.push_back(&one);
  };
  if (task::facts_of(language).syntax == task::Syntax::kC) add(kCFamily);
  if (language == Language::kCuda) add(kCudaAlone);
  if (language == Language::kTriton) add(kTriton);
  return out;
}

std::optional<Mutant> applied(const Mutation& mutation, std::string_view source, Rng& rng) {
  const Edits places = mutation.places(source);
  if (places.empty()) return std::nullopt;
  const Edit& edit = places[rng.below(places.size())];
  Mutant out{std::string(mutation.kind), std::string(source)};
  out.source.replace(edit.begin, edit.end - edit.begin, edit.text);
  if (out.source == source) return std::nullopt;
  return out;
}

}  // namespace

std::vector<std::string_view> mutation_kinds(Language language) {
  std::vector<std::string_view> out;
  for (const Mutation* one : mutations_for(language)) out.push_back(one->kind);
  return out;
}

std::optional<Mutant> mutate(std::string_view source, Language language, std::string_view kind,
                             Rng& rng) {
  for (const Mutation* one : mutations_for(language)) {
    if (one->kind == kind) return applied(*one, source, rng);
  }
  return std::nullopt;
}

std::optional<Mutant> mutate(std::string_view source, Language language, Rng& rng) {
  std::vector<const Mutation*> order = mutations_for(language);
  while (!order.empty()) {
    const std::size_t at = rng.below(order.size());
    if (auto out = applied(*order[at], source, rng)) return out;
    order.erase(order.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return std::nullopt;
}

}  // namespace kw::data
