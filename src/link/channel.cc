#include "link/channel.h"

#include <array>
#include <cerrno>

#include <sys/socket.h>

namespace kw::link {
namespace {

// Of one receive(): a side that never stops sending must not keep the other from its own work.
constexpr std::size_t kMaxReadAtOnce = std::size_t{1} << 20U;

bool would_wait(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

tl::unexpected<Error> gone() {
  return fail(ErrorCode::kUnavailable, "the other process is gone");
}

Status take_messages(FrameParser& parser, std::vector<Json>& messages) {
  for (;;) {
    KW_TRY(auto body, parser.next());
    if (!body) return {};
    KW_TRY(Json message, parse_json(*body));
    messages.push_back(std::move(message));
  }
}

}  // namespace

Status Channel::queue(const Json& message) {
  return append_frame(out_, message.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Status Channel::flush() {
  while (written_ < out_.size()) {
    ssize_t sent = ::send(socket_.get(), out_.data() + written_, out_.size() - written_,
                          MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      written_ += static_cast<std::size_t>(sent);
    } else if (would_wait(errno)) {
      break;
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return gone();
    } else if (errno != EINTR) {
      return fail_errno(errno, "cannot send a message");
    }
  }
  if (written_ * 2 >= out_.size()) {
    out_.erase(0, written_);
    written_ = 0;
  }
  return {};
}

Status Channel::receive(std::vector<Json>& messages) {
  std::array<char, 65536> buffer;
  for (std::size_t read = 0; read < kMaxReadAtOnce;) {
    ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) {
      read += static_cast<std::size_t>(got);
      in_.feed({buffer.data(), static_cast<std::size_t>(got)});
      KW_TRY_STATUS(take_messages(in_, messages));
    } else if (got == 0 || errno == ECONNRESET) {
      return gone();
    } else if (would_wait(errno)) {
      return {};
    } else if (errno != EINTR) {
      return fail_errno(errno, "cannot receive a message");
    }
  }
  return {};
}

}  // namespace kw::link
