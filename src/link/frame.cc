#include "link/frame.h"

#include <cstdint>

namespace kw::link {
namespace {

constexpr std::size_t kLengthBytes = 4;

std::size_t length_at(std::string_view bytes) {
  std::size_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;)
    length = (length << 8U) | static_cast<unsigned char>(bytes[i]);
  return length;
}

}  // namespace

Status append_frame(std::string& out, std::string_view body) {
  if (body.empty()) return fail(ErrorCode::kInvalidArgument, "a frame without a body");
  if (body.size() > kMaxFrameBytes)
    return fail(ErrorCode::kResourceExhausted, "a message of {} bytes: at most {} can be sent",
                body.size(), kMaxFrameBytes);
  std::size_t length = body.size();
  for (std::size_t i = 0; i < kLengthBytes; ++i, length >>= 8U)
    out += static_cast<char>(static_cast<unsigned char>(length & 0xFFU));
  out += body;
  return {};
}

void FrameParser::feed(std::string_view bytes) {
  // Moving the rest only when it is the smaller part keeps the work linear.
  if (read_ * 2 >= bytes_.size()) {
    bytes_.erase(0, read_);
    read_ = 0;
  }
  bytes_ += bytes;
}

Result<std::optional<std::string_view>> FrameParser::next() {
  const std::string_view rest = std::string_view(bytes_).substr(read_);
  if (rest.size() < kLengthBytes) return std::optional<std::string_view>();
  const std::size_t length = length_at(rest);
  if (length == 0 || length > most_bytes_)
    return fail(ErrorCode::kInvalidArgument, "a frame of {} bytes: expected 1 to {}", length,
                most_bytes_);
  if (rest.size() < kLengthBytes + length) return std::optional<std::string_view>();
  read_ += kLengthBytes + length;
  return std::optional(rest.substr(kLengthBytes, length));
}

}  // namespace kw::link
