// Groups whose ranks are threads of this process, over 127.0.0.1, for tests.
#pragma once
#include <chrono>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "train/parallel/group.h"

namespace kw::train {

using JoinedGroup = Result<std::unique_ptr<Group>>;

inline constexpr std::chrono::milliseconds kTestLimit{
    60'000};  // no test waits so long unless it fails

// Rank 0's socket at a free port.
inline Launch launch_here(int size) {
  Launch out;
  out.size = size;
  out.address = "127.0.0.1";
  out.listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  EXPECT_EQ(::bind(out.listener, reinterpret_cast<sockaddr*>(&address), bytes), 0);
  EXPECT_EQ(::listen(out.listener, size), 0);
  ::getsockname(out.listener, reinterpret_cast<sockaddr*>(&address), &bytes);
  out.port = ntohs(address.sin_port);
  return out;
}

inline std::future<JoinedGroup> joining(Launch launch, int rank) {
  launch.rank = rank;
  if (rank > 0) launch.listener = -1;
  return std::async(std::launch::async, [launch] { return Group::join(launch, kTestLimit); });
}

inline std::vector<std::unique_ptr<Group>> groups_of(int size) {
  const Launch launch = launch_here(size);
  std::vector<std::future<JoinedGroup>> all;
  for (int rank = 0; rank < size; ++rank) all.push_back(joining(launch, rank));
  std::vector<std::unique_ptr<Group>> out;
  for (auto& one : all) out.push_back(std::move(one.get().value()));
  return out;
}

}  // namespace kw::train
