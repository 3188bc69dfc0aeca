// Requests to the oracle and its answers; the process at the other end of the socket is the test.
#include "gym/checker/oracle_client.h"

#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "gym/checker/testing/fake_clock.h"
#include "gym/checker/testing/fake_monitor.h"
#include "gym/checker/testing/fake_workload.h"
#include "gym/checker/testing/vector_memory.h"
#include "os/message.h"

namespace kw::gym {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class OracleClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto sockets = os::make_message_socket_pair().value();
    process_end_ = std::move(sockets.second);
    client_ = OracleClient::attach(std::move(sockets.first),
                                   std::make_unique<testing::FakeMonitor>(process_), seconds(60),
                                   turn_, clock_)
                  .value();
  }
  // Sets the answer of the process to its next request; text is written to its memory at once.
  void answer(std::uint32_t status, const std::string& text = "") {
    if (!text.empty()) std::memcpy(text_.data(), text.data(), text.size());
    OracleReply reply{};
    reply.status = status;
    reply.text_bytes = text.size();
    ASSERT_TRUE(os::send_struct(process_end_.get(), &reply, sizeof reply));
  }
  os::Message request() { return os::receive_message(process_end_.get(), seconds(5)).value(); }
  // The setup, after which texts can be answered.
  void set_up() {
    answer(0);
    ASSERT_TRUE(
        client_->setup({ProblemKind::kDefinition, "run", 1}, "def run(x): return x").value().ok);
    os::Message message = request();
    EXPECT_EQ(message.body["op"], "setup");
    EXPECT_EQ(message.body["fds"], Json({"text", "source"}));
    text_ = os::Mapping::shared(message.fds.at(0).get(), 1U << 20U, true).value();
    EXPECT_EQ(os::read_to_end(message.fds.at(1).get(), 1000).value(), "def run(x): return x");
  }

  os::TempDir folder_ = os::TempDir::make("kw-oracle-").value();
  Turn turn_{testing::lone_lock(folder_)};
  testing::FakeClock clock_;
  testing::FakeMonitor::Process process_;
  os::UniqueFd process_end_;
  std::unique_ptr<OracleClient> client_;
  os::Mapping text_;
};

TEST_F(OracleClientTest, AReferenceThatFailsIsQuotedWithoutControlCharacters) {
  set_up();
  answer(1, "ValueError: \x1b[31mno");
  const OracleAnswer failed = client_->run({}).value();
  EXPECT_FALSE(failed.ok);
  EXPECT_EQ(failed.text.find('\x1b'), std::string::npos);
  EXPECT_NE(failed.text.find("ValueError"), std::string::npos);
}

TEST_F(OracleClientTest, InputsOnAGpuAreThereBeforeTheReferenceReadsThem) {
  answer(0);
  OracleSetup on_gpu{ProblemKind::kDefinition, "run", 1};
  on_gpu.device = 0;
  ASSERT_TRUE(client_->setup(on_gpu, "def run(x): return x").value().ok);
  const testing::SettledTensors inputs(
      Layout::for_reading(tensors_of(testing::workload_signature().inputs)));
  (void)client_->offer(inputs, nullptr);  // no descriptor can be sent
  EXPECT_EQ(inputs.settled, 1);
}

TEST_F(OracleClientTest, TextsAreBoundedByTheirMemory) {
  set_up();
  OracleReply reply{};
  reply.status = 1;
  reply.text_bytes = ~std::uint64_t{0};
  ASSERT_TRUE(os::send_struct(process_end_.get(), &reply, sizeof reply));
  EXPECT_LE(client_->run({}).value().text.size(), 10000U);
}

TEST_F(OracleClientTest, ARunSaysHow) {
  set_up();
  answer(0);
  ASSERT_TRUE(client_
                  ->run({.precision = Precision::kSecond,
                         .perturb_seed = 5,
                         .perturb_scale = 0.5,
                         .function_scale = 0.25})
                  .value()
                  .ok);
  const Json body = request().body;
  EXPECT_EQ(body["precision"], "second");
  EXPECT_EQ(body["perturb_seed"], 5);
  EXPECT_EQ(body["perturb_scale"], 0.5);
  EXPECT_EQ(body["function_scale"], 0.25);
}

TEST_F(OracleClientTest, OnlyPlainRunsAtTheDeclaredPrecisionAreTheReferencesTime) {
  set_up();
  clock_.step = milliseconds(1);
  for (const Oracle::Run& run :
       {Oracle::Run{.precision = Precision::kFloat64}, Oracle::Run{.perturb_seed = 3}}) {
    answer(0);
    ASSERT_TRUE(client_->run(run).value().ok);
    EXPECT_FALSE(client_->fastest_declared_run());
  }
  answer(0);
  ASSERT_TRUE(client_->run({}).value().ok);
  EXPECT_EQ(client_->fastest_declared_run(), milliseconds(1));
  clock_.step = milliseconds(2);
  answer(0);
  ASSERT_TRUE(client_->run({}).value().ok);
  EXPECT_EQ(client_->fastest_declared_run(), milliseconds(1));
}

TEST_F(OracleClientTest, WhatIsToldAMomentLaterIsWaitedFor) {
  set_up();
  process_end_ = {};
  clock_.on_sleep = [&] { process_.exit = sandbox::Exit{.code = 9}; };
  EXPECT_EQ(client_->run({}).value().text, "the reference's process ended with exit code 9");
}

TEST_F(OracleClientTest, AProcessThatEndedSaysWhy) {
  set_up();
  process_end_ = {};
  EXPECT_EQ(client_->run({}).value().text, "the reference's process ended");
  sandbox::Exit exit;
  exit.code = 3;
  process_.exit = exit;
  EXPECT_EQ(client_->run({}).value().text, "the reference's process ended with exit code 3");
  exit = {.signalled = true, .code = SIGSEGV};
  process_.exit = exit;
  EXPECT_EQ(client_->run({}).value().text, "the reference's process ended by a segmentation fault");
  exit.out_of_memory = true;
  process_.exit = exit;
  EXPECT_EQ(client_->run({}).value().text,
            "the reference ran out of memory (smaller sizes: --set NAME=VALUE)");
}

TEST_F(OracleClientTest, AnAnswerHasItsTime) {
  set_up();
  clock_.step = seconds(40);  // every look finds so much later
  const OracleAnswer late = client_->run({}).value();
  EXPECT_FALSE(late.ok);
  EXPECT_EQ(late.text, "the reference did not finish within 60 s");
}

TEST_F(OracleClientTest, TheExchangeHasAPageForEveryTensorAndNoneForScalars) {
  set_up();
  task::Signature signature = testing::workload_signature();
  task::Argument scalar = testing::float_tensor("n", task::Role::kScalar);
  scalar.shape = {};
  scalar.value = 4;
  signature.inputs.insert(signature.inputs.begin(), scalar);
  answer(0);
  ASSERT_TRUE(client_->attach_exchange(signature).value().ok);
  os::Message message = request();
  const Json layout = message.body["layout"];
  EXPECT_EQ(layout["inputs"], Json({0, 0}));  // the scalar's entry is no place
  EXPECT_EQ(layout["outputs"], Json({4096}));
  EXPECT_EQ(layout["outputs64"], Json({8192}));
  auto exchange = os::Mapping::shared(message.fds.at(0).get(), std::size_t{3} * 4096, true).value();
  client_->input(0)[1] = std::byte{9};
  EXPECT_EQ(exchange.data()[1], std::byte{9});
  exchange.data()[4096] = std::byte{8};
  EXPECT_EQ(client_->output(0)[0], std::byte{8});
  EXPECT_EQ(client_->output64(0).size(), 8U * testing::kWorkloadElements);
}

// More than 70,000 rows of 56 elements are named of a GPU's large output.
TEST_F(OracleClientTest, ManyShortRowsOfALargeOutputAreNamed) {
  set_up();
  Rng rng(1);
  const Selections selected = {
      Selection::random(Slices{.rows = 458752, .columns = 56}, Oracle::kMaxSelected, rng)};
  answer(0);
  Oracle::Run run;
  run.selected = &selected;
  ASSERT_TRUE(client_->run(run).value().ok);
  const os::Message message = request();
  EXPECT_EQ(message.body["selected"][0]["rows"].get<std::vector<std::size_t>>(),
            selected[0]->rows());
  EXPECT_GT(selected[0]->rows().size(), 70'000U);
}

TEST_F(OracleClientTest, AMessageThatCannotBeSentIsNoEndOfTheProcess) {
  set_up();
  const std::string longer(os::kMaxMessageBytes, 'x');
  const auto set_up_again = client_->setup({ProblemKind::kDefinition, longer, 1}, "");
  ASSERT_FALSE(set_up_again);
  EXPECT_EQ(set_up_again.error().code(), ErrorCode::kResourceExhausted);
}

TEST_F(OracleClientTest, ADescriptionThatCannotBeReadIsTheReferencesFault) {
  set_up();
  answer(0, "{\"inputs\": 3}");
  ModuleDescription description;
  const OracleAnswer described = client_->describe(1, 2, description).value();
  EXPECT_FALSE(described.ok);
  EXPECT_NE(described.text.find("description"), std::string::npos);
}

}  // namespace
}  // namespace kw::gym
