// Layouts, canaries and hashes of shared memory.
#include "gym/checker/buffers.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "gym/inputs/poison.h"

namespace kw::gym {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHashBlock = 64 * 1024;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Calls band(start, end) for the bytes of region i before and behind the data.
template <typename Function>
void for_bands(const Layout& layout, Function band) {
  for (std::size_t i = 0; i < layout.count(); ++i) {
    std::size_t data_end = layout.offset(i) + layout.bytes(i);
    band(layout.region_start(i), layout.offset(i));
    band(data_end, std::min(layout.region_end(i), data_end + 2 * Layout::kBand));
  }
}

}  // namespace

Layout Layout::make(const std::vector<const task::Argument*>& tensors, std::size_t before,
                    std::size_t behind) {
  Layout layout;
  std::size_t at = 0;
  for (const task::Argument* tensor : tensors) {
    std::size_t bytes = tensor->bytes();
    std::size_t first = at + before;
    std::size_t end = round_up(first + kMoves * kAlignment + bytes + behind, kPage);
    layout.regions_.push_back({at, end, bytes, first, first});
    at = end;
  }
  layout.file_bytes_ = std::max(at, kPage);
  return layout;
}

Layout Layout::for_reading(const std::vector<const task::Argument*>& tensors) {
  return make(tensors, 0, kReadableTail);
}
Layout Layout::for_writing(const std::vector<const task::Argument*>& tensors) {
  return make(tensors, kBand, kBand);
}

void Layout::move(Rng& rng) {
  for (Region& region : regions_) region.offset = region.first + kAlignment * rng.below(kMoves);
}

Result<SharedTensors> SharedTensors::make(const char* name, Layout layout, bool seal) {
  SharedTensors shared;
  KW_TRY(shared.fd_, os::make_memory_file(name, layout.file_bytes()));
  KW_TRY(shared.mapping_, os::Mapping::shared(shared.fd_.get(), layout.file_bytes(), true));
  KW_TRY_STATUS(seal ? os::seal_against_new_writers(shared.fd_.get())
                     : os::seal_seals(shared.fd_.get()));
  shared.layout_ = std::move(layout);
  return shared;
}

std::uint64_t SharedTensors::hash(std::uint64_t secret_seed, std::size_t sample_bytes) const {
  std::uint64_t hash = secret_seed;
  std::size_t total = 0;
  for (std::size_t i = 0; i < layout_.count(); ++i) total += layout_.bytes(i);
  Rng rng(secret_seed);
  for (std::size_t i = 0; i < layout_.count(); ++i) {
    auto data = tensor(i);
    if (total <= sample_bytes) {
      hash = keyed_hash(data, hash);
      continue;
    }
    std::size_t blocks = std::max<std::size_t>(
        1, sample_bytes / kHashBlock * data.size() / std::max<std::size_t>(total, 1));
    for (std::size_t b = 0; b < blocks && !data.empty(); ++b) {
      std::size_t start = rng.below(data.size());
      hash = keyed_hash(data.subspan(start, std::min(kHashBlock, data.size() - start)), hash);
    }
  }
  return hash;
}

void SharedTensors::write_canaries(std::uint64_t secret_seed) {
  for_bands(layout_, [&](std::size_t start, std::size_t end) {
    write_canary(secret_seed + start, mapping_.bytes().subspan(start, end - start));
  });
}

bool SharedTensors::canaries_intact(std::uint64_t secret_seed) const {
  bool intact = true;
  for_bands(layout_, [&](std::size_t start, std::size_t end) {
    intact =
        canary_intact(secret_seed + start, mapping_.bytes().subspan(start, end - start)) && intact;
  });
  return intact;
}

Result<Pages> Pages::make() {
  Pages pages;
  KW_TRY(pages.command_fd, os::make_memory_file("command", sizeof(CommandPage)));
  KW_TRY(pages.command_mapping,
         os::Mapping::shared(pages.command_fd.get(), sizeof(CommandPage), true));
  KW_TRY_STATUS(os::seal_against_new_writers(pages.command_fd.get()));
  KW_TRY(pages.reply_fd, os::make_memory_file("reply", sizeof(ReplyPage)));
  KW_TRY(pages.reply_mapping, os::Mapping::shared(pages.reply_fd.get(), sizeof(ReplyPage), true));
  KW_TRY_STATUS(os::seal_seals(pages.reply_fd.get()));
  return pages;
}

std::vector<const task::Argument*> tensors_of(const std::vector<task::Argument>& arguments) {
  std::vector<const task::Argument*> tensors;
  for (const task::Argument& argument : arguments) {
    if (argument.role != task::Role::kScalar) tensors.push_back(&argument);
  }
  return tensors;
}

}  // namespace kw::gym
