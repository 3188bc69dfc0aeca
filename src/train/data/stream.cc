#include "train/data/stream.h"

#include <algorithm>
#include <numeric>

#include "base/random.h"

namespace kw::train {
namespace {

bool is_usable(const Sample& sample) {
  return sample.size() >= 2 && std::any_of(sample.weights.begin() + 1, sample.weights.end(),
                                           [](float weight) { return weight > 0; });
}

}  // namespace

Json to_json(const StreamPosition& position) {
  return {{"draws", position.draws}, {"taken", position.taken}, {"too_long", position.too_long}};
}

Result<StreamPosition> stream_position_from_json(const Json& value, std::size_t sources) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, "data"));
  StreamPosition out;
  KW_TRY(const std::int64_t draws, reader.integer("draws"));
  KW_TRY(const std::int64_t too_long, reader.integer("too_long"));
  KW_TRY(const Json* taken, reader.get("taken"));
  if (!taken->is_array() || taken->size() != sources)
    return fail(ErrorCode::kInvalidArgument, "data.taken: expected {} numbers, one a source",
                sources);
  for (const Json& one : *taken) {
    if (!one.is_number_unsigned())
      return fail(ErrorCode::kInvalidArgument, "data.taken: expected numbers of rows");
    out.taken.push_back(one.get<std::uint64_t>());
  }
  if (draws < 0 || too_long < 0)
    return fail(ErrorCode::kInvalidArgument, "data.draws, data.too_long: negative");
  out.draws = static_cast<std::uint64_t>(draws);
  out.too_long = static_cast<std::uint64_t>(too_long);
  return out;
}

Stream::Stream(std::vector<Source> sources, const RowEncoder& encoder,
               const StreamSettings& settings)
    : sources_(std::move(sources)), encoder_(&encoder), settings_(settings) {
  position_.taken.assign(sources_.size(), 0);
  orders_.resize(sources_.size());
}

Result<Stream> Stream::make(std::vector<Source> sources, const RowEncoder& encoder,
                            const StreamSettings& settings) {
  if (sources.empty()) return fail(ErrorCode::kInvalidArgument, "data: no files are named");
  for (const Source& one : sources)
    if (!(one.weight > 0 && one.weight < 1e9))
      return fail(ErrorCode::kInvalidArgument, "data: the weight of {} is {}; expected over 0",
                  one.rows.name(), one.weight);
  return Stream(std::move(sources), encoder, settings);
}

std::size_t Stream::rows() const {
  return std::accumulate(sources_.begin(), sources_.end(), std::size_t{0},
                         [](std::size_t sum, const Source& one) { return sum + one.rows.size(); });
}

void Stream::seek(StreamPosition position) {
  position_ = std::move(position);
}

std::size_t Stream::draw_source() {
  const std::uint64_t draw = position_.draws++;
  double total = 0;
  for (const Source& one : sources_) total += one.weight;
  double left = Rng::at(settings_.seed, draw).uniform() * total;
  std::size_t source = 0;
  while (source + 1 < sources_.size() && left >= sources_[source].weight)
    left -= sources_[source++].weight;
  return source;
}

std::size_t Stream::next_row(std::size_t source) {
  const std::size_t size = sources_[source].rows.size();
  const std::uint64_t taken = position_.taken[source]++;
  const std::uint64_t pass = taken / size;
  if (!settings_.shuffle) return taken % size;
  Order& order = orders_[source];
  if (order.pass != pass) {
    order.pass = pass;
    order.rows.resize(size);
    std::iota(order.rows.begin(), order.rows.end(), 0U);
    // A stream of its own for each source and pass, apart from the draws of sources.
    Rng rng = Rng::at(~settings_.seed, pass * 1024 + source);
    for (std::size_t i = size; i > 1; --i) std::swap(order.rows[i - 1], order.rows[rng.below(i)]);
  }
  return order.rows[taken % size];
}

Result<Sample> Stream::next() {
  std::size_t refused = 0;
  for (;;) {
    const std::size_t source = draw_source();
    const std::size_t row = next_row(source);
    KW_TRY(const Json value, sources_[source].rows.read(row));
    auto sample = encoder_->encode(value);
    if (!sample)
      return tl::unexpected(
          std::move(sample).error().with_context(sources_[source].rows.where(row)));
    const bool too_long = sample->size() > static_cast<std::size_t>(settings_.max_tokens);
    if (!too_long && is_usable(*sample)) return sample;
    if (too_long) ++position_.too_long;
    if (++refused > 2 * rows())
      return fail(ErrorCode::kInvalidArgument,
                  "data: no row has between 2 and {} tokens of which one has a weight",
                  settings_.max_tokens);
  }
}

}  // namespace kw::train
