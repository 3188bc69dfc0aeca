// Tunings: numbers that a strategy leaves open, by name.
#pragma once
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kw::writer {

// A number that a strategy leaves open.
struct Choice {
  std::string name;         // "depth_block"
  int usual = 0;            // used where a tuning does not name the choice
  std::vector<int> values;  // all that are worth trying, the usual one too, ascending
};

// The choices that are not as usual.
using Tuning = std::map<std::string, int, std::less<>>;

// A draft's name: "blocked", "blocked depth_block=256 tile_rows=4".
std::string label_of(std::string_view strategy, const Tuning& tuning);
// nullopt: no such label.
struct Labelled {
  std::string strategy;
  Tuning tuning;
};
std::optional<Labelled> parse_label(std::string_view label);

// ---- for the languages: Fields is a structure of ints with describe(fields, visit(name, field,
// values)) ----

template <typename Fields>
std::vector<Choice> choices_in(Fields usual) {
  std::vector<Choice> out;
  describe(usual, [&](const char* name, const int& field, std::vector<int> values) {
    if (std::find(values.begin(), values.end(), field) == values.end()) values.push_back(field);
    std::sort(values.begin(), values.end());
    out.push_back({name, field, std::move(values)});
  });
  return out;
}

// kNotFound for an unknown choice, kInvalidArgument for a value that the choice does not have.
Status check(const Tuning& tuning, const std::vector<Choice>& choices);

template <typename Fields>
Result<Fields> tuned(Fields usual, const Tuning& tuning) {
  KW_TRY_STATUS(check(tuning, choices_in(usual)));
  describe(usual, [&](const char* name, int& field, const std::vector<int>&) {
    if (const auto found = tuning.find(name); found != tuning.end()) field = found->second;
  });
  return usual;
}

}  // namespace kw::writer
