// Which of a generator's samples are judged, and what is concluded for the others: cells of
// operator x strategy x language.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "data/sample.h"

namespace kw::data {

// "OPERATOR | STRATEGY | LANGUAGE" for each operator of the sample, once, torch's and those that a
// generator says it is made of (the label `made_of`); without operators one with "".
std::vector<std::string> cells_of(const Sample& sample);

// Chooses `per_cell` samples of every cell, each with the same chance, and all of a smaller one.
// The same seed chooses the same, whatever the order. Memory: 16 bytes a chosen one in each cell.
class StratifiedChoice {
 public:
  StratifiedChoice(int per_cell, std::uint64_t seed)
      : per_cell_(static_cast<std::size_t>(per_cell)), seed_(seed) {}
  void add(const Sample& sample);
  // Hashes of ids: chosen by some cell.
  std::unordered_set<std::uint64_t> chosen() const;
  std::uint64_t key(const std::string& id) const;
  std::size_t cells() const { return cells_.size(); }

 private:
  std::size_t per_cell_;
  std::uint64_t seed_;
  std::map<std::string, std::set<std::uint64_t>> cells_;  // the smallest keys
};

// What the judgements say of the cells.
class CellFindings {
 public:
  struct Cell {
    std::uint64_t judged = 0, failed = 0;
  };
  void add(const Sample& sample, bool passed);
  // Cells that fail: again and again the one with the largest share of failures that no failing
  // cell has explained yet (of equal shares the one with more), until every failure is in one.
  std::set<std::string> failing() const;
  const std::map<std::string, Cell>& cells() const { return cells_; }

 private:
  std::map<std::string, Cell> cells_;
  std::vector<std::vector<std::string>> failures_;  // cells of each
};

}  // namespace kw::data
