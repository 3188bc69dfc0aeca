#include "train/cuda/matmul.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "cuda/lt_matmul.h"
#include "train/cuda/launch.h"

namespace kw::train::cuda {
namespace {

using kw::cuda::Event;
using kw::cuda::Lt;
using kw::cuda::LtAlgorithm;
using kw::cuda::LtMatmul;
using kw::cuda::LtShape;
using kw::cuda::Stream;

constexpr std::int64_t kComparedEvery = 61;  // rows of results that are compared
constexpr int kTimedRuns = 2;

auto key_of(const LtShape& s) {
  return std::tuple(s.rows, s.n, s.k, s.narrow, s.adds, s.x_transposed, s.w_transposed);
}
using Key = decltype(key_of(LtShape()));

// Numbers of tokens that share their ways: four between one power of two and the next.
std::int64_t rounded_up(std::int64_t tokens) {
  const auto count = static_cast<std::uint64_t>(tokens);
  const auto step =
      static_cast<std::int64_t>(std::max<std::uint64_t>(std::bit_floor(count) / 4, 64));
  return (tokens + step - 1) / step * step;
}

// The shape whose ways serve this one.
LtShape typical(LtShape shape) {
  std::int64_t& tokens = shape.x_transposed ? shape.k : shape.rows;
  tokens = rounded_up(tokens);
  return shape;
}

// cuBLASLt is asked for operands at multiples of 256 bytes.
bool lies_well(const at::Tensor& x) {
  return x.is_cuda() && x.dim() == 2 && x.numel() > 0 && x.stride(1) == 1 &&
         x.stride(0) >= x.size(1) && x.stride(0) * x.element_size() % 16 == 0 &&
         reinterpret_cast<std::uintptr_t>(x.const_data_ptr()) % 256 == 0;
}

DevicePointer place(const at::Tensor& x) {
  return reinterpret_cast<DevicePointer>(x.const_data_ptr());
}

LtShape shape_of(const Operand& x, const Operand& w, const at::Tensor& y, bool adds) {
  LtShape out;
  out.rows = y.size(0);
  out.n = y.size(1);
  out.k = x.matrix.size(x.transposed ? 0 : 1);
  out.pitch = y.stride(0);
  out.x_pitch = x.matrix.stride(0);
  out.w_pitch = w.matrix.stride(0);
  out.narrow = y.scalar_type() == at::kBFloat16;
  out.adds = adds;
  out.x_transposed = x.transposed;
  out.w_transposed = w.transposed;
  return out;
}

struct Choice {
  std::vector<LtAlgorithm> ways;  // that cuBLASLt names, in its order
  std::optional<std::size_t> way;
  std::size_t same = 0;  // ways that give the bits of the first
  double first_ms = 0, ms = 0;
};

class Matmuls {
 public:
  static Matmuls& of_process() {
    // Never destroyed: the driver may have gone before this library's objects do.
    static auto* const all = new Matmuls();
    return *all;
  }

  bool multiply(const Operand& x, const Operand& w, const at::Tensor& y, bool adds);
  std::vector<std::string> lines() const;

 private:
  struct Operands {
    DevicePointer x, w;
  };
  Matmuls();
  Choice& choice_for(const LtShape& shape);
  void choose(Choice& choice, const LtShape& shape, const Operands& in, const at::Tensor& y);
  Status run(const LtShape& shape, const LtAlgorithm& way, const Operands& in,
             const at::Tensor& y) const;
  double time(const LtShape& shape, const LtAlgorithm& way, const Operands& in,
              const at::Tensor& y) const;

  std::optional<Lt> lt_;  // none: this machine has no cuBLASLt
  Stream stream_;         // torch's
  std::map<Key, Choice> choices_;
};

Matmuls::Matmuls() {
  kernels();  // makes the context current
  if (auto made = Lt::make()) lt_ = std::move(*made);
}

Status Matmuls::run(const LtShape& shape, const LtAlgorithm& way, const Operands& in,
                    const at::Tensor& y) const {
  KW_TRY(const LtMatmul matmul, LtMatmul::make_as(*lt_, shape, way));
  return matmul.run(0, in.x, in.w, place(y), stream_);
}

Choice& Matmuls::choice_for(const LtShape& shape) {
  const LtShape asked = typical(shape);
  const auto [it, is_new] = choices_.try_emplace(key_of(asked));
  if (is_new) {
    auto made = LtMatmul::make(*lt_, asked);
    for (std::size_t i = 0; made && i < made->ways(); ++i)
      it->second.ways.push_back(made->algorithm(i));
  }
  return it->second;
}

double Matmuls::time(const LtShape& shape, const LtAlgorithm& way, const Operands& in,
                     const at::Tensor& y) const {
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTimedRuns; ++i) {
    const Event begin = checked(Event::make()), end = checked(Event::make());
    checked(stream_.record(begin));
    checked(run(shape, way, in, y));
    checked(stream_.record(end));
    checked(end.synchronize());
    fastest = std::min(fastest, checked(kw::cuda::elapsed_ms(begin, end)));
  }
  return fastest;
}

// Overwrites y. Leaves the choice to a later call where this one's results show nothing.
void Matmuls::choose(Choice& choice, const LtShape& shape, const Operands& in,
                     const at::Tensor& y) {
  auto some_rows = [&y] { return y.slice(0, 0, y.size(0), kComparedEvery); };
  if (!run(shape, choice.ways.front(), in, y)) return;
  const at::Tensor wanted = some_rows().clone();
  if (!at::isfinite(wanted).all().item<bool>() || !wanted.any().item<bool>()) return;
  choice.first_ms = choice.ms = time(shape, choice.ways.front(), in, y);
  choice.way = 0;
  choice.same = 1;
  for (std::size_t i = 1; i < choice.ways.size(); ++i) {
    y.zero_();
    if (!run(shape, choice.ways[i], in, y)) continue;  // it may refuse what it has named
    if (!some_rows().equal(wanted)) continue;
    ++choice.same;
    const double ms = time(shape, choice.ways[i], in, y);
    if (ms >= choice.ms) continue;
    choice.ms = ms;
    choice.way = i;
  }
}

bool Matmuls::multiply(const Operand& x, const Operand& w, const at::Tensor& y, bool adds) {
  if (!lt_ || !lies_well(x.matrix) || !lies_well(w.matrix) || !lies_well(y)) return false;
  const LtShape shape = shape_of(x, w, y, adds);
  Choice& choice = choice_for(shape);
  if (choice.ways.empty()) return false;
  const Operands in{place(x.matrix), place(w.matrix)};
  if (!choice.way) {
    LtShape alone = shape;
    alone.adds = false;
    const at::Tensor result = adds ? at::empty_like(y) : y;
    if (adds) alone.pitch = result.stride(0);
    choose(choice, alone, in, result);
  }
  const Status done = run(shape, choice.ways[choice.way.value_or(0)], in, y);
  if (done) return true;
  // The ways of this many tokens do not do fewer.
  auto exact = LtMatmul::make(*lt_, shape);
  if (!exact) return false;
  checked(exact->run(0, in.x, in.w, place(y), stream_));
  return true;
}

std::vector<std::string> Matmuls::lines() const {
  std::vector<std::string> out;
  for (const auto& [key, choice] : choices_) {
    const auto& [rows, n, k, narrow, adds, x_transposed, w_transposed] = key;
    out.push_back(fmt::format(
        "[{}, {}] of {}{}{}{}{}: way {} of {}, {} with the same bits, {:.3f} ms, the first {:.3f}",
        rows, n, k, narrow ? ", bfloat16" : "", adds ? ", added" : "",
        x_transposed ? ", x transposed" : "", w_transposed ? ", w transposed" : "",
        choice.way.value_or(0), choice.ways.size(), choice.same, choice.ms, choice.first_ms));
  }
  return out;
}

}  // namespace

bool multiply(const Operand& x, const Operand& w, const at::Tensor& y, bool adds) {
  if (x.matrix.scalar_type() != at::kBFloat16 || w.matrix.scalar_type() != at::kBFloat16)
    return false;
  return Matmuls::of_process().multiply(x, w, y, adds);
}

std::vector<std::string> matmul_choices() {
  return Matmuls::of_process().lines();
}

}  // namespace kw::train::cuda
