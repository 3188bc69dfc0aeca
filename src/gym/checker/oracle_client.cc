// Requests to the oracle and the exchange memory.
#include "gym/checker/oracle_client.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "gym/checker/call_deadline.h"
#include "gym/checker/signal_name.h"
#include "gym/protocol.h"
#include "os/message.h"

namespace kw::gym {
namespace {

constexpr std::size_t kTextBytes = 1U << 20U;
constexpr std::size_t kExchangePage = 4096;
constexpr std::size_t kMaxFailureText = 2000;
constexpr std::chrono::milliseconds kSlice{20};  // between looks at who wants to measure
// A process's end is told a moment after its socket closes.
constexpr std::chrono::milliseconds kEndIsTold{1000}, kBetweenLooks{1};

std::string_view precision_name(Precision precision) {
  switch (precision) {
    case Precision::kDeclared:
      return "declared";
    case Precision::kFloat64:
      return "float64";
    case Precision::kLower:
      return "lower";
    case Precision::kSecond:
      return "second";
  }
  return "declared";
}

// Rows and columns of each part; null: a whole output.
Json to_json(const Selections& selections) {
  Json list = Json::array();
  for (const std::optional<Selection>& one : selections) {
    if (!one) {
      list.push_back(nullptr);
      continue;
    }
    Json columns = Json::array();
    for (const Selection::Range& range : one->columns())
      columns.push_back(Json::array({range.first, range.count}));
    list.push_back({{"row_length", one->row_length()},
                    {"rows", one->rows()},
                    {"columns", std::move(columns)}});
  }
  return list;
}

}  // namespace

Result<std::unique_ptr<OracleClient>> OracleClient::attach(
    os::UniqueFd control, std::unique_ptr<sandbox::Monitor> monitor,
    std::chrono::milliseconds timeout, Turn& turn, CheckerClock& clock) {
  std::unique_ptr<OracleClient> client(new OracleClient);
  client->control_ = std::move(control);
  client->monitor_ = std::move(monitor);
  client->timeout_ = timeout;
  client->turn_ = &turn;
  client->clock_ = &clock;
  KW_TRY(client->text_fd_, os::make_memory_file("text", kTextBytes));
  KW_TRY(client->text_, os::Mapping::shared(client->text_fd_.get(), kTextBytes, true));
  return client;
}

// Within the timeout.
Result<Status> OracleClient::receive(OracleReply& reply, std::chrono::nanoseconds& took) {
  const auto start = clock_->now();
  CallDeadline deadline(start, timeout_, *monitor_);
  while (true) {
    Status received = os::receive_struct(control_.get(), &reply, sizeof reply, kSlice);
    took = clock_->now() - start - deadline.aside();
    bool waits = !received && received.error().code() == ErrorCode::kDeadlineExceeded;
    if (!waits || deadline.has_passed(clock_->now())) return received;
    KW_TRY(const std::chrono::nanoseconds aside, turn_->make_way(monitor_.get()));
    deadline.set_aside(aside);
  }
}

std::string OracleClient::words_for(const Error& failure) {
  if (failure.code() == ErrorCode::kDeadlineExceeded) {
    return fmt::format("the reference did not finish within {:.0f} s",
                       static_cast<double>(timeout_.count()) / 1000);
  }
  const auto until = clock_->now() + kEndIsTold;
  std::optional<sandbox::Exit> exit = monitor_->exited();
  while (!exit && clock_->now() < until) {
    clock_->sleep_for(kBetweenLooks);
    exit = monitor_->exited();
  }
  if (!exit) return "the reference's process ended";
  if (exit->out_of_memory)
    return "the reference ran out of memory (smaller sizes: --set NAME=VALUE)";
  if (exit->signalled)
    return fmt::format("the reference's process ended by {}", signal_name(exit->code));
  return fmt::format("the reference's process ended with exit code {}", exit->code);
}

Result<OracleAnswer> OracleClient::request(const Json& body, const std::vector<int>& fds) {
  KW_TRY_STATUS(turn_->make_way(nullptr));
  OracleAnswer answer;
  OracleReply reply{};
  Status received = os::send_message(control_.get(), body, fds);
  if (!received && received.error().code() != ErrorCode::kUnavailable)
    return tl::unexpected(received.error());
  if (received) {
    KW_TRY(received, receive(reply, answer.took));
  }
  if (!received) {
    answer.ok = false;
    answer.text = words_for(received.error());
    return answer;
  }
  const std::size_t bytes = std::min<std::size_t>(reply.text_bytes, kTextBytes);
  answer.ok = reply.status == 0;
  answer.text.assign(reinterpret_cast<const char*>(text_.data()), bytes);
  if (!answer.ok) answer.text = printable(answer.text, kMaxFailureText);
  return answer;
}

Result<OracleAnswer> OracleClient::setup(const OracleSetup& setup, const std::string& source) {
  is_on_gpu_ = setup.device.has_value();
  KW_TRY(os::UniqueFd source_fd, os::make_sealed_file("source", source));
  Json request_body = to_json(setup);
  request_body["op"] = "setup";
  request_body["fds"] = {"text", "source"};
  request_body["source"] = nullptr;
  return request(request_body, {text_fd_.get(), source_fd.get()});
}

Result<OracleAnswer> OracleClient::describe(std::uint64_t param_seed, std::uint64_t input_seed,
                                            ModuleDescription& description) {
  KW_TRY(OracleAnswer answer,
         request({{"op", "describe"}, {"param_seed", param_seed}, {"input_seed", input_seed}}));
  if (!answer.ok) return answer;
  auto read = module_description_from_json(answer.text);
  if (!read) return OracleAnswer{false, read.error().message()};
  description = std::move(*read);
  return answer;
}

std::size_t OracleClient::place_slots(const task::Signature& signature) {
  std::size_t at = 0;
  auto place = [&](std::vector<Slot>& slots, const task::Argument& argument, std::size_t bytes) {
    if (argument.role == task::Role::kScalar) return;
    slots.push_back({at, bytes});
    at += (bytes + kExchangePage - 1) / kExchangePage * kExchangePage;
  };
  for (auto* slots : {&inputs_, &statics_, &outputs_, &outputs64_}) slots->clear();
  for (const auto& argument : signature.inputs) place(inputs_, argument, argument.bytes());
  for (const auto& argument : signature.statics) place(statics_, argument, argument.bytes());
  for (const auto& argument : signature.outputs) place(outputs_, argument, argument.bytes());
  for (const auto& argument : signature.outputs)
    place(outputs64_, argument, static_cast<std::size_t>(argument.elements()) * 8);
  return std::max(at, kExchangePage);
}

Result<OracleAnswer> OracleClient::attach_exchange(const task::Signature& signature) {
  signature_ = signature;
  const std::size_t bytes = place_slots(signature);
  KW_TRY(exchange_fd_, os::make_memory_file("exchange", bytes));
  // On a GPU most inputs lie elsewhere, and of large outputs only parts come.
  if (is_on_gpu_) {
    KW_TRY(sparse_exchange_, os::SparseMapping::shared(exchange_fd_.get(), bytes));
  } else {
    KW_TRY(exchange_, os::Mapping::shared(exchange_fd_.get(), bytes, true));
  }
  // One entry an argument, as in the signature: 0 for scalars, which take no memory.
  auto offsets = [](const std::vector<task::Argument>& arguments, const std::vector<Slot>& slots) {
    Json list = Json::array();
    auto slot = slots.begin();
    for (const task::Argument& argument : arguments)
      list.push_back(argument.role == task::Role::kScalar ? 0 : (slot++)->offset);
    return list;
  };
  Json layout = {{"inputs", offsets(signature.inputs, inputs_)},
                 {"statics", offsets(signature.statics, statics_)},
                 {"outputs", offsets(signature.outputs, outputs_)},
                 {"outputs64", offsets(signature.outputs, outputs64_)}};
  return request({{"op", "attach"},
                  {"fds", {"exchange"}},
                  {"signature", task::to_json(signature)},
                  {"layout", layout}},
                 {exchange_fd_.get()});
}

Result<OracleAnswer> OracleClient::generate(std::uint64_t seed) {
  return request({{"op", "generate"}, {"seed", seed}});
}

Result<OracleAnswer> OracleClient::state(std::uint64_t seed, bool redraw) {
  return request({{"op", "state"}, {"seed", seed}, {"redraw", redraw}});
}

Result<Json> OracleClient::place_of(const TensorMemory& memory,
                                    const std::vector<task::Argument>& arguments) {
  const auto found = std::ranges::find(mapped_, &memory);
  const auto region = static_cast<std::size_t>(found - mapped_.begin());
  if (found == mapped_.end()) {
    KW_TRY(OracleAnswer answer, request({{"op", "map"},
                                         {"fds", {"memory"}},
                                         {"region", region},
                                         {"bytes", memory.layout().total_bytes()}},
                                        {memory.descriptor()}));
    if (!answer.ok)
      return fail(ErrorCode::kUnavailable, "the reference's process: {}", answer.text);
    mapped_.push_back(&memory);
  }
  Json offsets = Json::array();
  std::size_t tensor = 0;
  for (const task::Argument& argument : arguments)
    offsets.push_back(argument.role == task::Role::kScalar ? 0 : memory.layout().offset(tensor++));
  return Json{{"region", region}, {"offsets", std::move(offsets)}};
}

Status OracleClient::offer(const TensorMemory& inputs, const TensorMemory* statics) {
  if (!is_on_gpu_) return Oracle::offer(inputs, statics);
  KW_TRY_STATUS(inputs.settle());
  places_ = Json::object();
  KW_TRY(places_["inputs_at"], place_of(inputs, signature_.inputs));
  if (statics != nullptr) {
    KW_TRY(places_["statics_at"], place_of(*statics, signature_.statics));
  }
  return {};
}

// The words of the reference's process: what is no place of a tensor there is left out.
void OracleClient::note_written_inputs(const std::string& places) {
  const auto list = parse_json(places);
  if (places.empty() || !list || !list->is_array()) return;
  for (std::size_t i = 0; i < signature_.inputs.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    const bool is_new = std::ranges::find(written_inputs_, place) == written_inputs_.end();
    if (is_new && signature_.inputs[i].role != task::Role::kScalar &&
        std::ranges::find(*list, Json(place)) != list->end())
      written_inputs_.push_back(place);
  }
}

Result<OracleAnswer> OracleClient::run(const Run& run) {
  Json body = {{"op", "run"},
               {"precision", precision_name(run.precision)},
               {"perturb_seed", run.perturb_seed},
               {"perturb_scale", run.perturb_scale},
               {"function_scale", run.function_scale},
               {"mode", "train"}};
  body.update(places_);
  if (run.selected != nullptr && !run.selected->empty()) body["selected"] = to_json(*run.selected);
  KW_TRY(OracleAnswer answer, request(body));
  if (answer.ok) note_written_inputs(answer.text);
  if (answer.ok && run.precision == Precision::kDeclared && run.perturb_seed == 0)
    fastest_ = std::min(fastest_.value_or(answer.took), answer.took);
  return answer;
}

// The words of the reference's process: a number that no GPU has counts as none.
Result<std::optional<task::GpuRoofline>> OracleClient::roofline() {
  std::optional<task::GpuRoofline> out;
  if (!is_on_gpu_) return out;
  Json body = {{"op", "roofline"}, {"mode", "train"}};
  body.update(places_);
  KW_TRY(const OracleAnswer answer, request(body));
  if (!answer.ok) {
    log::warning("the GPU's rates are not measured: " + answer.text);
    return out;
  }
  const auto read = [&]() -> Result<task::GpuRoofline> {
    KW_TRY(const Json facts, parse_json(answer.text));
    KW_TRY(ObjectReader reader, ObjectReader::make(facts, "roofline"));
    task::GpuRoofline found;
    KW_TRY(found.flops, reader.integer("flops"));
    KW_TRY(found.bytes_per_second, reader.number("bytes_per_second"));
    KW_TRY(found.flops_per_second, reader.number("flops_per_second"));
    KW_TRY(found.precision, reader.string("precision"));
    KW_TRY_STATUS(task::check(task::GpuFacts{.roofline = found}, "facts"));
    return found;
  };
  if (auto found = read()) out = std::move(*found);
  return out;
}

}  // namespace kw::gym
