// Blocked products through tl.dot: each program makes a tile of the output.
#include <algorithm>

#include "writer/fusion/fusion.h"
#include "writer/loops/scalar.h"
#include "writer/triton/launch.h"

namespace kw::writer::triton {

using tensor::DType;

namespace {

// The 16-bit type that the operand's values have, if they were cast from one for the product.
std::optional<DType> narrow_type(const ScalarRef& value) {
  const auto* cast = std::get_if<Scalar::Cast>(&value->node);
  if (cast == nullptr) return std::nullopt;
  const DType from = cast->value->dtype;
  if (from == DType::kFloat16 || from == DType::kBFloat16) return from;
  return std::nullopt;
}

bool is_load(const ScalarRef& value) {
  if (std::holds_alternative<Scalar::Load>(value->node)) return true;
  const auto* cast = std::get_if<Scalar::Cast>(&value->node);
  return cast != nullptr && is_load(cast->value);
}

class ProductKernel {
 public:
  ProductKernel(const Program& program, const ProductStage& product, const std::string& name,
                const TritonTuning& tuning)
      : product_(product), kernel_(program, name), printer_(kernel_), tuning_(tuning) {
    m_ = kernel_.add_axis("BLOCK_M", 0);
    n_ = kernel_.add_axis("BLOCK_N", 1);
    k_of_a_ = kernel_.add_axis("BLOCK_K", 1);
    k_of_b_ = kernel_.add_axis("BLOCK_K", 0);
  }

  Launch made() {
    const IntExpr m = count_of(product_.m), n = count_of(product_.n), k = count_of(product_.k);
    place(m, n);
    const std::string acc = kernel_.fresh("acc"), start = kernel_.fresh("start");
    kernel_.format("{} = tl.zeros([BLOCK_M, BLOCK_N], {})", acc,
                   product_.of_bytes ? "tl.int32" : "tl.float32");
    const std::string count = kernel_.size(k);
    const std::size_t scope =
        kernel_.open(fmt::format("for {} in range(0, {}, BLOCK_K):", start, count));
    const Text k_a = steps("k_a", start, k_of_a_, scope), k_b = steps("k_b", start, k_of_b_, scope);
    const auto of_a = narrow_type(product_.a);
    const auto narrow = of_a == narrow_type(product_.b) ? of_a : std::nullopt;
    const ScalarRef left = factor(product_.a);
    const std::string a = operand({left, product_.k, "a", k_a, k_of_a_, m_}, narrow);
    std::map<std::string, IntExpr> renamed;
    std::vector<Loop> loops = product_.k;
    for (Loop& loop : loops) {
      const std::string name = loop.variable + "_b";
      renamed[loop.variable] = IntExpr::symbol(name);
      loop.variable = name;
    }
    held_ = substitute(factor(product_.b), renamed);
    const std::string b = operand({held_, loops, "b", k_b, k_of_b_, n_}, narrow);
    kernel_.format("{0} = tl.dot({1}, {2}, {0}, {3})", acc, a, b,
                   product_.of_bytes ? "out_dtype=tl.int32" : "input_precision=\"ieee\"");
    kernel_.close();
    const Stage& stage = product_.stage;
    Text sum{acc, m_ | n_};
    if (product_.of_bytes) sum.text += fmt::format(".to({})", triton_type(stage.accumulator));
    printer_.set_reduced(sum);
    const Text value = stage.epilogue ? printer_.print(stage.epilogue) : sum;
    IntExpr out;
    for (const Loop& loop : stage.loops) {
      out = out * loop.extent;
      if (loop.extent.constant() != 1) out = out + IntExpr::symbol(loop.variable);
    }
    const Text at = kernel_.integer(out);
    kernel_.format("tl.store({} + {}, {}, mask={})", kernel_.pointer(stage.out), wrapped(at, kSum),
                   value.text, kernel_.mask(m_ | n_, nullptr).text);
    return launch(m, n);
  }

 private:
  // Which tile of which product the program makes: a grid of one dimension.
  void place(const IntExpr& m, const IntExpr& n) {
    for (const char* word : {"tile", "batch", "m", "n"}) kernel_.fresh(word);
    kernel_.line("tile = tl.program_id(0)");
    kernel_.format("tiles_n = tl.cdiv({}, BLOCK_N)", kernel_.size(n));
    std::string row = "tile // tiles_n";
    if (!product_.batch.empty()) {
      kernel_.format("tiles_m = tl.cdiv({}, BLOCK_M)", kernel_.size(m));
      kernel_.line("batch = (tile // (tiles_m * tiles_n)).to(tl.int64)");
      row += " % tiles_m";
    }
    const auto side = [&](const char* name, const std::string& which, const char* block,
                          unsigned axis, const IntExpr& count) {
      kernel_.format("{} = (({}).to(tl.int64) * {} + tl.arange(0, {})){}", name, which, block,
                     block, kernel_.expand(axis));
      const std::string mask = kernel_.fresh(std::string(name) + "_mask");
      kernel_.format("{} = {} < {}", mask, name, kernel_.size(count));
      kernel_.set_mask(axis, {mask, axis});
    };
    side("m", row, "BLOCK_M", m_, m);
    side("n", "tile % tiles_n", "BLOCK_N", n_, n);
    if (!product_.batch.empty()) kernel_.bind(Flat{"batch", "g", product_.batch, 0});
    kernel_.bind(Flat{"m", "m", product_.m, m_});
    kernel_.bind(Flat{"n", "n", product_.n, n_});
  }

  Text steps(const std::string& name, const std::string& start, unsigned axis, std::size_t scope) {
    const std::string k = kernel_.fresh(name), mask = kernel_.fresh(name + "_mask");
    kernel_.format("{} = ({} + tl.arange(0, BLOCK_K)){}", k, start, kernel_.expand(axis));
    kernel_.format("{} = {} < {}", mask, k, kernel_.size(count_of(product_.k)));
    kernel_.set_mask(axis, {mask, axis, kAtom, scope});
    return {mask, axis, kAtom, scope};
  }

  struct Operand {
    const ScalarRef& value;
    const std::vector<Loop>& loops;  // of k
    std::string name;
    Text mask;  // of the steps
    unsigned k, side;
  };

  // What is multiplied: of bytes these themselves.
  ScalarRef factor(const ScalarRef& value) const {
    return product_.of_bytes ? std::get<Scalar::Cast>(value->node).value : value;
  }

  // A tile of one side, 0 beyond the end of k; of the narrow type where there is one.
  std::string operand(const Operand& of, const std::optional<DType>& narrow) {
    kernel_.bind(Flat{"k_" + of.name, "k", of.loops, of.k, true});
    Text text = printer_.tensor(of.value);
    const unsigned axes = of.k | of.side;
    const bool is_zero_outside = is_load(of.value) && (text.axes & of.k) != 0;
    if (!is_zero_outside)
      text = {fmt::format("tl.where({}, {}, {})", of.mask.text, text.text,
                          product_.of_bytes ? "0" : "0.0"),
              text.axes | of.k};
    if ((text.axes & axes) != axes)
      text = {fmt::format("{} + tl.zeros({}, {})", wrapped(text, kSum), kernel_.shape(axes),
                          product_.of_bytes ? "tl.int8" : "tl.float32"),
              axes, kSum};
    const std::string out = kernel_.fresh(of.name);
    if (narrow)
      kernel_.format("{} = {}.to({})", out, wrapped(text, kAtom), triton_type(*narrow));
    else
      kernel_.format("{} = {}", out, text.text);
    return out;
  }

  Launch launch(const IntExpr& m, const IntExpr& n) {
    const auto block = [&](const std::vector<Loop>& loops, int most, int least = 16) {
      const auto traced = count_of(loops).evaluate(kernel_.program().sizes);
      int out = least;
      while (out < most && traced && out < *traced) out *= 2;
      return out;
    };
    const int block_m = block(product_.m, tuning_.product_m),
              block_n = block(product_.n, tuning_.product_n),
              block_k = block(product_.k, tuning_.product_k, product_.of_bytes ? 32 : 16);
    Launch out = finished(kernel_, printer_);
    const IntExpr batch = count_of(product_.batch);
    out.grid = fmt::format("triton.cdiv({}, {}) * triton.cdiv({}, {})", m.python(), block_m,
                           n.python(), block_n);
    if (!product_.batch.empty()) out.grid = fmt::format("({}) * {}", batch.python(), out.grid);
    out.grid_sizes = {m, n, batch};
    out.constants = {{"BLOCK_M", fmt::format("{}", block_m)},
                     {"BLOCK_N", fmt::format("{}", block_n)},
                     {"BLOCK_K", fmt::format("{}", block_k)}};
    out.tiling = fmt::format("BLOCK_M={} BLOCK_N={} BLOCK_K={}", block_m, block_n, block_k);
    out.warps = block_m * block_n >= 64 * 128 ? 8 : 4;
    out.stages = tuning_.stages;
    return out;
  }

  const ProductStage& product_;
  KernelText kernel_;
  ScalarPrinter printer_;
  TritonTuning tuning_;
  unsigned m_ = 0, n_ = 0, k_of_a_ = 0, k_of_b_ = 0;
  ScalarRef held_;  // whose nodes the printer remembers
};

}  // namespace

Launch product_kernel(const Program& program, const ProductStage& product, const std::string& name,
                      const TritonTuning& tuning) {
  Launch out = ProductKernel(program, product, name, tuning).made();
  const IntExpr terms = count_of(product.k);
  const auto known = terms.constant();
  if (!product.of_bytes || (known && *known <= kMaxByteTerms)) return out;
  return limited(std::move(out), terms, kMaxByteTerms,
                 block_kernel(program, product.stage, "long_" + name, tuning));
}

}  // namespace kw::writer::triton
