#include "train/parallel/nccl_collectives.h"

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "cuda/library.h"
#include "cuda/stream.h"

namespace kw::train {
namespace {

// Of nccl.h, whose values are fixed.
struct UniqueId {
  std::array<char, 128> bytes{};
};
using Comm = void*;
constexpr int kUint8 = 1, kFloat32 = 7, kFloat64 = 8, kSum = 0, kSuccess = 0;
constexpr void* kDefaultStream = nullptr;  // torch's current one, as nobody sets another

// A stream beside the default one, which waits for it and is waited for.
class SideStream {
 public:
  static Result<SideStream> make() {
    SideStream out;
    KW_TRY(out.side_, kw::cuda::Stream::make());
    KW_TRY(out.begun_, kw::cuda::Event::make());
    KW_TRY(out.done_, kw::cuda::Event::make());
    return out;
  }
  void* begin() const {
    check(default_.record(begun_));
    check(side_.wait(begun_));
    return side_.get();
  }
  void end() const { check(side_.record(done_)); }
  // The default stream's later work waits for what was ended last.
  void join() const { check(default_.wait(done_)); }

 private:
  static void check(const Status& status) {
    if (!status) throw CollectiveError("NCCL: " + status.error().message());
  }

  kw::cuda::Stream default_, side_;
  kw::cuda::Event begun_, done_;
};

struct Nccl {
  int (*unique_id)(UniqueId*) = nullptr;
  int (*init)(Comm*, int, UniqueId, int) = nullptr;
  int (*abort)(Comm) = nullptr;
  int (*destroy)(Comm) = nullptr;
  const char* (*error_string)(int) = nullptr;
  const char* (*last_error)(Comm) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, Comm, void*) = nullptr;
  int (*reduce)(const void*, void*, std::size_t, int, int, int, Comm, void*) = nullptr;
  int (*broadcast)(const void*, void*, std::size_t, int, int, Comm, void*) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
};

Result<Nccl> load_nccl() {
  KW_TRY(const kw::cuda::Library library,
         kw::cuda::Library::open("several ranks on GPUs", {"libnccl.so.2"}));
  Nccl out;
  KW_TRY_STATUS(library.find("ncclGetUniqueId", out.unique_id));
  KW_TRY_STATUS(library.find("ncclCommInitRank", out.init));
  KW_TRY_STATUS(library.find("ncclCommAbort", out.abort));
  KW_TRY_STATUS(library.find("ncclCommDestroy", out.destroy));
  KW_TRY_STATUS(library.find("ncclGetErrorString", out.error_string));
  KW_TRY_STATUS(library.find("ncclGetLastError", out.last_error));
  KW_TRY_STATUS(library.find("ncclAllReduce", out.all_reduce));
  KW_TRY_STATUS(library.find("ncclReduce", out.reduce));
  KW_TRY_STATUS(library.find("ncclBroadcast", out.broadcast));
  KW_TRY_STATUS(library.find("ncclGroupStart", out.group_start));
  KW_TRY_STATUS(library.find("ncclGroupEnd", out.group_end));
  return out;
}

// A rank's death does not end NCCL's kernels of the others: the group's thread aborts them.
class NcclRanks : public Collectives {
 public:
  NcclRanks(const Nccl& nccl, Comm comm, Group& group, SideStream side)
      : nccl_(nccl), comm_(comm), group_(group), side_(std::move(side)) {
    group_.on_failure([this] { abort(); });
  }
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;
  ~NcclRanks() override {
    group_.on_failure({});
    if (!aborted_) nccl_.destroy(comm_);
  }

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  void all_reduce(at::Tensor& values) override {
    void* const data = address(values);
    check(nccl_.all_reduce(data, data, static_cast<std::size_t>(values.numel()), type(values), kSum,
                           comm_, kDefaultStream));
  }
  void broadcast(at::Tensor& values, int root) override {
    void* const data = address(values);
    check(nccl_.broadcast(data, data, values.nbytes(), kUint8, root, comm_, kDefaultStream));
  }
  void reduce_scatter(at::Tensor& block, std::span<const Shard> shards) override {
    reduce_shards(block, shards, kDefaultStream);
  }
  void begin_reduce_scatter(at::Tensor& block, std::span<const Shard> shards) override {
    reduce_shards(block, shards, side_.begin());
    side_.end();
  }
  void end_reduce_scatter() override { side_.join(); }
  void all_gather(at::Tensor& block, std::span<const Shard> shards) override {
    for_each_shard(block, shards, [&](void* data, std::size_t count, int owner) {
      return nccl_.broadcast(data, data, count * block.element_size(), kUint8, owner, comm_,
                             kDefaultStream);
    });
  }

 private:
  // Shards may differ in size, so each is a reduction to its rank; a group of them is one launch.
  void reduce_shards(at::Tensor& block, std::span<const Shard> shards, void* stream) {
    TORCH_CHECK(block.scalar_type() == at::kFloat);
    for_each_shard(block, shards, [&](void* data, std::size_t count, int owner) {
      return nccl_.reduce(data, data, count, kFloat32, kSum, owner, comm_, stream);
    });
  }
  template <typename Call>
  void for_each_shard(at::Tensor& block, std::span<const Shard> shards, const Call& call) {
    auto* const data = static_cast<std::byte*>(address(block));
    const auto size = static_cast<std::int64_t>(block.element_size());
    check(nccl_.group_start());
    for (std::size_t owner = 0; owner < shards.size(); ++owner)
      if (shards[owner].size() > 0)
        check(call(data + shards[owner].begin * size,
                   static_cast<std::size_t>(shards[owner].size()), static_cast<int>(owner)));
    check(nccl_.group_end());
  }
  void* address(const at::Tensor& values) const {
    TORCH_CHECK(values.is_contiguous() && values.is_cuda());
    if (aborted_) throw CollectiveError("NCCL: stopped, as another rank failed");
    return values.mutable_data_ptr();
  }
  static int type(const at::Tensor& values) {
    const bool is_double = values.scalar_type() == at::kDouble;
    TORCH_CHECK(is_double || values.scalar_type() == at::kFloat);
    return is_double ? kFloat64 : kFloat32;
  }
  void check(int result) const {
    if (result != kSuccess)
      throw CollectiveError(std::string("NCCL: ") + nccl_.error_string(result) + ". " +
                            nccl_.last_error(nullptr));
  }
  void abort() {
    if (!aborted_.exchange(true)) nccl_.abort(comm_);
  }

  const Nccl nccl_;
  const Comm comm_;
  Group& group_;
  const SideStream side_;
  std::atomic<bool> aborted_{false};
};

}  // namespace

Result<std::unique_ptr<Collectives>> make_nccl(Group& group, at::Device device) {
  KW_TRY(const Nccl nccl, load_nccl());
  at::zeros({1}, at::TensorOptions(at::kFloat).device(device));  // torch's context is made first
  KW_TRY_STATUS(kw::cuda::load_driver_api());
  KW_TRY(SideStream side, SideStream::make());
  UniqueId id;
  std::string text;
  if (group.is_root()) {
    const int made = nccl.unique_id(&id);
    if (made != kSuccess) return fail(ErrorCode::kUnsupported, "NCCL: {}", nccl.error_string(made));
    text.assign(id.bytes.data(), id.bytes.size());
  }
  KW_TRY(const std::vector<std::string> all, group.exchange(text));
  if (all.front().size() != id.bytes.size())
    return fail(ErrorCode::kInternal, "NCCL: rank 0 sent no id");
  std::memcpy(id.bytes.data(), all.front().data(), id.bytes.size());
  Comm comm = nullptr;
  const int made = nccl.init(&comm, group.size(), id, group.rank());
  if (made != kSuccess)
    return fail(ErrorCode::kUnavailable, "NCCL: {}. {}", nccl.error_string(made),
                nccl.last_error(nullptr));
  return std::unique_ptr<Collectives>(new NcclRanks(nccl, comm, group, std::move(side)));
}

}  // namespace kw::train
