#include "openai_server/model_api.h"

#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "net/replies.h"

namespace kw::openai_server {
namespace {

constexpr std::chrono::seconds kRetryAfter{2};
// Long prompts with every character escaped; a conversation is text of a few hundred KiB.
constexpr std::size_t kMaxBodyBytes = std::size_t{8} << 20U;

Serving make_serving(const ModelApiOptions& options, std::int64_t slots,
                     net::MetricRegistry& metrics) {
  auto finished = [&](const char* how) -> net::Counter& {
    return metrics.counter("kw_lm_answers_total", "Answers that have ended, by how.",
                           {{"finish", how}});
  };
  return {Admission(slots + options.most_waiting),
          options.now,
          metrics.histogram("kw_lm_first_text_seconds",
                            "From a request to the first text of its answer."),
          metrics.counter("kw_lm_slow_readers_total", "Streams that were cut: not read in time."),
          finished("stop"),
          finished("length"),
          finished("cancelled"),
          metrics.counter("kw_lm_failed_requests_total", "Requests that were answered by errors.")};
}

net::Response model_not_found(const std::string& name, const ServedModel& model) {
  return error_answer({404,
                       fmt::format("model: \"{}\" is not served here, but \"{}\"",
                                   printable(name, 200), model.name),
                       "model", "model_not_found"});
}

}  // namespace

ModelApi::ModelApi(ModelApiOptions options, std::unique_ptr<link::ModelClient> client,
                   net::MetricRegistry& metrics)
    : options_(std::move(options)),
      metrics_(metrics),
      serving_(make_serving(options_, client->model().slots, metrics)),
      refused_(metrics.counter("kw_lm_refused_requests_total",
                               "Requests that were answered 429: too many wait.")),
      client_(std::move(client)) {}

net::Router ModelApi::routes() {
  net::Router router;
  router.add("GET", "/health", [this](const net::Request&, net::Responder responder) {
    if (client_->alive()) return responder.send(net::json_response({{"status", "ok"}}));
    responder.send(error_answer({503, "the engine's program has ended", "", "unavailable"}));
  });
  router.add("GET", "/metrics", [this](const net::Request&, net::Responder responder) {
    show_metrics(std::move(responder));
  });
  router.add("GET", "/v1/models", [this](const net::Request&, net::Responder responder) {
    Json list = Json::array({model_json(options_.model, options_.created)});
    responder.send(net::json_response({{"object", "list"}, {"data", std::move(list)}}));
  });
  // A name may have slashes.
  router.add("GET", "/v1/models/{name...}",
             [this](const net::Request& request, net::Responder responder) {
               const std::string& name = request.parameter("name");
               if (name != options_.model.name)
                 return responder.send(model_not_found(name, options_.model));
               responder.send(net::json_response(model_json(options_.model, options_.created)));
             });
  const net::RouteOptions limits{.max_body_bytes = kMaxBodyBytes};
  router.add(
      "POST", "/v1/completions",
      [this](const net::Request& request, net::Responder responder) {
        complete(request, std::move(responder), false);
      },
      limits);
  router.add(
      "POST", "/v1/chat/completions",
      [this](const net::Request& request, net::Responder responder) {
        complete(request, std::move(responder), true);
      },
      limits);
  return router;
}

void ModelApi::complete(const net::Request& request, net::Responder responder, bool chat) {
  auto body = net::json_body(request);
  if (!body) return responder.send(std::move(body.error()));
  auto read = chat ? read_chat_call : read_completion_call;
  auto call = read(*body, options_.model, entropy_seed());
  if (!call) return responder.send(error_answer(call.error()));
  const std::int64_t sequences = call->sequences();
  if (sequences > serving_.admission.most())
    return responder.send(error_answer(
        {400,
         fmt::format(
             "n: {} answers in all; this server has at most {} at once, running and waiting",
             sequences, serving_.admission.most()),
         "n"}));
  if (!serving_.admission.take(sequences)) {
    refused_.add();
    return responder.send(
        net::retry_later(kRetryAfter, "too many requests wait for this model: try again later"));
  }
  AnswerHead head;
  head.chat = chat;
  head.id = fmt::format("{}-{:016x}{:08x}", chat ? "chatcmpl" : "cmpl", entropy_seed(),
                        static_cast<std::uint32_t>(entropy_seed()));
  head.created =
      std::chrono::duration_cast<std::chrono::seconds>(options_.wall_time().time_since_epoch())
          .count();
  head.model = options_.model.name;
  CompletionAnswer::start(std::move(*call), std::move(head), std::move(responder), serving_,
                          *client_);
}

void ModelApi::show_metrics(net::Responder responder) {
  // A std::function must be copyable.
  auto shared = std::make_shared<net::Responder>(std::move(responder));
  client_->statistics([this, shared](const Result<link::Statistics>& statistics) {
    if (statistics) count(*statistics);
    net::Response response;
    response.headers.add("Content-Type", net::kMetricsContentType);
    response.body = metrics_.text();
    shared->send(std::move(response));
  });
}

void ModelApi::count(const link::Statistics& now) {
  auto gauge = [&](const char* name, const char* help, std::int64_t value) {
    metrics_.gauge(name, help).set(value);
  };
  auto counter = [&](const char* name, const char* help, std::int64_t value, std::int64_t before) {
    metrics_.counter(name, help).add(static_cast<std::uint64_t>(value - before));
  };
  gauge("kw_lm_slots", "Sequences that can be generated at once.", now.slots);
  gauge("kw_lm_sequences_running", "Sequences in slots.", now.running);
  gauge("kw_lm_sequences_waiting", "Sequences that wait for a slot.", now.waiting);
  counter("kw_lm_steps_total", "Steps of the engine.", now.steps, counted_.steps);
  counter("kw_lm_prompt_tokens_total", "Prompt tokens computed.", now.prompt_tokens,
          counted_.prompt_tokens);
  counter("kw_lm_sampled_tokens_total", "Tokens drawn.", now.sampled_tokens,
          counted_.sampled_tokens);
  counter("kw_lm_copied_tokens_total", "Prompt tokens taken over from an equal prompt.",
          now.copied_tokens, counted_.copied_tokens);
  counted_ = now;
}

}  // namespace kw::openai_server
