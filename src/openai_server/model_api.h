// The routes of kernelwright serve-model: OpenAI's completion API over a model client.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "link/model_client.h"
#include "net/metrics.h"
#include "net/router.h"
#include "openai_server/completion_answer.h"
#include "openai_server/completion_call.h"

namespace kw::openai_server {

struct ModelApiOptions {
  ServedModel model;
  std::int64_t created = 0;       // seconds since 1970, of the model's entry
  std::int64_t most_waiting = 0;  // sequences beyond the engine's slots: then 429
  std::function<std::chrono::steady_clock::time_point()> now;
  std::function<std::chrono::system_clock::time_point()> wall_time;
};

// Handlers run on the server's threads; it must be stopped before this is destroyed.
class ModelApi {
 public:
  ModelApi(ModelApiOptions options, std::unique_ptr<link::ModelClient> client,
           net::MetricRegistry& metrics);

  net::Router routes();

 private:
  void complete(const net::Request& request, net::Responder responder, bool chat);
  void show_metrics(net::Responder responder);
  void count(const link::Statistics& statistics);

  const ModelApiOptions options_;
  net::MetricRegistry& metrics_;
  Serving serving_;
  net::Counter& refused_;
  link::Statistics counted_;  // what the counters have had; of the client's thread
  // Last: its end fails the answers under way, which use the rest.
  std::unique_ptr<link::ModelClient> client_;
};

}  // namespace kw::openai_server
