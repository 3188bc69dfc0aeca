// Group: what the ranks of a run tell each other beside the tensors: who is there, settings, and
// the reason why one of them ends.
//
// Theory of operation: rank 0 listens, every other rank holds one TCP connection to it, and each
// rank has a thread that reads its connections. A connection that closes without a goodbye is a
// rank that died. Rank 0 hears of every failure first, and tells all. Each rank sends a beat a
// second, so a rank that is stopped, or a machine that is gone without closing anything, is noticed
// after the time limit. The tensors travel by Collectives (collectives.h), whose waiting calls end
// when on_failure() is called.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "train/parallel/launch.h"

namespace kw::train {

struct RankFailure {
  int rank = 0;
  std::string reason;
  bool told = false;  // a rank said so itself, rather than being lost
};

class Group {
 public:
  // All ranks call it; returns when all are there. kDeadlineExceeded names the ranks that are
  // missing after `limit`, which later also bounds exchange() and a rank's silence. size 1: no
  // socket is opened.
  static Result<std::unique_ptr<Group>> join(const Launch& launch, std::chrono::milliseconds limit);
  // Says goodbye. A rank that ends otherwise has died, for the others.
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  const Launch& launch() const { return launch_; }
  int rank() const { return launch_.rank; }
  int size() const { return launch_.size; }
  bool is_root() const { return launch_.rank == 0; }
  std::chrono::milliseconds limit() const { return limit_; }
  // The IP address under which the other ranks reach this one.
  const std::string& local_address() const { return local_address_; }

  // Collective: what each rank gave, by rank. One thread at a time. kUnavailable after a failure.
  Result<std::vector<std::string>> exchange(const std::string& mine);

  // Any thread. Tells all that this rank ends; only the first failure of the group counts.
  void fail(const std::string& reason);
  // The group's first failure; waits for one up to `wait`. Any thread.
  std::optional<RankFailure> failure(std::chrono::milliseconds wait = {}) const;
  // Called once, from the group's thread, as soon as there is a failure; at once where there is
  // one. An empty function ends that, and returns when no call is under way.
  void on_failure(std::function<void()> call);

  // The error that this rank ends with, given its own. Where another rank failed first, it is that
  // one's, with its number; else the others are told. Waits a moment for news of the others.
  Error end_with(const Error& own);
  // Whether this rank is the one that says the group's error to the user: rank 0, or rank 1 where
  // rank 0 was lost.
  bool speaks() const;

 private:
  struct Peer {
    int rank = 0;
    os::UniqueFd socket;
    std::string input;  // bytes of a message that is not whole
    std::chrono::steady_clock::time_point heard;
    bool said_goodbye = false;
  };
  Group(const Launch& launch, std::chrono::milliseconds limit);
  Status meet_as_root();
  Status meet_root();
  void read_peers(const std::stop_token& stop);
  void read_peer(Peer& peer);
  void take(Peer& peer, char kind, std::string body);
  void take_part(int rank, std::string body);  // of an exchange; root
  void note_failure(int rank, const std::string& reason, bool told = false);
  void tell_all(char kind, const std::string& body);
  void beat(std::chrono::steady_clock::time_point now);

  const Launch launch_;
  const std::chrono::milliseconds limit_;
  std::string local_address_;
  std::vector<Peer> peers_;  // rank 0: all others; another rank: rank 0
  std::mutex sending_;
  std::chrono::steady_clock::time_point last_beat_;

  mutable std::mutex state_;
  mutable std::condition_variable changed_;
  std::optional<RankFailure> failure_;
  std::function<void()> on_failure_;
  std::map<int, std::string> parts_;  // of an exchange that is not whole, by rank; root
  std::optional<std::vector<std::string>> exchanged_;
  std::jthread reader_;  // last: it uses the others
};

}  // namespace kw::train
