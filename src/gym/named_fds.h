// Descriptors with names, as "fds" of a control message lists them.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "os/fd.h"
#include "os/message.h"

namespace kw::gym {

// The descriptors of a message to send, by name; borrowed.
class OutgoingFds {
 public:
  void add(const std::string& name, int fd) {
    names_.push_back(name);
    fds_.push_back(fd);
  }
  const Json& names() const { return names_; }
  const std::vector<int>& fds() const { return fds_; }

 private:
  Json names_ = Json::array();
  std::vector<int> fds_;
};

// The descriptors of a message from a trusted sender, owned until they are taken.
class ReceivedFds {
 public:
  static Result<ReceivedFds> of(os::Message& message) {
    ReceivedFds received;
    Json names = message.body.value("fds", Json::array());
    if (names.size() != message.fds.size())
      return fail(ErrorCode::kInternal, "a message names {} descriptors and has {}", names.size(),
                  message.fds.size());
    for (std::size_t i = 0; i < message.fds.size(); ++i)
      received.fds_[names[i].get<std::string>()] = std::move(message.fds[i]);
    return received;
  }
  bool has(const std::string& name) const { return fds_.contains(name); }
  Result<os::UniqueFd> take(const std::string& name) {
    auto found = fds_.find(name);
    if (found == fds_.end()) return fail(ErrorCode::kInternal, "descriptor {} is missing", name);
    os::UniqueFd fd = std::move(found->second);
    fds_.erase(found);
    return fd;
  }
  // Takes prefix + "0", prefix + "1", ... as long as they are there.
  std::vector<os::UniqueFd> take_all(const std::string& prefix) {
    std::vector<os::UniqueFd> taken;
    while (true) {
      auto found = fds_.find(prefix + std::to_string(taken.size()));
      if (found == fds_.end()) return taken;
      taken.push_back(std::move(found->second));
      fds_.erase(found);
    }
  }

 private:
  std::map<std::string, os::UniqueFd> fds_;
};

}  // namespace kw::gym
