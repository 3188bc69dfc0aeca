// The memory that checker and executor share: rotating input and output sets, statics, the arena,
// the two pages. All memory belongs to the checker's process; executors get descriptors. Not
// thread-safe: one checker thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "gym/protocol.h"
#include "os/memory.h"
#include "task/signature.h"

namespace kw::gym {

// Where the tensors of one memory file lie. Data moves inside its region by multiples of kAlignment
// from call to call.
class Layout {
 public:
  // Inputs and statics: room to move before the data, kReadableTail behind it.
  static Layout for_reading(const std::vector<const task::Argument*>& tensors);
  // Outputs: a canary band of at least kBand bytes on either side as well.
  static Layout for_writing(const std::vector<const task::Argument*>& tensors);

  std::size_t count() const { return regions_.size(); }
  std::size_t file_bytes() const { return file_bytes_; }
  std::size_t bytes(std::size_t i) const { return regions_[i].bytes; }
  std::size_t offset(std::size_t i) const { return regions_[i].offset; }
  std::size_t region_start(std::size_t i) const { return regions_[i].start; }
  std::size_t region_end(std::size_t i) const { return regions_[i].end; }
  // New secret offsets for all tensors.
  void move(Rng& rng);

  static constexpr std::size_t kBand = 4096;
  static constexpr std::size_t kMoves = 64;  // positions, kAlignment apart

 private:
  struct Region {
    std::size_t start, end, bytes, offset, first;  // first: the lowest offset of the data
  };
  static Layout make(const std::vector<const task::Argument*>& tensors, std::size_t before,
                     std::size_t behind);
  std::vector<Region> regions_;
  std::size_t file_bytes_ = 0;
};

// A memory file under a layout, mapped writable here. seal: only this mapping can ever write to it.
class SharedTensors {
 public:
  static Result<SharedTensors> make(const char* name, Layout layout, bool seal);

  Layout& layout() { return layout_; }
  const Layout& layout() const { return layout_; }
  int fd() const { return fd_.get(); }
  std::span<std::byte> tensor(std::size_t i) {
    return mapping_.bytes().subspan(layout_.offset(i), layout_.bytes(i));
  }
  std::span<const std::byte> tensor(std::size_t i) const {
    return mapping_.bytes().subspan(layout_.offset(i), layout_.bytes(i));
  }
  std::span<std::byte> bytes() { return mapping_.bytes(); }
  // Secret-seeded hash of all tensors; of at most about sample_bytes of them in secret blocks.
  std::uint64_t hash(std::uint64_t secret_seed, std::size_t sample_bytes) const;
  // Bands around tensor i: filled with secret bytes, and whether they still hold them.
  void write_canaries(std::uint64_t secret_seed);
  bool canaries_intact(std::uint64_t secret_seed) const;

 private:
  os::UniqueFd fd_;
  os::Mapping mapping_;
  Layout layout_;
};

// The two pages, one pair an executor.
struct Pages {
  static Result<Pages> make();
  CommandPage& command() { return *reinterpret_cast<CommandPage*>(command_mapping.data()); }
  volatile ReplyPage& reply() {
    return *reinterpret_cast<volatile ReplyPage*>(reply_mapping.data());
  }

  os::UniqueFd command_fd, reply_fd;
  os::Mapping command_mapping, reply_mapping;
};

// The tensors among arguments (no scalars), in order.
std::vector<const task::Argument*> tensors_of(const std::vector<task::Argument>& arguments);

}  // namespace kw::gym
