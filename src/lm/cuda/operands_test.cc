// Addresses here are numbers: no GPU is asked.
#include "lm/cuda/operands.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace kw::lm::cuda {
namespace {

std::string said(const Status& status) {
  return status ? "" : status.error().message();
}

MatmulInput parts_input() {
  MatmulInput in{};
  in.y = 4096;
  in.rows = 3;
  in.n = 1003;
  in.k = 256;
  in.pitch = 1008;
  return in;
}

TEST(Operands, AnOperandThatBeginsElsewhereIsNamed) {
  EXPECT_TRUE(check_operands("k", {{"x", 512, 16}, {"bias", 0, 16, true}}));
  EXPECT_EQ(said(check_operands("k", {{"x", 512, 16}, {"bias", 520, 16, true}})),
            "k: bias begins 8 bytes behind a multiple of 16");
  EXPECT_EQ(said(check_operands("k", {{"x", 0, 16}})), "k: x is not there");
}

// A vocabulary may be odd; rows of logits lie at an even pitch then.
TEST(Operands, RowsOfPartsLieAtAnEvenPitch) {
  MatmulInput in = parts_input();
  EXPECT_EQ(said(check_operands(MatmulOutput::kParts, in)), "");
  in.pitch = in.n;
  EXPECT_EQ(said(check_operands(MatmulOutput::kParts, in)),
            "kw_matmul_parts: the pitch of y is 1003, not a multiple of 2");
  in.pitch = 1002;
  EXPECT_EQ(said(check_operands(MatmulOutput::kParts, in)),
            "kw_matmul_parts: the pitch of y is 1002, less than n, 1003");
  in = parts_input();
  in.y += 4;
  EXPECT_EQ(said(check_operands(MatmulOutput::kParts, in)),
            "kw_matmul_parts: y begins 4 bytes behind a multiple of 8");
}

TEST(Operands, ShapesThatAKernelLacksAreNamed) {
  MatmulInput in = parts_input();
  in.k = 96;
  EXPECT_EQ(said(check_operands(MatmulOutput::kParts, in)),
            "kw_matmul_parts: k is 96, not a multiple of 64");
  in = parts_input();
  in.n = 1002;
  EXPECT_EQ(said(check_operands(MatmulOutput::kSilu, in)),
            "kw_matmul_silu: n is 1002, not a multiple of 4");
  in.n = 1000;
  in.norm = in.next = in.next_squares = 512;
  EXPECT_EQ(said(check_operands(MatmulOutput::kResidual, in)),
            "kw_matmul_residual: n is 1000, not a multiple of 32");
}

// Every operand in turn begins two bytes late.
template <typename Input>
void expect_all_named(
    const Input& good, const std::function<Status(const Input&)>& check,
    const std::vector<std::pair<std::string, std::function<DevicePointer&(Input&)>>>& members) {
  EXPECT_EQ(said(check(good)), "");
  for (const auto& [name, member] : members) {
    Input bad = good;
    member(bad) += 2;
    EXPECT_NE(said(check(bad)).find(": " + name + " begins 2 bytes"), std::string::npos)
        << name << ": " << said(check(bad));
  }
}

TEST(Operands, EveryOperandOfEveryKernelIsLookedAt) {
  NormInput norm{};
  norm.residual = norm.parts = norm.bias = norm.weight = norm.out = 512;
  norm.tokens = norm.table = norm.row_list = 512;
  using N = NormInput;
  expect_all_named<N>(norm, [](const N& in) { return check_operands(in); },
                      {{"residual", [](N& in) -> DevicePointer& { return in.residual; }},
                       {"parts", [](N& in) -> DevicePointer& { return in.parts; }},
                       {"bias", [](N& in) -> DevicePointer& { return in.bias; }},
                       {"weight", [](N& in) -> DevicePointer& { return in.weight; }},
                       {"tokens", [](N& in) -> DevicePointer& { return in.tokens; }},
                       {"table", [](N& in) -> DevicePointer& { return in.table; }},
                       {"row_list", [](N& in) -> DevicePointer& { return in.row_list; }},
                       {"out", [](N& in) -> DevicePointer& { return in.out; }}});
  HeadInput heads{};
  heads.qkv = heads.bias = heads.q_norm = heads.k_norm = heads.cosine = heads.sine = 512;
  heads.positions = heads.slots = heads.kv = 512;
  const DecodeInput decode{heads, 512, 512, 512, 512, 512};
  using D = DecodeInput;
  expect_all_named<D>(decode, [](const D& in) { return check_operands(in); },
                      {{"qkv", [](D& in) -> DevicePointer& { return in.heads.qkv; }},
                       {"bias", [](D& in) -> DevicePointer& { return in.heads.bias; }},
                       {"q_norm", [](D& in) -> DevicePointer& { return in.heads.q_norm; }},
                       {"k_norm", [](D& in) -> DevicePointer& { return in.heads.k_norm; }},
                       {"cosine", [](D& in) -> DevicePointer& { return in.heads.cosine; }},
                       {"sine", [](D& in) -> DevicePointer& { return in.heads.sine; }},
                       {"positions", [](D& in) -> DevicePointer& { return in.heads.positions; }},
                       {"slots", [](D& in) -> DevicePointer& { return in.heads.slots; }},
                       {"kv", [](D& in) -> DevicePointer& { return in.heads.kv; }},
                       {"row_list", [](D& in) -> DevicePointer& { return in.row_list; }},
                       {"partial", [](D& in) -> DevicePointer& { return in.partial; }},
                       {"statistics", [](D& in) -> DevicePointer& { return in.statistics; }},
                       {"arrived", [](D& in) -> DevicePointer& { return in.arrived; }},
                       {"out", [](D& in) -> DevicePointer& { return in.out; }}});
  const PrefillInput prefill{heads, 512, 512, 512};
  using P = PrefillInput;
  expect_all_named<P>(prefill, [](const P& in) { return check_operands(in); },
                      {{"row_list", [](P& in) -> DevicePointer& { return in.row_list; }},
                       {"tiles", [](P& in) -> DevicePointer& { return in.tiles; }},
                       {"out", [](P& in) -> DevicePointer& { return in.out; }}});
  PrefillInput late = prefill;
  late.heads.qkv += 8;  // enough for decoding
  EXPECT_NE(said(check_operands(late)).find("queries begins 8 bytes"), std::string::npos);
  MatmulInput residual = parts_input();
  residual.n = 256;
  residual.bias = residual.squares = residual.norm = residual.next = residual.next_squares = 512;
  using M = MatmulInput;
  expect_all_named<M>(residual,
                      [](const M& in) { return check_operands(MatmulOutput::kResidual, in); },
                      {{"y", [](M& in) -> DevicePointer& { return in.y; }},
                       {"bias", [](M& in) -> DevicePointer& { return in.bias; }},
                       {"squares", [](M& in) -> DevicePointer& { return in.squares; }},
                       {"norm", [](M& in) -> DevicePointer& { return in.norm; }},
                       {"next", [](M& in) -> DevicePointer& { return in.next; }},
                       {"next_squares", [](M& in) -> DevicePointer& { return in.next_squares; }}});
}

}  // namespace
}  // namespace kw::lm::cuda
