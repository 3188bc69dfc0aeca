// Stream: samples of several sources in an order that a seed fixes, from any position on.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "train/data/row_encoder.h"
#include "train/data/row_file.h"

namespace kw::train {

struct Source {
  RowFile rows;
  double weight = 1;  // how often samples come from here, relative to the other sources
};

struct StreamSettings {
  std::uint64_t seed = 0;
  bool shuffle = true;             // false: rows of a source in the order of its file
  std::int64_t max_tokens = 4096;  // longer samples are left out and counted, never cut
};

// What a checkpoint keeps. Draw n takes its source by a random number of (seed, n), and the
// source's next row; a source begins again, in another order, when all of its rows were taken.
struct StreamPosition {
  std::uint64_t draws = 0;
  std::vector<std::uint64_t> taken;  // rows taken of each source
  std::uint64_t too_long = 0;        // samples left out
  bool operator==(const StreamPosition&) const = default;
};
Json to_json(const StreamPosition& position);
// sources: how many there must be. kInvalidArgument names the field.
Result<StreamPosition> stream_position_from_json(const Json& value, std::size_t sources);

// One thread at a time; the encoder is borrowed.
class Stream {
 public:
  // kInvalidArgument: no sources, or a weight that is not over 0.
  static Result<Stream> make(std::vector<Source> sources, const RowEncoder& encoder,
                             const StreamSettings& settings);

  // The next sample of at least two tokens of which one has a weight. Errors of rows name file and
  // line. kInvalidArgument when no row of a whole pass over a source can be used.
  Result<Sample> next();

  const StreamPosition& position() const { return position_; }
  void seek(StreamPosition position);
  std::size_t rows() const;  // of all sources

 private:
  Stream(std::vector<Source> sources, const RowEncoder& encoder, const StreamSettings& settings);
  std::size_t draw_source();
  std::size_t next_row(std::size_t source);

  std::vector<Source> sources_;
  const RowEncoder* encoder_;
  StreamSettings settings_;
  StreamPosition position_;
  struct Order {
    std::optional<std::uint64_t> pass;  // the pass that `rows` is the order of
    std::vector<std::uint32_t> rows;
  };
  std::vector<Order> orders_;
};

}  // namespace kw::train
