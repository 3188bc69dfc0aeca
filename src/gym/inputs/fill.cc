// Distributions over chunks: floating ones as float32 chunks that are then stored in the dtype,
// whole numbers as int64 chunks.
#include "gym/inputs/fill.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "gym/inputs/normal_mixer.h"
#include "gym/inputs/stream.h"
#include "gym/inputs/value_bounds.h"
#include "os/parallel.h"
#include "tensor/half.h"

namespace kw::gym {
namespace {

using task::Distribution;
using tensor::DType;

constexpr std::size_t kChunk = 4096;
constexpr std::size_t kSpikeBlock = 1024;

// A piece of a tensor: whole rows where the distribution knows rows.
class Filler {
 public:
  Filler(DType dtype, std::span<const std::int64_t> shape, const task::InputPolicy& policy,
         std::uint64_t seed, std::span<std::byte> out)
      : dtype_(dtype),
        policy_(policy),
        bounds_(bounds_of(dtype, policy)),
        seed_(seed),
        stream_(seed),
        rng_(stream_seed(seed)),
        out_(out) {
    size_ = out.size() / tensor::size_of(dtype);
    columns_ = shape.empty() ? 1 : static_cast<std::size_t>(shape.back());
  }

  void run() {
    bool whole = !tensor::is_floating(dtype_);
    switch (policy_.distribution) {
      case Distribution::kDefault:
        return whole ? whole_numbers() : normal(0, 1);
      case Distribution::kNormal:
        return normal(bounds_.low, bounds_.high);
      case Distribution::kUniform:
        return whole ? whole_numbers() : uniform();
      case Distribution::kIntegers:
        return whole_numbers();
      case Distribution::kSpikes:
        return spikes();
      case Distribution::kOneHot:
        return one_hot();
      case Distribution::kWideRange:
        return wide_range();
      case Distribution::kProbabilities:
        return probabilities();
      case Distribution::kPermutation:
        return permutation();
      case Distribution::kConstant:
        return constant();
    }
  }

 private:
  // The places of spikes and ones come from a generator of their own.
  static std::uint64_t stream_seed(std::uint64_t seed) { return seed ^ 0x5851f42d4c957f2dULL; }

  // make(first, chunk) for consecutive chunks, each stored by put.
  template <typename T, typename Make, typename Put>
  void chunks(Make make, Put put) {
    std::array<T, kChunk> buffer;
    for (std::size_t first = 0; first < size_; first += kChunk) {
      std::span<T> chunk = std::span(buffer).first(std::min(kChunk, size_ - first));
      make(first, chunk);
      put(first, chunk);
    }
  }

  template <typename Make>
  void real_chunks(Make make) {
    bool narrow = tensor::is_floating(dtype_) && dtype_ != DType::kFloat64;
    auto most = static_cast<float>(max_of(narrow ? dtype_ : DType::kFloat32));
    chunks<float>(make, [&](std::size_t first, std::span<float> chunk) {
      for (float& x : chunk) x = std::min(std::max(x, -most), most);
      if (dtype_ == DType::kFloat64) return put_double(first, chunk);
      if (!tensor::is_floating(dtype_)) return put_rounded(first, chunk);
      store(dtype_, chunk, first, out_);
    });
  }

  // 24 random bits below those of the float32.
  void put_double(std::size_t first, std::span<const float> chunk) {
    std::array<float, kChunk> low;
    stream_.uniform(std::span(low).first(chunk.size()));
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      double value =
          static_cast<double>(chunk[i]) * (1 + (static_cast<double>(low[i]) - 0.5) * 0x1p-24);
      if (policy_.distribution == Distribution::kUniform) {
        value = std::clamp(value, bounds_.low, std::nextafter(bounds_.high, bounds_.low));
      }
      std::memcpy(out_.data() + (first + i) * sizeof value, &value, sizeof value);
    }
  }

  void put_rounded(std::size_t first, std::span<const float> chunk) {
    WholeRange range = whole_range(dtype_);
    std::array<std::int64_t, kChunk> whole;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      whole.at(i) =
          std::llround(std::clamp(static_cast<double>(chunk[i]), range.least, range.most));
    }
    put_whole(first, std::span(whole).first(chunk.size()));
  }

  template <typename T>
  void put_as(std::size_t first, std::span<const std::int64_t> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto value = static_cast<T>(values[i]);
      std::memcpy(out_.data() + (first + i) * sizeof(T), &value, sizeof(T));
    }
  }

  // At most kChunk whole numbers, in any dtype that represents them.
  void put_whole(std::size_t first, std::span<const std::int64_t> values) {
    if (dtype_ == DType::kFloat64) return put_as<double>(first, values);
    if (tensor::is_floating(dtype_)) {
      std::array<float, kChunk> real;
      for (std::size_t i = 0; i < values.size(); ++i) real.at(i) = static_cast<float>(values[i]);
      return store(dtype_, std::span(real).first(values.size()), first, out_);
    }
    switch (tensor::size_of(dtype_)) {
      case 8:
        return put_as<std::int64_t>(first, values);
      case 4:
        return put_as<std::int32_t>(first, values);
      case 2:
        return put_as<std::int16_t>(first, values);
      default:
        return put_as<std::int8_t>(first, values);
    }
  }

  // Writes one value that the policy gives.
  void put_value(std::size_t i, double value) {
    auto real = static_cast<float>(value);
    auto whole = static_cast<std::int64_t>(tensor::is_floating(dtype_) ? 0 : value);
    if (!tensor::is_floating(dtype_)) return put_whole(i, std::span(&whole, 1));
    if (dtype_ != DType::kFloat64) return store(dtype_, std::span(&real, 1), i, out_);
    std::memcpy(out_.data() + i * sizeof value, &value, sizeof value);
  }

  bool is_large() const { return size_ >= NormalMixer::kWorthwhile; }

  void next_normal(std::span<float> chunk) {
    if (is_large() && !mixer_) mixer_.emplace(stream_seed(~seed_));
    if (mixer_)
      mixer_->normal(chunk);
    else
      stream_.normal(chunk);
  }

  bool is_aligned() const {
    return reinterpret_cast<std::uintptr_t>(out_.data()) % alignof(float) == 0;
  }

  void normal(double mean, double deviation) {
    if (dtype_ == DType::kFloat32 && is_large() && is_aligned()) {
      return NormalMixer(stream_seed(~seed_), static_cast<float>(mean),
                         static_cast<float>(deviation))
          .normal(std::span(reinterpret_cast<float*>(out_.data()), size_));
    }
    bool small = policy_.distribution == Distribution::kDefault && tensor::size_of(dtype_) == 1;
    bool plain = mean == 0 && deviation == 1;
    auto m = static_cast<float>(mean);
    auto d = static_cast<float>(deviation);
    real_chunks([&](std::size_t, std::span<float> chunk) {
      next_normal(chunk);
      if (!plain) {
        for (float& x : chunk) x = m + d * x;
      }
      if (small) {
        for (float& x : chunk) x = std::min(std::max(x, -2.0F), 2.0F);
      }
    });
  }

  void uniform() {
    ValueBounds ends = uniform_ends(dtype_, bounds_);
    auto low = static_cast<float>(bounds_.low);
    auto width = static_cast<float>(bounds_.high - bounds_.low);
    auto least = static_cast<float>(ends.low);
    auto most = static_cast<float>(ends.high);
    real_chunks([&](std::size_t, std::span<float> chunk) {
      stream_.uniform(chunk);
      for (float& x : chunk) x = std::min(std::max(low + width * x, least), most);
    });
  }

  void whole_numbers() {
    ValueBounds bounds = whole_bounds(dtype_, policy_);
    auto low = static_cast<std::int64_t>(bounds.low);
    // Below 2^32 numbers the bias of multiply-and-shift is under 2^-32 each.
    const std::uint64_t count = count_of(bounds);
    std::array<std::int64_t, kChunk> whole;
    chunks<std::uint64_t>(
        [&](std::size_t, std::span<std::uint64_t> chunk) { stream_.words(chunk); },
        [&](std::size_t first, std::span<const std::uint64_t> chunk) {
          for (std::size_t i = 0; i < chunk.size(); ++i) {
            std::uint64_t step = chunk[i];
            if (count != 0)
              step = count <= 1ULL << 32U ? ((step >> 32U) * count) >> 32U : step % count;
            whole.at(i) = static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + step);
          }
          put_whole(first, std::span(whole).first(chunk.size()));
        });
  }

  void spikes() {
    static_assert(kChunk % kSpikeBlock == 0);
    auto scale = static_cast<float>(bounds_.high);
    real_chunks([&](std::size_t, std::span<float> chunk) {
      next_normal(chunk);
      for (std::size_t i = 0; i < chunk.size(); i += kSpikeBlock) {
        chunk[i + rng_.below(std::min(kSpikeBlock, chunk.size() - i))] *= scale;
      }
    });
  }

  void one_hot() {
    std::ranges::fill(out_, std::byte{0});
    for (std::size_t row = 0; row < size_; row += columns_)
      put_value(row + rng_.below(columns_), bounds_.high);
  }

  void wide_range() {
    auto low = static_cast<std::int64_t>(bounds_.low);
    auto count = static_cast<std::uint64_t>(static_cast<std::int64_t>(bounds_.high) - low) + 1;
    float scale = 1;
    real_chunks([&](std::size_t first, std::span<float> chunk) {
      next_normal(chunk);
      for (std::size_t i = 0; i < chunk.size(); ++i) {
        if ((first + i) % columns_ == 0)
          scale = std::ldexp(1.0F,
                             static_cast<int>(low + static_cast<std::int64_t>(rng_.below(count))));
        chunk[i] *= scale;
      }
    });
  }

  void probabilities() {
    std::vector<float> row(columns_);
    auto next_row = [&] {
      stream_.normal(row);
      for (float& x : row) x = std::exp(x);
      double sum = std::accumulate(row.begin(), row.end(), 0.0);
      for (float& x : row) x = static_cast<float>(x / sum);
    };
    real_chunks([&](std::size_t first, std::span<float> chunk) {
      for (std::size_t i = 0; i < chunk.size(); ++i) {
        std::size_t column = (first + i) % columns_;
        if (column == 0) next_row();
        chunk[i] = row[column];
      }
    });
  }

  void permutation() {
    std::vector<std::int64_t> row(columns_);
    for (std::size_t first = 0; first < size_; first += columns_) {
      std::iota(row.begin(), row.end(), 0);
      for (std::size_t i = columns_; i > 1; --i) std::swap(row[i - 1], row[rng_.below(i)]);
      for (std::size_t i = 0; i < columns_; i += kChunk) {
        put_whole(first + i,
                  std::span<const std::int64_t>(row).subspan(i, std::min(kChunk, columns_ - i)));
      }
    }
  }

  void constant() {
    for (std::size_t i = 0; i < size_; ++i) put_value(i, bounds_.low);
  }

  DType dtype_;
  const task::InputPolicy& policy_;
  ValueBounds bounds_;
  std::uint64_t seed_;
  Stream stream_;
  std::optional<NormalMixer> mixer_;  // mixes large pieces; made when first needed
  Rng rng_;
  std::span<std::byte> out_;
  std::size_t size_ = 0;
  std::size_t columns_ = 1;
};

// One thread fills so many elements: whole rows where rows matter.
std::size_t piece_of(Distribution distribution, std::size_t columns) {
  switch (distribution) {
    case Distribution::kOneHot:
    case Distribution::kWideRange:
    case Distribution::kProbabilities:
    case Distribution::kPermutation:
      return columns * std::max<std::size_t>(1, kFilledPiece / columns);
    default:
      return kFilledPiece;
  }
}

std::string name_of(Distribution distribution) {
  constexpr std::array<std::string_view, 10> kNames = {
      "default", "normal",     "uniform",       "integers",    "spikes",
      "one_hot", "wide_range", "probabilities", "permutation", "constant"};
  return std::string(kNames.at(static_cast<std::size_t>(distribution)));
}

bool needs_floats(Distribution distribution) {
  return distribution == Distribution::kSpikes || distribution == Distribution::kWideRange ||
         distribution == Distribution::kProbabilities;
}

Status check_numbers(DType dtype, std::span<const std::int64_t> shape,
                     const task::InputPolicy& policy) {
  WholeRange range = whole_range(dtype);
  ValueBounds bounds = bounds_of(dtype, policy);
  bool whole = !tensor::is_floating(dtype);
  auto refuse = [&](const char* why) {
    return fail(ErrorCode::kInvalidArgument, "distribution {} with low {} and high {} of {}: {}",
                name_of(policy.distribution), bounds.low, bounds.high, tensor::to_string(dtype),
                why);
  };
  double limit = whole ? range.most : max_of(dtype);
  switch (policy.distribution) {
    case Distribution::kUniform:
      if (whole && (!policy.low || !policy.high)) return refuse("whole numbers need both given");
      if (!(bounds.low < bounds.high) || std::abs(bounds.low) > limit ||
          std::abs(bounds.high) > limit + 1)
        return refuse("empty or out of range");
      if (!whole &&
          representable_bounds(dtype, bounds).low > representable_bounds(dtype, bounds).high)
        return refuse("holds no value of the dtype");
      break;
    case Distribution::kNormal:
      if (!(bounds.high > 0)) return refuse("high is the standard deviation and must be positive");
      break;
    case Distribution::kWideRange:
      if (!(bounds.low <= bounds.high) || bounds.low < -126 || bounds.high > 126)
        return refuse("powers of two from -126 to 126, low first");
      break;
    case Distribution::kPermutation:
      if (!shape.empty() && static_cast<double>(shape.back() - 1) > range.most)
        return refuse("the row is longer than the dtype counts");
      break;
    case Distribution::kConstant:
      if (std::abs(bounds.low) > limit ||
          (whole && (bounds.low != std::floor(bounds.low) || bounds.low < range.least)))
        return refuse("not a value of the dtype");
      break;
    case Distribution::kOneHot:
      if (std::abs(bounds.high) > limit ||
          (whole && (bounds.high != std::floor(bounds.high) || bounds.high < range.least)))
        return refuse("not a value of the dtype");
      break;
    default:
      break;
  }
  if (policy.distribution == Distribution::kIntegers ||
      (whole && policy.distribution == Distribution::kUniform)) {
    ValueBounds ends = whole_bounds(dtype, policy);
    if (!(ends.low <= ends.high)) return refuse("no whole number in between");
    if (ends.low < range.least || ends.high > range.most)
      return refuse("not all are exact in the dtype");
  }
  return {};
}

}  // namespace

Status check_distribution(DType dtype, std::span<const std::int64_t> shape,
                          const task::InputPolicy& policy) {
  if ((policy.low && !std::isfinite(*policy.low)) ||
      (policy.high && !std::isfinite(*policy.high))) {
    return fail(ErrorCode::kInvalidArgument, "distribution {}: low and high must be finite",
                name_of(policy.distribution));
  }
  bool no_bool =
      policy.distribution == Distribution::kNormal || policy.distribution == Distribution::kUniform;
  if ((!tensor::is_floating(dtype) && needs_floats(policy.distribution)) ||
      (dtype == DType::kBool && no_bool)) {
    return fail(ErrorCode::kInvalidArgument, "distribution {} does not exist for {}",
                name_of(policy.distribution), tensor::to_string(dtype));
  }
  return check_numbers(dtype, shape, policy);
}

Status fill_input(DType dtype, std::span<const std::int64_t> shape, const task::InputPolicy& policy,
                  std::uint64_t seed, std::span<std::byte> out) {
  KW_TRY_STATUS(check_distribution(dtype, shape, policy));
  std::int64_t elements =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  KW_CHECK(static_cast<std::size_t>(elements) * tensor::size_of(dtype) == out.size());
  if (out.empty()) return {};
  std::size_t size = tensor::size_of(dtype);
  std::size_t columns = shape.empty() ? 1 : static_cast<std::size_t>(shape.back());
  std::size_t piece = piece_of(policy.distribution, columns);
  os::in_parallel_pieces(out.size() / size, piece, size, [&](std::size_t first, std::size_t last) {
    Filler(dtype, shape, policy, seed_of_piece(seed, first / piece),
           out.subspan(first * size, (last - first) * size))
        .run();
  });
  return {};
}

std::optional<DrawRecipe> recipe_of(DType dtype, const task::InputPolicy& policy) {
  const bool is_real = dtype == DType::kFloat32 || dtype == DType::kFloat16 ||
                       dtype == DType::kBFloat16;  // float64 has two words a number
  const bool is_whole = !tensor::is_floating(dtype);
  const ValueBounds bounds = bounds_of(dtype, policy);
  DrawRecipe recipe;
  const auto whole = [&]() -> std::optional<DrawRecipe> {
    if (tensor::is_floating(dtype) && !is_real && dtype != DType::kFloat64) return std::nullopt;
    const ValueBounds ends = whole_bounds(dtype, policy);
    recipe.kind = DrawRecipe::Kind::kWhole;
    recipe.least_whole = static_cast<std::int64_t>(ends.low);
    recipe.whole_count = count_of(ends);
    return recipe;
  };
  switch (policy.distribution) {
    case Distribution::kIntegers:
      return whole();
    case Distribution::kDefault:
      return is_whole ? whole() : is_real ? std::optional(recipe) : std::nullopt;
    case Distribution::kNormal:
      recipe.mean = static_cast<float>(bounds.low);
      recipe.deviation = static_cast<float>(bounds.high);
      return is_real ? std::optional(recipe) : std::nullopt;
    case Distribution::kSpikes:
      recipe.spike = static_cast<float>(bounds.high);
      return is_real && recipe.spike != 0 ? std::optional(recipe) : std::nullopt;
    case Distribution::kUniform: {
      if (is_whole) return whole();
      const ValueBounds ends = uniform_ends(dtype, bounds);
      recipe.kind = DrawRecipe::Kind::kUniform;
      recipe.low = static_cast<float>(bounds.low);
      recipe.width = static_cast<float>(bounds.high - bounds.low);
      recipe.least = static_cast<float>(ends.low);
      recipe.most = static_cast<float>(ends.high);
      return is_real ? std::optional(recipe) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace kw::gym
