// Collectives without a network, for tests: a rank alone, and ranks that are threads.
#pragma once
#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include <ATen/ATen.h>

#include "train/parallel/collectives.h"

namespace kw::train {

// One of several ranks, whose collectives leave everything as it is: enough to look at its state.
class RankAlone : public Collectives {
 public:
  RankAlone(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_reduce(at::Tensor& /*values*/) override {}
  void reduce_scatter(at::Tensor& /*block*/, std::span<const Shard> /*shards*/) override {}
  void all_gather(at::Tensor& /*block*/, std::span<const Shard> /*shards*/) override {}
  void broadcast(at::Tensor& /*values*/, int /*root*/) override {}

 private:
  int rank_, size_;
};

// What the threads share: where each rank's tensor of the collective is that is under way.
struct Meeting {
  explicit Meeting(int size) : tensors(static_cast<std::size_t>(size)), all(size) {}
  std::vector<at::Tensor> tensors;
  std::barrier<> all;
};

// One thread's. Sums are taken in the order of the ranks; what reduce_scatter leaves without
// meaning becomes 77, so that a test sees it where it is used.
class ThreadRank : public Collectives {
 public:
  ThreadRank(int rank, Meeting& meeting) : rank_(rank), meeting_(meeting) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(meeting_.tensors.size()); }
  void all_reduce(at::Tensor& values) override {
    at::Tensor sum;
    meet(values, [&] { sum = sum_of(0, values.numel()); });
    values.copy_(sum);
    meeting_.all.arrive_and_wait();
  }
  void reduce_scatter(at::Tensor& block, std::span<const Shard> shards) override {
    const Shard mine = shards[static_cast<std::size_t>(rank_)];
    at::Tensor sum;
    meet(block, [&] { sum = sum_of(mine.begin, mine.size()); });
    block.fill_(77);
    block.narrow(0, mine.begin, mine.size()).copy_(sum);
    meeting_.all.arrive_and_wait();
  }
  void all_gather(at::Tensor& block, std::span<const Shard> shards) override {
    std::vector<at::Tensor> parts;
    meet(block, [&] {
      for (std::size_t owner = 0; owner < shards.size(); ++owner)
        parts.push_back(
            meeting_.tensors[owner].narrow(0, shards[owner].begin, shards[owner].size()).clone());
    });
    for (std::size_t owner = 0; owner < shards.size(); ++owner)
      block.narrow(0, shards[owner].begin, shards[owner].size()).copy_(parts[owner]);
    meeting_.all.arrive_and_wait();
  }
  void broadcast(at::Tensor& values, int root) override {
    at::Tensor of_root;
    meet(values, [&] { of_root = meeting_.tensors[static_cast<std::size_t>(root)].clone(); });
    values.copy_(of_root);
    meeting_.all.arrive_and_wait();
  }

 private:
  // Reads the tensors of all while nobody writes.
  template <typename Read>
  void meet(const at::Tensor& mine, const Read& read) {
    meeting_.tensors[static_cast<std::size_t>(rank_)] = mine;
    meeting_.all.arrive_and_wait();
    read();
    meeting_.all.arrive_and_wait();
  }
  at::Tensor sum_of(std::int64_t begin, std::int64_t count) const {
    auto part = [&](const at::Tensor& of) { return of.flatten().narrow(0, begin, count); };
    at::Tensor out = part(meeting_.tensors[0]).clone();
    for (std::size_t other = 1; other < meeting_.tensors.size(); ++other)
      out.add_(part(meeting_.tensors[other]));
    return meeting_.tensors[0].dim() == 0 ? out.reshape({}) : out;
  }

  int rank_;
  Meeting& meeting_;
};

// Runs the ranks, each in a thread of its own.
inline void run_ranks(int size, const std::function<void(Collectives&)>& rank_of) {
  Meeting meeting(size);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&meeting, &rank_of, rank] {
      ThreadRank mine(rank, meeting);
      rank_of(mine);
    });
}

}  // namespace kw::train
