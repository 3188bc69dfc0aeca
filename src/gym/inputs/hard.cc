// Kinds of hard values, segment by segment.
#include "gym/inputs/hard.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/random.h"
#include "gym/correctness/tensor.h"
#include "os/parallel.h"
#include "tensor/half.h"
#include "text/enum_names.h"

namespace kw::gym {
namespace {

using task::InputDomain;
using tensor::DType;

constexpr double kSpike = 1000, kShift = 100, kScale = 100;
constexpr std::size_t kSpikeBlock = 1024;
// Elements of the mean square, and of what is sorted at once.
constexpr std::size_t kSampled = 4096;
constexpr std::size_t kTied = 4, kTiedBits = 2;
// Elements of one piece of work. Longer segments are cut there.
constexpr std::size_t kPiece = 1U << 16U;

constexpr auto kNames = text::enum_names<HardKind>({
    {HardKind::kSpikes, "spikes"},
    {HardKind::kOneHot, "one-hot"},
    {HardKind::kLargeMean, "large mean"},
    {HardKind::kScaledUp, "scaled up"},
    {HardKind::kScaledDown, "scaled down"},
    {HardKind::kNegative, "negative"},
    {HardKind::kConstantRows, "constant rows"},
    {HardKind::kSorted, "sorted"},
    {HardKind::kTies, "ties"},
    {HardKind::kSmallIntegers, "small integers"},
    {HardKind::kIndices, "structured indices"},
});

// Values of a dtype as T: float or double for floating dtypes, int64 for whole numbers.
template <typename T>
void read(DType dtype, std::span<const std::byte> bytes, std::size_t first, std::span<T> out) {
  if constexpr (std::is_floating_point_v<T>) {
    tensor::load(dtype, bytes, first, out);
  } else {
    const std::size_t size = tensor::size_of(dtype);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::byte* at = bytes.data() + (first + i) * size;
      std::int64_t value = 0;
      std::memcpy(&value, at, size);
      const unsigned unused = 64 - 8 * static_cast<unsigned>(size);
      const auto word = static_cast<std::uint64_t>(value) << unused;
      out[i] = dtype == DType::kUInt8 ? static_cast<std::int64_t>(word >> unused)
                                      : static_cast<std::int64_t>(word) >> unused;
    }
  }
}

template <typename T>
void write(DType dtype, std::span<const T> values, std::size_t first, std::span<std::byte> bytes) {
  if constexpr (std::is_same_v<T, float>) return tensor::store(dtype, values, first, bytes);
  const std::size_t size = tensor::size_of(dtype);
  for (std::size_t i = 0; i < values.size(); ++i)
    std::memcpy(bytes.data() + (first + i) * size, &values[i], size);
}

template <typename T>
constexpr bool is_stored_as(DType dtype) {
  if constexpr (std::is_same_v<T, float>) return dtype == DType::kFloat32;
  if constexpr (std::is_same_v<T, double>) return dtype == DType::kFloat64;
  return dtype == DType::kInt64;
}

// The values where they lie; empty where they are stored otherwise.
template <typename T>
std::span<T> in_place(DType dtype, std::span<std::byte> bytes) {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(T) == 0;
  if (!is_stored_as<T>(dtype) || !is_aligned) return {};
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

// Turns one segment into another, kind by kind.
template <typename T>
class Maker {
 public:
  // most: the largest value of the dtype.
  Maker(double scale, T most, Rng& rng) : scale_(scale), most_(most), rng_(rng) {}

  void make(HardKind kind, std::span<T> x) {
    if (x.empty()) return;
    switch (kind) {
      case HardKind::kConstantRows:
        std::ranges::fill(x, T{x[place(x)]});
        return;
      case HardKind::kSorted:
        return sort(x);
      case HardKind::kTies:
        return tie(x);
      case HardKind::kIndices:
        return structure(x);
      default:
        break;
    }
    if constexpr (std::is_floating_point_v<T>) make_real(kind, x);
  }

 private:
  std::size_t place(std::span<T> x) { return rng_.below(x.size()); }

  void make_real(HardKind kind, std::span<T> x) {
    const auto unit = static_cast<T>(std::exp2(std::floor(std::log2(scale_))) / 2);
    const auto shift = static_cast<T>(kShift * scale_);
    switch (kind) {
      case HardKind::kSpikes:
        for (std::size_t i = 0; i < x.size(); i += kSpikeBlock) {
          T& spike = x[i + rng_.below(std::min(kSpikeBlock, x.size() - i))];
          spike = limited(spike * static_cast<T>(kSpike));
        }
        return;
      case HardKind::kOneHot:
        std::ranges::fill(x, T{0});
        x[place(x)] = static_cast<T>(scale_);
        return;
      case HardKind::kLargeMean:
        return each(x, [&](T v) { return v + shift; });
      case HardKind::kScaledUp:
        return each(x, [](T v) { return v * static_cast<T>(kScale); });
      case HardKind::kScaledDown:
        return each(x, [](T v) { return v / static_cast<T>(kScale); });
      case HardKind::kNegative:
        return each(x, [](T v) { return -std::abs(v); });
      case HardKind::kSmallIntegers:
        return each(x, [&](T v) { return whole(v / unit) * unit; });
      default:
        return;
    }
  }

  T limited(T v) const { return std::clamp(v, -most_, most_); }

  // The nearest whole number: adding so much leaves no bits for a fraction.
  static T whole(T v) {
    constexpr T kNoFraction = T{1.5} * (std::uint64_t{1} << (std::numeric_limits<T>::digits - 1));
    return std::abs(v) < kNoFraction / 4 ? (v + kNoFraction) - kNoFraction : v;
  }

  template <typename F>
  void each(std::span<T> x, F f) {
    for (T& v : x) v = limited(f(v));
  }

  // Sorting is slow: segments of one piece of work share their first one's values, and long ones
  // are sorted in parts.
  void sort(std::span<T> x) {
    for (std::size_t i = 0; i < x.size(); i += kSampled) {
      const auto part = x.subspan(i, std::min(kSampled, x.size() - i));
      if (sorted_.size() != part.size()) {
        sorted_.assign(part.begin(), part.end());
        std::ranges::sort(sorted_);
      }
      if (rng_.below(2) == 0)
        std::ranges::copy(sorted_, part.begin());
      else
        std::ranges::reverse_copy(sorted_, part.begin());
    }
  }

  void tie(std::span<T> x) {
    std::array<T, kTied> values;
    for (T& value : values) value = x[place(x)];
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < x.size(); ++i, word >>= kTiedBits) {
      if (i % (64 / kTiedBits) == 0) word = rng_.next();
      x[i] = values.at(word % kTied);
    }
  }

  // A third of the segment each: sorted, the ends in turn, a few values alone.
  void structure(std::span<T> x) {
    const auto [least, most] = std::ranges::minmax(x);
    const std::size_t third = x.size() / 3;
    sort(x.first(third));
    for (std::size_t i = third; i < 2 * third; ++i) x[i] = i % 2 == 0 ? least : most;
    tie(x.subspan(2 * third));
  }

  double scale_;
  T most_;
  Rng& rng_;
  std::vector<T> sorted_;  // the last segment that was sorted
};

// The blocks along an axis: the kind of each coordinate.
class Blocks {
 public:
  // kinds: at least one.
  Blocks(std::vector<HardKind> kinds, std::size_t size, std::uint64_t seed)
      : kinds_(std::move(kinds)), size_(std::max<std::size_t>(1, size)) {
    Rng rng(seed);
    for (std::size_t i = kinds_.size(); i > 1; --i) std::swap(kinds_[i - 1], kinds_[rng.below(i)]);
    width_ = std::max<std::size_t>(1, size_ / kinds_.size());
    offset_ = rng.below(size_);
  }
  HardKind of(std::size_t coordinate) const { return kinds_[block(coordinate) % kinds_.size()]; }
  // The beginnings of the blocks, and the axis's size at the end.
  std::vector<std::size_t> bounds() const {
    std::vector<std::size_t> out = {0};
    for (std::size_t c = 1; c < size_; ++c)
      if (block(c) != block(c - 1)) out.push_back(c);
    out.push_back(size_);
    return out;
  }

 private:
  std::size_t block(std::size_t coordinate) const {
    return (coordinate + offset_) % size_ / width_;
  }
  std::vector<HardKind> kinds_;
  std::size_t size_, width_ = 1, offset_ = 0;
};

template <typename T>
double root_mean_square(DType dtype, std::span<const std::byte> bytes) {
  const std::size_t elements = bytes.size() / tensor::size_of(dtype);
  std::vector<T> sample(std::min(elements, kSampled));
  read<T>(dtype, bytes, 0, sample);
  double sum = 0;
  for (const T value : sample) {
    const auto real = static_cast<double>(value);
    if (std::isfinite(real)) sum += real * real;
  }
  return sum > 0 ? std::sqrt(sum / static_cast<double>(sample.size())) : 1;
}

struct Rows {
  std::size_t count = 0, columns = 1;
  std::size_t inner = 1;  // rows of one coordinate of the axis
  std::size_t size = 1;   // of the axis
  bool along_columns = false;
};

Rows rows_of(std::span<const std::int64_t> shape, std::size_t axis, std::size_t elements) {
  Rows rows;
  if (shape.empty()) return {elements, 1, 1, 1, false};
  axis = std::min(axis, shape.size() - 1);
  rows.columns = static_cast<std::size_t>(shape.back());
  rows.count = elements / rows.columns;
  rows.size = static_cast<std::size_t>(shape[axis]);
  rows.along_columns = axis + 1 == shape.size();
  for (std::size_t a = axis + 1; a + 1 < shape.size(); ++a)
    rows.inner *= static_cast<std::size_t>(shape[a]);
  return rows;
}

// The beginnings of a row's segments, and its end.
std::vector<std::size_t> segments_of(const Rows& rows, const Blocks& blocks) {
  const auto blocks_of_row =
      rows.along_columns ? blocks.bounds() : std::vector<std::size_t>{0, rows.columns};
  std::vector<std::size_t> out;
  for (std::size_t b = 0; b + 1 < blocks_of_row.size(); ++b) {
    for (std::size_t c = blocks_of_row[b]; c < blocks_of_row[b + 1]; c += kPiece) out.push_back(c);
  }
  out.push_back(rows.columns);
  return out;
}

template <typename T>
void make_rows(DType dtype, const Rows& rows, const Blocks& blocks, std::uint64_t seed,
               std::span<std::byte> out) {
  const double scale = root_mean_square<T>(dtype, out);
  T most = 0;
  if constexpr (std::is_floating_point_v<T>) most = static_cast<T>(tensor::max_of(dtype));
  const auto segments = segments_of(rows, blocks);
  const std::size_t in_row = segments.size() - 1;
  const std::size_t mean = std::max<std::size_t>(1, rows.columns / in_row);
  const std::span<T> values = in_place<T>(dtype, out);
  const auto work = [&](std::size_t begin, std::size_t end) {
    std::vector<T> copy;
    Rng rng = Rng::at(seed, begin);
    Maker<T> maker(scale, most, rng);
    for (std::size_t s = begin; s < end; ++s) {
      const std::size_t row = s / in_row, first = segments[s % in_row];
      const HardKind kind = blocks.of(rows.along_columns ? first : row / rows.inner % rows.size);
      const std::size_t place = row * rows.columns + first;
      const std::size_t size = segments[s % in_row + 1] - first;
      if (!values.empty()) {
        maker.make(kind, values.subspan(place, size));
        continue;
      }
      copy.resize(size);
      read<T>(dtype, out, place, copy);
      maker.make(kind, copy);
      write<T>(dtype, copy, place, out);
    }
  };
  os::in_parallel_pieces(rows.count * in_row, std::max<std::size_t>(1, kPiece / mean),
                         mean * tensor::size_of(dtype), work);
}

}  // namespace

std::string_view to_string(HardKind kind) {
  return kNames.name(kind);
}

bool is_possible(HardKind kind, DType dtype, InputDomain domain) {
  if (domain == InputDomain::kFixed || dtype == DType::kBool) return false;
  const bool is_order = kind == HardKind::kConstantRows || kind == HardKind::kSorted;
  if (!tensor::is_floating(dtype)) return is_order || kind == HardKind::kIndices;
  if (kind == HardKind::kIndices) return false;
  if (is_order || kind == HardKind::kTies) return true;
  if (domain == InputDomain::kOwn) return false;
  const bool keeps_sign = kind == HardKind::kSpikes || kind == HardKind::kLargeMean ||
                          kind == HardKind::kScaledUp || kind == HardKind::kScaledDown;
  return keeps_sign || domain == InputDomain::kAny;
}

bool is_uneven(HardKind kind) {
  return kind == HardKind::kSpikes || kind == HardKind::kOneHot;
}

bool makes_ties(HardKind kind) {
  return kind == HardKind::kOneHot || kind == HardKind::kLargeMean ||
         kind == HardKind::kConstantRows || kind == HardKind::kSorted || kind == HardKind::kTies ||
         kind == HardKind::kSmallIntegers;
}

HardWindow hard_window(std::span<const std::int64_t> shape, std::uint64_t seed) {
  HardWindow window{0, static_cast<std::size_t>(elements_of(shape)), {shape.begin(), shape.end()}};
  Rng rng(seed);
  for (std::int64_t& size : window.shape) {
    if (window.elements <= kMaxHardElements) break;
    const auto whole = static_cast<std::size_t>(size);
    const std::size_t inner = window.elements / whole;
    const std::size_t taken = std::clamp<std::size_t>(kMaxHardElements / inner, 1, whole);
    window.first += rng.below(whole - taken + 1) * inner;
    size = static_cast<std::int64_t>(taken);
    window.elements = taken * inner;
  }
  return window;
}

void make_hard(DType dtype, std::span<const std::int64_t> shape, InputDomain domain,
               const HardMix& mix, HardSeeds seeds, std::span<std::byte> out) {
  std::vector<HardKind> kinds = mix.kinds;
  std::erase_if(kinds, [&](HardKind kind) { return !is_possible(kind, dtype, domain); });
  if (kinds.empty() || out.empty()) return;
  Rows rows = rows_of(shape, mix.axis, out.size() / tensor::size_of(dtype));
  // One kind has whole rows as its segments, whatever the axis.
  if (kinds.size() == 1) rows.along_columns = false;
  const Blocks blocks(std::move(kinds), rows.size, seeds.blocks);
  if (dtype == DType::kFloat64)
    make_rows<double>(dtype, rows, blocks, seeds.values, out);
  else if (tensor::is_floating(dtype))
    make_rows<float>(dtype, rows, blocks, seeds.values, out);
  else
    make_rows<std::int64_t>(dtype, rows, blocks, seeds.values, out);
}

}  // namespace kw::gym
