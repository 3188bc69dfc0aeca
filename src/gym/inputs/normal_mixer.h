// Normal numbers at memory speed, for large tensors.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "gym/inputs/stream.h"

namespace kw::gym {

// Every window of kWindow numbers is c a + s b, where a and b are windows at random places of two
// pools of fresh normal numbers and (c, s) is a random direction, c^2 + s^2 = 1. So each number is
// normal, and what is shared between windows is only linear dependence at
// secret places among kPool numbers: nothing that a kernel could find faster than it computes. The
// pools serve one mixer, that is at most a few hundred thousand numbers. Same seed and same
// sequence of calls: same bits. One instance, one thread.
class NormalMixer {
 public:
  static constexpr std::size_t kWindow = 1024;
  static constexpr std::size_t kPool = 8 * kWindow;
  // Below so many numbers a Stream alone is as fast.
  static constexpr std::size_t kWorthwhile = 8 * kPool;

  explicit NormalMixer(std::uint64_t seed, float mean = 0, float deviation = 1);
  // Starts a new window; its size, and so all but the last call's, should be a multiple of kWindow.
  void normal(std::span<float> out);

 private:
  // Places in the pools and the direction for the next windows, made for many windows at a time.
  struct Choice {
    std::uint32_t first = 0, second = 0;
    float a = 0, b = 0;
  };
  void choose();

  Stream stream_;
  float mean_, deviation_;
  std::array<Choice, Stream::kBlock> choices_;
  std::size_t chosen_ = Stream::kBlock;  // number of choices that are used up
  alignas(64) std::array<float, kPool> first_, second_;
};

}  // namespace kw::gym
