#include "writer/nest/padded_image.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

constexpr std::int64_t kMaxPhases = 4;

// What a dimension is read at: [low, low + extent).
struct Reach {
  IntExpr low, extent;
};

std::optional<Reach> reach_of(const IntExpr& index, const std::vector<Loop>& loops,
                              const IntRanges& ranges) {
  IntExpr low = index, high = index;
  for (const Loop& loop : loops) {
    const auto step = index.coefficient(loop.variable);
    if (!step) return std::nullopt;
    const bool up = ranges.nonnegative(*step);
    if (!up && !ranges.nonnegative(IntExpr() - *step)) return std::nullopt;
    const std::map<std::string, IntExpr> first = {{loop.variable, IntExpr()}},
                                         last = {{loop.variable, loop.extent - 1}};
    low = low.substitute(up ? first : last);
    high = high.substitute(up ? last : first);
  }
  return Reach{low, high - low + 1};
}

// The conditions only keep the load inside its buffer: those of a part of it say more.
bool only_bounds(const std::vector<IntExpr>& index, const Shape& shape,
                 const std::vector<ScalarRef>& conditions) {
  return std::all_of(conditions.begin(), conditions.end(), [&](const ScalarRef& condition) {
    const auto* call = std::get_if<Scalar::Call>(&condition->node);
    if (call == nullptr || call->arguments.size() != 2) return false;
    const auto place = index_of(call->arguments[0]), bound = index_of(call->arguments[1]);
    if (!place || !bound) return false;
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (!(index[d] == *place)) continue;
      if (call->op == ScalarOp::kGreaterEqual && *bound == IntExpr()) return true;
      if (call->op == ScalarOp::kLess && *bound == shape[d]) return true;
    }
    return false;
  });
}

const Scalar::Load* load_in(const ScalarRef& value) {
  const auto* widened = std::get_if<Scalar::Cast>(&value->node);
  const auto* out = std::get_if<Scalar::Load>(&(widened != nullptr ? widened->value : value)->node);
  return out == nullptr || out->index.empty() ? nullptr : out;
}

// Elements from a column to the next; nullopt: the product reads it well as it is.
std::optional<std::int64_t> step_of(const ImageRead& read, const std::vector<IntExpr>& index) {
  const auto by_column = index.back().coefficient(read.columns.back().variable);
  const std::int64_t step = by_column ? by_column->constant().value_or(0) : 0;
  if (step < 1) return std::nullopt;
  const bool window = std::any_of(read.depth.begin(), read.depth.end(), [&](const Loop& loop) {
    return index.back().contains(loop.variable);
  });
  if (read.conditions.empty() && (step == 1 || !window)) return std::nullopt;
  return step;
}

// The loops around the store; that over `phases` as a loop for each of its iterations, in which it
// is known what is inside.
NestNode filling(Store store, const std::vector<Loop>& loops, const std::string& phases,
                 std::int64_t count) {
  NestList body;
  body.push_back({std::move(store)});
  for (std::size_t i = loops.size(); i-- > 0;) {
    NestList outer;
    if (loops[i].variable == phases) {
      for (std::int64_t phase = 0; phase < count; ++phase) {
        NestList mine = body;
        for (NestNode& node : mine) substitute(node, {{phases, IntExpr(phase)}});
        std::move(mine.begin(), mine.end(), std::back_inserter(outer));
      }
    } else {
      outer.push_back({NestLoop{loops[i].variable, loops[i].extent, std::move(body)}});
    }
    body = std::move(outer);
  }
  return std::move(body.front());
}

class Padding {
 public:
  Padding(const ImageRead& read, tensor::DType dtype, Program& program)
      : read_(read), program_(program), ranges_(read.ranges) {
    image_.name = fmt::format("t{}", program.buffers.size());
    image_.type.dtype = dtype;
  }

  std::optional<PaddedImage> of(const Scalar::Load& load, const std::vector<IntExpr>& index,
                                std::int64_t step) {
    PaddedImage out;
    split_columns(index, out);
    std::vector<Loop> inside = out.columns;
    inside.insert(inside.end(), read_.depth.begin(), read_.depth.end());
    std::map<std::string, IntExpr> at_first;
    for (const Loop& loop : out.around) at_first[loop.variable] = IntExpr();
    const Buffer& from = program_.buffers[static_cast<std::size_t>(load.buffer)];
    for (std::size_t d = 0; d < index.size(); ++d) {
      const auto reach = reach_of(index[d], inside, read_.ranges);
      if (!reach) return std::nullopt;
      // Of phases the first one reaches farthest.
      const IntExpr extent = reach->extent.substitute(at_first);
      const IntExpr offset = read_.ranges.simplify(index[d] - reach->low);
      const bool is_last = d + 1 == index.size();
      const IntExpr place = reach->low + (is_last && step != 1 ? by_remainder(extent, offset, step)
                                                               : dimension(extent, offset));
      read_at(place, from.type.shape[d]);
    }
    const tensor::DType dtype = image_.type.dtype;
    Store store;
    store.buffer = static_cast<BufferId>(program_.buffers.size());
    store.index = put_;
    store.value = cast(dtype, writer::load(load.buffer, from.type.dtype, source_));
    if (!constant_bool(in_bounds_)) store.value = select(in_bounds_, store.value, number(dtype, 0));
    out.value = writer::load(store.buffer, dtype, place_);
    program_.buffers.push_back(std::move(image_));
    out.filling = filling(std::move(store), loops_, phases_, step);
    return out;
  }

 private:
  // The columns of one image after the other; loops over images go around.
  void split_columns(const std::vector<IntExpr>& index, PaddedImage& out) const {
    out.around = read_.around;
    for (const Loop& loop : read_.columns) {
      const bool own = &loop != &read_.columns.back() &&
                       std::any_of(index.begin(), index.end(), [&](const IntExpr& one) {
                         return one == IntExpr::symbol(loop.variable);
                       });
      (own ? out.around : out.columns).push_back(loop);
    }
  }

  // One more dimension of the image, which the product reads at `place`; its variable. One of a
  // single element is none.
  IntExpr dimension(const IntExpr& extent, const IntExpr& place) {
    if (extent == IntExpr(1)) return {};
    const std::string variable = fmt::format("{}p{}", image_.name, loops_.size());
    loops_.push_back({variable, extent});
    ranges_.loop(variable, extent);
    image_.type.shape.push_back(extent);
    put_.push_back(IntExpr::symbol(variable));
    place_.push_back(std::make_shared<const Scalar>(tensor::DType::kInt64, Scalar::Index{place}));
    return put_.back();
  }

  // Two: the remainder by the step, and the quotient.
  IntExpr by_remainder(const IntExpr& extent, const IntExpr& offset, std::int64_t step) {
    const IntRanges& ranges = read_.ranges;
    const IntExpr phase = dimension(step, ranges.mod(offset, step));
    if (step <= kMaxPhases && loops_.size() > 1) phases_ = loops_.back().variable;
    const IntExpr count = ranges.floor_div(extent + step - 1, step);
    return phase + IntExpr(step) * dimension(count, ranges.floor_div(offset, step));
  }

  void read_at(const IntExpr& place, const IntExpr& size) {
    source_.push_back(index_number(place));
    const auto require = [&](ScalarOp op, const ScalarRef& limit) {
      in_bounds_ = logical_and(in_bounds_, binary(op, index_number(place), limit));
    };
    if (!ranges_.nonnegative(place))
      require(ScalarOp::kGreaterEqual, integer(tensor::DType::kInt64, 0));
    if (!ranges_.less(place, size)) require(ScalarOp::kLess, index_number(size));
  }

  const ImageRead& read_;
  Program& program_;
  Buffer image_;
  IntRanges ranges_;          // of the image's variables too
  std::vector<Loop> loops_;   // over the image
  std::vector<IntExpr> put_;  // its element in these
  std::vector<ScalarRef> source_,
      place_;           // that element in the operand's buffer; the product's read
  std::string phases_;  // the loop over remainders, that is unrolled
  ScalarRef in_bounds_ = boolean(true);
};

}  // namespace

std::optional<PaddedImage> padded_image(const ImageRead& read, tensor::DType dtype,
                                        Program& program) {
  const Scalar::Load* load = load_in(read.value);
  if (load == nullptr || read.columns.empty()) return std::nullopt;
  const std::vector<IntExpr> index = known_indices(*load);
  const Shape& shape = program.buffers[static_cast<std::size_t>(load->buffer)].type.shape;
  if (index.size() != load->index.size() || !only_bounds(index, shape, read.conditions))
    return std::nullopt;
  const auto step = step_of(read, index);
  return step ? Padding(read, dtype, program).of(*load, index, *step) : std::nullopt;
}

}  // namespace kw::writer
