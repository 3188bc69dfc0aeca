// Python literals, as --set takes them: numbers, strings, booleans, None, tuples, lists and dicts
// of literals. Nothing is ever evaluated.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace kw::text {

struct Literal {
  struct None {
    bool operator==(const None&) const = default;
  };
  struct List {
    std::vector<Literal> items;
    bool operator==(const List&) const;
  };
  struct Tuple {
    std::vector<Literal> items;
    bool operator==(const Tuple&) const;
  };
  struct Dict {
    std::vector<std::pair<Literal, Literal>> items;  // in the order written
    bool operator==(const Dict&) const;
  };
  std::variant<None, bool, std::int64_t, double, std::string, List, Tuple, Dict> value;

  bool operator==(const Literal&) const = default;
};

// kInvalidArgument with the column (from 1) for anything but one literal; integers must fit 64
// bits, at most 64 KiB and 32 levels.
Result<Literal> parse_literal(std::string_view text);

// What Python's repr() prints: equal literals print alike, and parse_literal(repr(x)) is x.
std::string repr(const Literal& literal);

}  // namespace kw::text
