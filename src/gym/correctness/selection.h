// Selection: the part of a large output that is compared with float64.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "gym/correctness/tensor.h"

namespace kw::gym {

// The same columns of some rows, as a tensor [rows, columns] of its own: so a row's mean and a
// column's share are about those of the whole. Immutable.
class Selection {
 public:
  struct Range {
    std::size_t first = 0, count = 0;
    bool operator==(const Range&) const = default;
  };

  // Random rows, and random stretches of columns where rows are long: about `most` elements. Of
  // short rows as many as make a stretch are taken together.
  static Selection random(Slices whole, std::size_t most, Rng& rng);
  // The rows and stretches of as many of these elements as `most` allows, at least of the first.
  static Selection around(Slices whole, std::span<const std::uint64_t> elements, std::size_t most);

  const std::vector<std::size_t>& rows() const { return rows_; }     // ascending
  const std::vector<Range>& columns() const { return columns_; }     // ascending, apart
  const std::vector<std::int64_t>& shape() const { return shape_; }  // [rows, columns]
  std::size_t elements() const;
  // Elements of a row of the whole.
  std::size_t row_length() const { return whole_.columns; }

  // Calls piece(first, count) for runs of elements of the whole, in the selection's order; runs
  // that touch are one.
  void for_runs(const std::function<void(std::size_t first, std::size_t count)>& piece) const;
  // The selected elements of the whole's bytes.
  std::vector<std::byte> of(std::span<const std::byte> whole, std::size_t element_bytes) const;

  // Rows are cut into stretches of so many columns.
  static constexpr std::size_t kStretch = 8192;

 private:
  Selection(Slices whole, std::vector<std::size_t> rows, const std::vector<std::size_t>& stretches);
  Slices whole_;
  std::vector<std::size_t> rows_;
  std::vector<Range> columns_;
  std::vector<std::int64_t> shape_;
};

// By output; nullopt: the whole output. Empty: all outputs are whole.
using Selections = std::vector<std::optional<Selection>>;

}  // namespace kw::gym
