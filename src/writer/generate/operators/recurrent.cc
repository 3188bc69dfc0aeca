// Recurrent networks: one step of a cell, and a layer over a few steps.
#include <algorithm>
#include <cmath>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

// Sizes of a cell, its inputs, and weights of `gates` gates, as torch has them.
struct Cell {
  Dim batch, hidden;
  ValueId from_input, from_hidden;  // [batch, gates * hidden], biases added
};

Cell make_cell(Builder& b, int gates, bool has_state) {
  const std::int64_t hidden =
      b.size(4, std::clamp<std::int64_t>(b.limits.max_elements / 16, 4, 2048));
  const std::int64_t width =
      b.size(4, std::clamp<std::int64_t>(b.limits.max_elements / 16, 4, 2048));
  const std::int64_t most = std::min(b.limits.max_elements / (gates * hidden),
                                     b.limits.max_work / (gates * hidden * (hidden + width)));
  Cell out;
  out.batch = b.axis("batch_size", b.size(1, std::clamp<std::int64_t>(most, 1, 1024)), false);
  const Dim in = b.axis("input_size", width);
  out.hidden = b.axis("hidden_size", hidden);
  const Dim all = times(out.hidden, {gates, gates});
  const ValueId x = b.input("x", {out.batch, in}).id;
  const ValueId h = b.input("h", {out.batch, out.hidden}).id;
  if (has_state) b.input("c", {out.batch, out.hidden});
  b.size_of("input_size", in);
  b.size_of("hidden_size", out.hidden);
  const ValueId of_input = b.weight("weight_ih", {all, in}, Start::kWeight, out.hidden).id;
  const ValueId of_hidden = b.weight("weight_hh", {all, out.hidden}, Start::kWeight, out.hidden).id;
  const ValueId input_bias = b.weight("bias_ih", {all}, Start::kWeight, out.hidden).id;
  const ValueId hidden_bias = b.weight("bias_hh", {all}, Start::kWeight, out.hidden).id;
  const auto product = [&](ValueId value, ValueId weight, ValueId bias, const Dim& k) {
    const ValueId turned =
        b.call("permute.default", {weight, std::vector<IntExpr>{1, 0}}, {k, all});
    return b.call("addmm.default", {bias, value, turned}, {out.batch, all});
  };
  out.from_input = product(x, of_input, input_bias, in);
  out.from_hidden = product(h, of_hidden, hidden_bias, out.hidden);
  return out;
}

ValueId gate_of(Builder& b, const Cell& cell, ValueId from, int which) {
  const IntExpr& width = cell.hidden.size;
  return b.call("slice.Tensor", {from, 1, width * which, width * (which + 1), 1},
                {cell.batch, cell.hidden});
}

void gru_cell(Builder& b) {
  const Cell cell = make_cell(b, 3, false);
  const Dims shape = {cell.batch, cell.hidden};
  const auto of = [&](std::string_view op, std::vector<Arg> arguments) {
    return b.call(op, std::move(arguments), shape);
  };
  const auto sum = [&](int which) {
    return of("sigmoid.default", {of("add.Tensor", {gate_of(b, cell, cell.from_input, which),
                                                    gate_of(b, cell, cell.from_hidden, which)})});
  };
  const ValueId reset = sum(0), update = sum(1);
  const ValueId kept = of("mul.Tensor", {reset, gate_of(b, cell, cell.from_hidden, 2)});
  const ValueId fresh =
      of("tanh.default", {of("add.Tensor", {gate_of(b, cell, cell.from_input, 2), kept})});
  const ValueId change = of("mul.Tensor", {of("sub.Tensor", {b.in(1), fresh}), update});
  b.result(of("add.Tensor", {change, fresh}), shape).range(-3, 3);
}

void lstm_cell(Builder& b) {
  const Cell cell = make_cell(b, 4, true);
  const Dims shape = {cell.batch, cell.hidden};
  const ValueId all = b.call("add.Tensor", {cell.from_input, cell.from_hidden},
                             {cell.batch, times(cell.hidden, {4, 4})});
  const auto of = [&](std::string_view op, std::vector<Arg> arguments) {
    return b.call(op, std::move(arguments), shape);
  };
  const auto sigmoid = [&](int which) {
    return of("sigmoid.default", {gate_of(b, cell, all, which)});
  };
  const ValueId in = sigmoid(0), forget = sigmoid(1);
  const ValueId fresh = of("tanh.default", {gate_of(b, cell, all, 2)});
  const ValueId out = sigmoid(3);
  const ValueId state =
      of("add.Tensor", {of("mul.Tensor", {forget, b.in(2)}), of("mul.Tensor", {in, fresh})});
  b.result(of("mul.Tensor", {out, of("tanh.default", {state})}), shape).range(-1, 1);
}

// The last state of h = tanh(x_t W^T + b + h U^T + c), from zeros
void rnn(Builder& b) {
  const std::int64_t hidden =
      b.size(4, std::clamp<std::int64_t>(b.limits.max_elements / 32, 4, 1024));
  const std::int64_t width =
      b.size(4, std::clamp<std::int64_t>(b.limits.max_elements / 32, 4, 1024));
  const std::int64_t length = b.between(2, 5);
  const std::int64_t most = std::min(b.limits.max_elements / (length * std::max(hidden, width)),
                                     b.limits.max_work / (length * hidden * (hidden + width)));
  const Dim batch = b.axis("batch_size", b.size(2, std::clamp<std::int64_t>(most, 2, 1024)), false);
  const Dim steps = b.axis("seq_len", length), in = b.axis("input_size", width),
            out = b.axis("hidden_size", hidden);
  const Dims shape = {batch, out};
  const ValueId x = b.input("x", {batch, steps, in}).id;
  b.size_of("input_size", in);
  b.size_of("hidden_size", out);
  const ValueId of_input = b.weight("weight_ih_l0", {out, in}, Start::kWeight, out).id;
  const ValueId of_hidden = b.weight("weight_hh_l0", {out, out}, Start::kWeight, out).id;
  const ValueId input_bias = b.weight("bias_ih_l0", {out}, Start::kWeight, out).id;
  const ValueId hidden_bias = b.weight("bias_hh_l0", {out}, Start::kWeight, out).id;
  const std::vector<IntExpr> turn = {1, 0};
  const ValueId into = b.call("permute.default", {of_input, turn}, {in, out});
  const ValueId over = b.call("permute.default", {of_hidden, turn}, {out, out});
  ValueId state;
  for (std::int64_t t = 0; t < length; ++t) {
    const ValueId now = b.call("select.int", {x, 1, t}, {batch, in});
    const ValueId given = b.call("addmm.default", {input_bias, now, into}, shape);
    const ValueId kept =
        t == 0 ? hidden_bias : b.call("addmm.default", {hidden_bias, state, over}, shape);
    const ValueId sum = b.call("add.Tensor", {given, kept}, shape);
    state = b.call("tanh.default", {sum}, shape);
  }
  b.result(state, shape).range(-1, 1);
}

OpSpec gru_cell_operator() {
  return {.name = "gru_cell",
          .tier = 3,
          .domain = Domain::kNone,
          .build = gru_cell,
          .words = "the next hidden state of a GRU cell ({input_size} to {hidden_size})",
          .ways = {{"nn.GRUCell({input_size}, {hidden_size})", "self.{m}({x}, {y})"},
                   {"nn.GRUCell(input_size={input_size}, hidden_size={hidden_size})",
                    "self.{m}({x}, {y})"},
                   {"", "torch.gru_cell({x}, {y}, {weight_ih}, {weight_hh}, {bias_ih}, {bias_hh})"},
                   {"", R"({t:gi} = F.linear({x}, {weight_ih}, {bias_ih})
{t:gh} = F.linear({y}, {weight_hh}, {bias_hh})
{t:i_r}, {t:i_z}, {t:i_n} = {t:gi}.chunk(3, 1)
{t:h_r}, {t:h_z}, {t:h_n} = {t:gh}.chunk(3, 1)
{t:reset} = torch.sigmoid({t:i_r} + {t:h_r})
{t:update} = torch.sigmoid({t:i_z} + {t:h_z})
{t:new} = torch.tanh({t:i_n} + {t:reset} * {t:h_n})
{t:new} + {t:update} * ({y} - {t:new}))"},
                   {"", R"({t:n} = {hidden_size}
{t:a} = {x} @ {weight_ih}.t() + {bias_ih}
{t:b} = {y} @ {weight_hh}.t() + {bias_hh}
{t:gates} = torch.sigmoid({t:a}[:, :2 * {t:n}] + {t:b}[:, :2 * {t:n}])
{t:r}, {t:u} = {t:gates}[:, :{t:n}], {t:gates}[:, {t:n}:]
{t:cand} = ({t:a}[:, 2 * {t:n}:] + {t:r} * {t:b}[:, 2 * {t:n}:]).tanh()
(1 - {t:u}) * {t:cand} + {t:u} * {y})"},
                   {"", R"({t:w_r}, {t:w_z}, {t:w_n} = {weight_ih}.chunk(3)
{t:u_r}, {t:u_z}, {t:u_n} = {weight_hh}.chunk(3)
{t:b_r}, {t:b_z}, {t:b_n} = {bias_ih}.chunk(3)
{t:c_r}, {t:c_z}, {t:c_n} = {bias_hh}.chunk(3)
{t:r} = torch.sigmoid(F.linear({x}, {t:w_r}, {t:b_r}) + F.linear({y}, {t:u_r}, {t:c_r}))
{t:z} = torch.sigmoid(F.linear({x}, {t:w_z}, {t:b_z}) + F.linear({y}, {t:u_z}, {t:c_z}))
{t:n} = torch.tanh(F.linear({x}, {t:w_n}, {t:b_n}) + {t:r} * F.linear({y}, {t:u_n}, {t:c_n}))
torch.lerp({t:n}, {y}, {t:z}))"}}};
}

OpSpec lstm_cell_operator() {
  return {
      .name = "lstm_cell",
      .tier = 3,
      .domain = Domain::kNone,
      .build = lstm_cell,
      .words =
          "the next hidden state of an LSTM cell ({input_size} to {hidden_size}), with its cell "
          "state",
      .ways = {
          {"nn.LSTMCell({input_size}, {hidden_size})", "self.{m}({x}, ({y}, {z}))[0]"},
          {"nn.LSTMCell(input_size={input_size}, hidden_size={hidden_size})",
           R"({t:h_next}, {t:c_next} = self.{m}({x}, ({y}, {z}))
{t:h_next})"},
          {"",
           "torch.lstm_cell({x}, ({y}, {z}), {weight_ih}, {weight_hh}, {bias_ih}, {bias_hh})[0]"},
          {"",
           R"({t:gates} = F.linear({x}, {weight_ih}, {bias_ih}) + F.linear({y}, {weight_hh}, {bias_hh})
{t:i}, {t:f}, {t:g}, {t:o} = {t:gates}.chunk(4, dim=1)
{t:cell} = torch.sigmoid({t:f}) * {z} + torch.sigmoid({t:i}) * torch.tanh({t:g})
torch.sigmoid({t:o}) * torch.tanh({t:cell}))"},
          {"",
           R"({t:pre} = torch.matmul({x}, {weight_ih}.T) + torch.matmul({y}, {weight_hh}.T) + {bias_ih} + {bias_hh}
{t:parts} = torch.split({t:pre}, {hidden_size}, dim=-1)
{t:cell} = {t:parts}[1].sigmoid() * {z} + {t:parts}[0].sigmoid() * {t:parts}[2].tanh()
{t:parts}[3].sigmoid() * {t:cell}.tanh())"}}};
}

OpSpec rnn_operator() {
  return {
      .name = "rnn",
      .tier = 4,
      .domain = Domain::kNone,
      .build = rnn,
      .words =
          "the last hidden state of a tanh RNN over a short sequence ({input_size} to "
          "{hidden_size}), from zeros",
      .ways = {
          {"nn.RNN({input_size}, {hidden_size}, batch_first=True)", "self.{m}({x})[1].squeeze(0)"},
          {"nn.RNN(input_size={input_size}, hidden_size={hidden_size}, batch_first=True)",
           R"({t:outputs}, {t:last} = self.{m}({x})
{t:outputs}[:, -1])"},
          {"", R"({t:state} = torch.zeros({x}.shape[0], {hidden_size}, dtype={x}.dtype)
for {t:i} in range({x}.shape[1]):
    {t:given} = F.linear({x}[:, {t:i}], {weight_ih_l0}, {bias_ih_l0})
    {t:state} = torch.tanh({t:given} + F.linear({t:state}, {weight_hh_l0}, {bias_hh_l0}))
{t:state})"},
          {"", R"({t:hx} = {x}.new_zeros({x}.size(0), {hidden_size})
for {t:now} in {x}.unbind(1):
    {t:hx} = torch.rnn_tanh_cell({t:now}, {t:hx}, {weight_ih_l0}, {weight_hh_l0}, {bias_ih_l0}, {bias_hh_l0})
{t:hx})"},
          {"", R"({t:given} = {x} @ {weight_ih_l0}.t() + ({bias_ih_l0} + {bias_hh_l0})
{t:state} = torch.tanh({t:given}[:, 0])
for {t:i} in range(1, {x}.shape[1]):
    {t:state} = torch.tanh({t:given}[:, {t:i}] + {t:state} @ {weight_hh_l0}.t())
{t:state})"},
          {"", R"({t:steps} = torch.einsum("bti,hi->tbh", {x}, {weight_ih_l0}) + {bias_ih_l0}
{t:h} = ({t:steps}[0] + {bias_hh_l0}).tanh()
for {t:step} in {t:steps}[1:]:
    {t:h} = ({t:step} + torch.addmm({bias_hh_l0}, {t:h}, {weight_hh_l0}.T)).tanh()
{t:h})"}}};
}

}  // namespace

std::vector<OpSpec> recurrent_operators() {
  return {gru_cell_operator(), lstm_cell_operator(), rnn_operator()};
}

}  // namespace kw::writer::generate
