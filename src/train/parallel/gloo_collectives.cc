#include "train/parallel/gloo_collectives.h"

#include <filesystem>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <dlfcn.h>

#include "train/parallel/gloo_library.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

struct GlooFunctions {
  decltype(&kw_gloo_open) open = nullptr;
  decltype(&kw_gloo_close) close = nullptr;
  decltype(&kw_gloo_error) error = nullptr;
  decltype(&kw_gloo_all_reduce) all_reduce = nullptr;
  decltype(&kw_gloo_broadcast) broadcast = nullptr;
  decltype(&kw_gloo_reduce_scatter) reduce_scatter = nullptr;
  decltype(&kw_gloo_all_gather) all_gather = nullptr;
};

// Its symbols are its own: RTLD_LOCAL hides them from libtorch, and RTLD_DEEPBIND hides those of
// libtorch's gloo from it. It stays loaded.
Result<GlooFunctions> load_gloo() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error).parent_path() / "libkw_gloo.so";
  if (!fs::exists(path))
    return fail(ErrorCode::kUnsupported,
                "several ranks on CPUs need gloo, and {} is missing: install libgloo-dev, remove "
                "the build folder of the trainer (build/torch), and start again",
                path.string());
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (handle == nullptr) return fail(ErrorCode::kUnsupported, "gloo: {}", ::dlerror());
  GlooFunctions out;
  const auto find = [&](const char* name, auto& into) {
    into = reinterpret_cast<std::remove_reference_t<decltype(into)>>(::dlsym(handle, name));
    return into != nullptr;
  };
  if (find("kw_gloo_open", out.open) && find("kw_gloo_close", out.close) &&
      find("kw_gloo_error", out.error) && find("kw_gloo_all_reduce", out.all_reduce) &&
      find("kw_gloo_broadcast", out.broadcast) &&
      find("kw_gloo_reduce_scatter", out.reduce_scatter) &&
      find("kw_gloo_all_gather", out.all_gather))
    return out;
  return fail(ErrorCode::kUnsupported, "{} is of another version: build again", path.string());
}

int exchange(void* group, const char* mine, size_t size, kw_gloo_out out, void* to) {
  const auto all = static_cast<Group*>(group)->exchange(std::string(mine, size));
  if (!all) return 1;
  for (std::size_t rank = 0; rank < all->size(); ++rank)
    out(to, static_cast<int>(rank), (*all)[rank].data(), (*all)[rank].size());
  return 0;
}

// unit: of one number.
std::vector<std::int64_t> begins_of(std::span<const Shard> shards, std::size_t unit = 1) {
  const auto size = static_cast<std::int64_t>(unit);
  std::vector<std::int64_t> out;
  for (const Shard& one : shards) out.push_back(one.begin * size);
  out.push_back(shards.back().end * size);
  return out;
}

// A rank's death closes its connections, so waiting calls of the others end by themselves.
class Gloo : public Collectives {
 public:
  Gloo(const GlooFunctions& library, kw_gloo* gloo, int rank, int size)
      : library_(library), gloo_(gloo), rank_(rank), size_(size) {}
  Gloo(const Gloo&) = delete;
  Gloo& operator=(const Gloo&) = delete;
  ~Gloo() override { library_.close(gloo_); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_reduce(at::Tensor& values) override {
    TORCH_CHECK(values.is_contiguous() && values.is_cpu());
    const bool is_double = values.scalar_type() == at::kDouble;
    TORCH_CHECK(is_double || values.scalar_type() == at::kFloat);
    check(library_.all_reduce(gloo_, values.mutable_data_ptr(),
                              static_cast<std::size_t>(values.numel()), is_double ? 1 : 0));
  }
  void broadcast(at::Tensor& values, int root) override {
    TORCH_CHECK(values.is_contiguous() && values.is_cpu());
    check(library_.broadcast(gloo_, values.mutable_data_ptr(), values.nbytes(), root));
  }
  void reduce_scatter(at::Tensor& block, std::span<const Shard> shards) override {
    TORCH_CHECK(block.is_contiguous() && block.is_cpu());
    check(
        library_.reduce_scatter(gloo_, block.mutable_data_ptr<float>(), begins_of(shards).data()));
  }
  void all_gather(at::Tensor& block, std::span<const Shard> shards) override {
    TORCH_CHECK(block.is_contiguous() && block.is_cpu());
    check(library_.all_gather(gloo_, static_cast<char*>(block.mutable_data_ptr()),
                              begins_of(shards, block.element_size()).data()));
  }

 private:
  void check(int failed) const {
    if (failed != 0) throw CollectiveError(std::string("gloo: ") + library_.error());
  }

  const GlooFunctions library_;
  kw_gloo* const gloo_;
  const int rank_, size_;
};

}  // namespace

Result<std::unique_ptr<Collectives>> make_gloo(Group& group) {
  KW_TRY(const GlooFunctions library, load_gloo());
  kw_gloo* const made = library.open(group.rank(), group.size(), group.local_address().c_str(),
                                     group.limit().count(), exchange, &group);
  if (made == nullptr) return fail(ErrorCode::kUnavailable, "gloo: {}", library.error());
  return std::unique_ptr<Collectives>(new Gloo(library, made, group.rank(), group.size()));
}

}  // namespace kw::train
