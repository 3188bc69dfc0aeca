#include "gym/correctness/selection.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace kw::gym {
namespace {

constexpr std::size_t kMaxRows = 64;

std::size_t stretches_of(Slices whole) {
  return (whole.columns + Selection::kStretch - 1) / Selection::kStretch;
}

// So many of the numbers below `all`, or all, in ascending order.
std::vector<std::size_t> draw(std::size_t count, std::size_t all, Rng& rng) {
  std::set<std::size_t> drawn;
  if (count >= all) {
    std::vector<std::size_t> every(all);
    std::iota(every.begin(), every.end(), std::size_t{0});
    return every;
  }
  while (drawn.size() < count) drawn.insert(rng.below(all));
  return {drawn.begin(), drawn.end()};
}

}  // namespace

Selection::Selection(Slices whole, std::vector<std::size_t> rows,
                     const std::vector<std::size_t>& stretches)
    : whole_(whole), rows_(std::move(rows)) {
  std::size_t width = 0;
  for (std::size_t stretch : stretches) {
    const std::size_t first = stretch * kStretch;
    const std::size_t count = std::min(kStretch, whole.columns - first);
    width += count;
    if (!columns_.empty() && columns_.back().first + columns_.back().count == first)
      columns_.back().count += count;
    else
      columns_.push_back({first, count});
  }
  shape_ = {static_cast<std::int64_t>(rows_.size()), static_cast<std::int64_t>(width)};
}

Selection Selection::random(Slices whole, std::size_t most, Rng& rng) {
  const std::size_t stretches = stretches_of(whole);
  if (stretches == 1) {
    const std::size_t columns = std::max<std::size_t>(1, whole.columns);
    const std::size_t together = std::max<std::size_t>(1, std::min(kStretch, most) / columns);
    const std::size_t blocks = std::max<std::size_t>(1, most / (together * columns));
    std::vector<std::size_t> rows;
    for (std::size_t block : draw(blocks, (whole.rows + together - 1) / together, rng)) {
      const std::size_t end = std::min(whole.rows, (block + 1) * together);
      for (std::size_t row = block * together; row < end; ++row) rows.push_back(row);
    }
    return {whole, std::move(rows), {0}};
  }
  const std::size_t rows = std::min(whole.rows, kMaxRows);
  const std::size_t wide = std::max<std::size_t>(1, most / (rows * kStretch));
  std::vector<std::size_t> chosen = draw(rows, whole.rows, rng);
  return {whole, std::move(chosen), draw(wide, stretches, rng)};
}

Selection Selection::around(Slices whole, std::span<const std::uint64_t> elements,
                            std::size_t most) {
  const std::size_t width = std::min(kStretch, whole.columns);
  std::set<std::size_t> rows, stretches;
  for (std::uint64_t element : elements) {
    std::set<std::size_t> more_rows = rows, more_stretches = stretches;
    more_rows.insert(element / whole.columns);
    more_stretches.insert(element % whole.columns / kStretch);
    if (!rows.empty() && more_rows.size() * more_stretches.size() * width > most) break;
    rows = std::move(more_rows);
    stretches = std::move(more_stretches);
  }
  return {whole, {rows.begin(), rows.end()}, {stretches.begin(), stretches.end()}};
}

std::size_t Selection::elements() const {
  return static_cast<std::size_t>(elements_of(shape_));
}

void Selection::for_runs(
    const std::function<void(std::size_t first, std::size_t count)>& piece) const {
  Range run;
  for (std::size_t row : rows_) {
    for (const Range& range : columns_) {
      const std::size_t first = row * whole_.columns + range.first;
      if (run.count > 0 && run.first + run.count == first) {
        run.count += range.count;
        continue;
      }
      if (run.count > 0) piece(run.first, run.count);
      run = {first, range.count};
    }
  }
  if (run.count > 0) piece(run.first, run.count);
}

std::vector<std::byte> Selection::of(std::span<const std::byte> whole,
                                     std::size_t element_bytes) const {
  std::vector<std::byte> out;
  out.reserve(elements() * element_bytes);
  for_runs([&](std::size_t first, std::size_t count) {
    const auto run = whole.subspan(first * element_bytes, count * element_bytes);
    out.insert(out.end(), run.begin(), run.end());
  });
  return out;
}

}  // namespace kw::gym
