// Chooses which generated samples are judged, and draws conclusions for the others, by cells of
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

// "OPERATOR | STRATEGY | LANGUAGE" once for each operator of the sample: torch's, and those of the
// label `made_of`. A sample without operators has one cell, with "".
std::vector<std::string> cells_of(const Sample& sample);

// Chooses `per_cell` samples of every cell, each with the same chance, and all of a smaller cell.
// The same seed gives the same choice in any order of the samples. Memory: 16 bytes for each chosen
// sample of a cell.
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

// The findings of judged samples by cell.
class CellFindings {
 public:
  struct Cell {
    std::uint64_t judged = 0, failed = 0;
  };
  void add(const Sample& sample, bool passed);
  // Cells that fail: the cell with the largest share of failures that no failing cell explains yet,
  // then the next, until every failure is in one. Of equal shares the cell with more failures comes
  // first.
  std::set<std::string> failing() const;
  const std::map<std::string, Cell>& cells() const { return cells_; }

 private:
  std::map<std::string, Cell> cells_;
  std::vector<std::vector<std::string>> failures_;  // cells of each
};

}  // namespace kw::data
