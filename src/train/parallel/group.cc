#include "train/parallel/group.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"

namespace kw::train {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Kinds of messages; each is a kind, 4 bytes of length and the body.
constexpr char kHello = 'H', kPart = 'P', kAll = 'A', kFailed = 'F', kGoodbye = 'G', kBeat = 'B';
constexpr std::size_t kHeader = 5, kMaxBody = std::size_t{64} << 20U;
constexpr std::string_view kMagic = "kernelwright-ranks-1";
constexpr milliseconds kBeatEvery{1000}, kPoll{100}, kWaitForNews{3000};

std::string number_bytes(std::uint32_t value) {
  std::string out(4, '\0');
  std::memcpy(out.data(), &value, 4);
  return out;
}
std::uint32_t number_at(std::string_view bytes) {
  std::uint32_t out = 0;
  std::memcpy(&out, bytes.data(), std::min<std::size_t>(bytes.size(), 4));
  return out;
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}
bool send_message(int socket, char kind, std::string_view body) {
  std::string whole(1, kind);
  whole += number_bytes(static_cast<std::uint32_t>(body.size()));
  whole += body;
  return send_all(socket, whole);
}

bool wait_readable(int socket, Clock::time_point end) {
  pollfd one{socket, POLLIN, 0};
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    const int ready = ::poll(&one, 1, static_cast<int>(std::min<std::int64_t>(left, 1000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool read_exactly(int socket, std::string& into, std::size_t count, Clock::time_point end) {
  into.resize(count);
  for (std::size_t done = 0; done < count;) {
    if (!wait_readable(socket, end)) return false;
    const ssize_t got = ::recv(socket, into.data() + done, count - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

// Rank and size in a hello of the same protocol.
std::string hello_of(const Launch& launch) {
  return std::string(kMagic) + number_bytes(static_cast<std::uint32_t>(launch.rank)) +
         number_bytes(static_cast<std::uint32_t>(launch.size));
}

void set_up(int socket, milliseconds limit) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const timeval longest{static_cast<time_t>(limit.count() / 1000 + 1), 0};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
}

std::string address_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> text{};
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&address), size, text.data(), text.size(), nullptr,
                    0, NI_NUMERICHOST) != 0)
    return "127.0.0.1";
  return text.data();
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;
Result<Addresses> resolved(const Launch& launch) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(launch.address.c_str(), std::to_string(launch.port).c_str(), &hints, &found);
  if (error != 0)
    return kw::fail(ErrorCode::kInvalidArgument,
                    "the address of rank 0, {}, cannot be resolved ({}): set MASTER_ADDR",
                    launch.address, ::gai_strerror(error));
  return Addresses(found, &::freeaddrinfo);
}

Result<os::UniqueFd> listen_at(const Launch& launch) {
  if (launch.listener >= 0) return os::UniqueFd(launch.listener);
  KW_TRY(const Addresses addresses, resolved(launch));
  int error = 0;
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    os::UniqueFd socket(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, 0));
    const int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (socket.valid() && ::bind(socket.get(), one->ai_addr, one->ai_addrlen) == 0 &&
        ::listen(socket.get(), launch.size) == 0)
      return socket;
    error = errno;
  }
  return kw::fail(ErrorCode::kUnavailable,
                  "rank 0 cannot listen at {} port {}: {}; MASTER_ADDR must be its own address, "
                  "and another MASTER_PORT may be free",
                  launch.address, launch.port, std::generic_category().message(error));
}

}  // namespace

Group::Group(const Launch& launch, milliseconds limit) : launch_(launch), limit_(limit) {}

Result<std::unique_ptr<Group>> Group::join(const Launch& launch, milliseconds limit) {
  std::unique_ptr<Group> out(new Group(launch, limit));
  if (launch.size == 1) return out;
  KW_TRY_STATUS(launch.rank == 0 ? out->meet_as_root() : out->meet_root());
  for (Peer& one : out->peers_) one.heard = Clock::now();
  out->reader_ =
      std::jthread([group = out.get()](const std::stop_token& stop) { group->read_peers(stop); });
  return out;
}

Status Group::meet_as_root() {
  KW_TRY(const os::UniqueFd listener, listen_at(launch_));
  const Clock::time_point end = Clock::now() + limit_;
  const auto is_missing = [this](int rank) {
    return std::ranges::none_of(peers_, [rank](const Peer& one) { return one.rank == rank; });
  };
  while (static_cast<int>(peers_.size()) + 1 < launch_.size) {
    if (!wait_readable(listener.get(), end)) {
      std::vector<std::string> missing;
      for (int rank = 1; rank < launch_.size; ++rank)
        if (is_missing(rank)) missing.push_back(std::to_string(rank));
      return kw::fail(ErrorCode::kDeadlineExceeded,
                      "rank {} of {} did not come to {} port {} within {}", kw::join(missing, ", "),
                      launch_.size, launch_.address, launch_.port,
                      format_ms(static_cast<double>(limit_.count())));
    }
    os::UniqueFd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.valid()) continue;
    set_up(socket.get(), limit_);
    std::string header, body;
    const Clock::time_point soon = std::min(end, Clock::now() + milliseconds(2000));
    if (!read_exactly(socket.get(), header, kHeader, soon) || header[0] != kHello ||
        number_at(header.substr(1)) != kMagic.size() + 8 ||
        !read_exactly(socket.get(), body, kMagic.size() + 8, soon) || !body.starts_with(kMagic))
      continue;  // a stranger
    const auto rank = static_cast<int>(number_at(body.substr(kMagic.size())));
    const auto size = static_cast<int>(number_at(body.substr(kMagic.size() + 4)));
    if (size != launch_.size || rank < 1 || rank >= size || !is_missing(rank)) {
      const std::string reason =
          fmt::format("a process came as rank {} of {}, and rank 0 has {} ranks{}", rank, size,
                      launch_.size, size == launch_.size ? ", one of that number already" : "");
      send_message(socket.get(), kFailed, number_bytes(0) + reason);
      return kw::fail(ErrorCode::kInvalidArgument, "{}", reason);
    }
    if (local_address_.empty()) local_address_ = address_of(socket.get());
    peers_.push_back({rank, std::move(socket), "", {}, false});
  }
  return {};
}

Status Group::meet_root() {
  const Clock::time_point end = Clock::now() + limit_;
  KW_TRY(const Addresses addresses, resolved(launch_));
  for (int error = 0;;) {
    for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
      os::UniqueFd socket(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, 0));
      if (::connect(socket.get(), one->ai_addr, one->ai_addrlen) != 0) {
        error = errno;
        continue;
      }
      set_up(socket.get(), limit_);
      local_address_ = address_of(socket.get());
      if (!send_message(socket.get(), kHello, hello_of(launch_))) continue;
      peers_.push_back({0, std::move(socket), "", {}, false});
      return {};
    }
    if (Clock::now() >= end)
      return kw::fail(ErrorCode::kDeadlineExceeded,
                      "rank {} did not reach rank 0 at {} port {} within {}: {}", launch_.rank,
                      launch_.address, launch_.port, format_ms(static_cast<double>(limit_.count())),
                      std::generic_category().message(error));
    std::this_thread::sleep_for(milliseconds(20));
  }
}

Group::~Group() {
  if (!peers_.empty() && !failure()) tell_all(kGoodbye, "");
}

void Group::read_peers(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::vector<pollfd> all;
    for (const Peer& one : peers_) all.push_back({one.socket.get(), POLLIN, 0});
    const int ready = ::poll(all.data(), all.size(), static_cast<int>(kPoll.count()));
    if (stop.stop_requested()) return;
    for (std::size_t i = 0; ready > 0 && i < all.size(); ++i)
      if (all[i].revents != 0) read_peer(peers_[i]);
    beat(Clock::now());
  }
}

void Group::beat(Clock::time_point now) {
  if (now - last_beat_ < kBeatEvery) return;
  last_beat_ = now;
  tell_all(kBeat, "");
  for (const Peer& one : peers_)
    if (one.socket.valid() && !one.said_goodbye && now - one.heard > limit_)
      note_failure(one.rank, fmt::format("nothing was heard of it for {}",
                                         format_ms(static_cast<double>(limit_.count()))));
}

void Group::read_peer(Peer& peer) {
  std::array<char, 65536> bytes{};
  const ssize_t got = ::recv(peer.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) {
    {
      const std::lock_guard lock(sending_);
      peer.socket.reset();
    }
    // A rank that is done before the others sends nothing more; whether they need it shows there.
    note_failure(peer.rank, peer.said_goodbye
                                ? "it ended before the others"
                                : "its process ended without a word (killed, or out of memory?)");
    return;
  }
  peer.heard = Clock::now();
  peer.input.append(bytes.data(), static_cast<std::size_t>(got));
  while (peer.input.size() >= kHeader) {
    const std::size_t size = number_at(std::string_view(peer.input).substr(1));
    if (size > kMaxBody) return note_failure(peer.rank, "it sent a message that is too long");
    if (peer.input.size() < kHeader + size) return;
    const char kind = peer.input[0];
    std::string body = peer.input.substr(kHeader, size);
    peer.input.erase(0, kHeader + size);
    take(peer, kind, std::move(body));
  }
}

void Group::take(Peer& peer, char kind, std::string body) {
  if (kind == kGoodbye) peer.said_goodbye = true;
  if (kind == kPart && is_root()) return take_part(peer.rank, std::move(body));
  if (kind == kFailed && body.size() >= 4)
    note_failure(static_cast<int>(number_at(body)), body.substr(4), true);
  if (kind != kAll) return;
  std::vector<std::string> all;
  for (std::string_view rest = body; rest.size() >= 4;) {
    const std::size_t size = std::min<std::size_t>(number_at(rest), rest.size() - 4);
    all.emplace_back(rest.substr(4, size));
    rest.remove_prefix(4 + size);
  }
  const std::lock_guard lock(state_);
  exchanged_ = std::move(all);
  changed_.notify_all();
}

void Group::take_part(int rank, std::string body) {
  std::string packed;
  {
    const std::lock_guard lock(state_);
    parts_[rank] = std::move(body);
    if (parts_.size() < static_cast<std::size_t>(size())) return;
    std::vector<std::string> all;
    for (auto& [of, part] : parts_) {
      packed += number_bytes(static_cast<std::uint32_t>(part.size())) + part;
      all.push_back(std::move(part));
    }
    parts_.clear();
    exchanged_ = std::move(all);
    changed_.notify_all();
  }
  tell_all(kAll, packed);
}

Result<std::vector<std::string>> Group::exchange(const std::string& mine) {
  if (size() == 1) return std::vector{mine};
  if (is_root())
    take_part(0, mine);
  else
    tell_all(kPart, mine);
  std::unique_lock lock(state_);
  changed_.wait_for(lock, limit_, [this] { return exchanged_ || failure_; });
  if (exchanged_) {
    std::vector<std::string> out = std::move(*exchanged_);
    exchanged_.reset();
    return out;
  }
  if (failure_)
    return kw::fail(ErrorCode::kUnavailable, "rank {}: {}", failure_->rank, failure_->reason);
  return kw::fail(ErrorCode::kUnavailable, "the other ranks did not answer within {}",
                  format_ms(static_cast<double>(limit_.count())));
}

void Group::tell_all(char kind, const std::string& body) {
  const std::lock_guard lock(sending_);
  for (const Peer& one : peers_)
    if (one.socket.valid())
      send_message(one.socket.get(), kind, body);  // a loss is seen by reading
}

void Group::note_failure(int rank, const std::string& reason, bool told) {
  std::unique_lock lock(state_);
  if (failure_) return;
  failure_ = RankFailure{rank, reason, told};
  changed_.notify_all();
  if (on_failure_) on_failure_();
  lock.unlock();
  if (is_root() || rank == launch_.rank)
    tell_all(kFailed, number_bytes(static_cast<std::uint32_t>(rank)) + reason);
}

void Group::fail(const std::string& reason) {
  note_failure(launch_.rank, reason);
}

std::optional<RankFailure> Group::failure(milliseconds wait) const {
  std::unique_lock lock(state_);
  changed_.wait_for(lock, wait, [this] { return failure_.has_value(); });
  return failure_;
}

void Group::on_failure(std::function<void()> call) {
  const std::lock_guard lock(state_);
  on_failure_ = std::move(call);
  if (failure_ && on_failure_) on_failure_();
}

Error Group::end_with(const Error& own) {
  if (size() == 1) return own;
  // A collective that failed is what the others' end looks like from here.
  const bool of_others = own.code() == ErrorCode::kUnavailable;
  const std::optional<RankFailure> first = failure(of_others ? kWaitForNews : milliseconds(0));
  if (first && first->rank != launch_.rank)
    return {ErrorCode::kUnavailable, fmt::format("rank {}: {}", first->rank, first->reason)};
  fail(own.message());
  return {own.code(), fmt::format("rank {}: {}", launch_.rank, own.message())};
}

bool Group::speaks() const {
  const std::optional<RankFailure> first = failure();
  return is_root() || (launch_.rank == 1 && first && first->rank == 0 && !first->told);
}

}  // namespace kw::train
