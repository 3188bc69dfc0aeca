// Frames on a stream socket: four bytes of length, little-endian, then so many bytes of text.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw::link {

inline constexpr std::size_t kMaxFrameBytes = std::size_t{16} << 20U;

// kResourceExhausted over kMaxFrameBytes, kInvalidArgument for an empty body: `out` stays as it
// is.
Status append_frame(std::string& out, std::string_view body);

// Takes a stream in pieces of any size. Holds what has come, never what a length announces.
class FrameParser {
 public:
  explicit FrameParser(std::size_t most_bytes = kMaxFrameBytes) : most_bytes_(most_bytes) {}

  void feed(std::string_view bytes);
  // The next whole body, valid until feed(); nothing when more has to come. kInvalidArgument for a
  // length of 0 or over the limit: the stream is then of no more use.
  Result<std::optional<std::string_view>> next();
  std::size_t unread_bytes() const { return bytes_.size() - read_; }

 private:
  std::size_t most_bytes_;
  std::string bytes_;
  std::size_t read_ = 0;  // of bytes_
};

}  // namespace kw::link
