#include "kernelwright/solve/run_settings.h"

#include "kernelwright/cli/settings.h"
#include "kernelwright/model/server_settings.h"

namespace kw::front {

Json to_json(const SolveCommand& c) {
  Json set = Json::array();
  for (const std::string& word : c.set) set.push_back(word);
  Json eval = gym::to_json(c.eval);
  return {{"problem", c.problem},
          {"set", set},
          {"proposer", c.proposer},
          {"model", c.model},
          {"answers", c.answers},
          {"verdicts", c.verdicts},
          {"temperature", c.temperature},
          {"top_p", c.top_p},
          {"max_tokens", c.max_tokens},
          {"tokens_per_second", c.tokens_per_second},
          {"device", c.engine.device},
          {"dtype", c.engine.dtype},
          {"products", c.engine.products},
          {"model_threads", c.engine.threads},
          {"slots", c.engine.slots},
          {"context", c.engine.context},
          {"server", to_json(c.server)},
          {"isolation_at_least", level_name(c.isolation_at_least)},
          {"search", search::to_json(c.search)},
          {"eval", eval}};
}

Result<SolveCommand> solve_command_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader r, ObjectReader::make(value, where));
  SolveCommand out;
  KW_TRY(out.problem, r.string("problem"));
  KW_TRY(out.set, r.strings_or_empty("set"));
  KW_TRY(out.proposer, r.string("proposer"));
  KW_TRY(out.model, r.string("model"));
  KW_TRY(out.answers, r.string("answers"));
  KW_TRY(out.verdicts, r.string("verdicts"));
  KW_TRY(out.temperature, r.number("temperature"));
  KW_TRY(out.top_p, r.number("top_p"));
  KW_TRY(out.tokens_per_second, r.number_or("tokens_per_second", 0));  // of before: without it
  const auto whole = [&](std::string_view key, int& field) -> Status {
    KW_TRY(std::int64_t number, r.integer(key));
    KW_TRY_STATUS(check_range(r.path(key), static_cast<double>(number), 0, 1 << 30));
    field = static_cast<int>(number);
    return {};
  };
  KW_TRY_STATUS(whole("max_tokens", out.max_tokens));
  KW_TRY(out.engine.device, r.string("device"));
  KW_TRY(out.engine.dtype, r.string("dtype"));
  KW_TRY(out.engine.products, r.string_or("products", out.engine.products));
  KW_TRY_STATUS(whole("model_threads", out.engine.threads));
  KW_TRY_STATUS(whole("slots", out.engine.slots));
  KW_TRY_STATUS(whole("context", out.engine.context));
  KW_TRY(const Json* server, r.get("server"));
  KW_TRY(out.server, server_options_from_json(*server, r.path("server")));
  KW_TRY(std::string level, r.string("isolation_at_least"));
  KW_TRY(out.isolation_at_least, parse_level(level));
  KW_TRY(const Json* search, r.get("search"));
  KW_TRY(out.search, search::settings_from_json(*search, r.path("search")));
  KW_TRY(const Json* eval, r.get("eval"));
  KW_TRY(out.eval, gym::eval_options_from_json(*eval, r.path("eval")));
  KW_TRY_STATUS(r.no_other_keys());
  return out;
}

}  // namespace kw::front
