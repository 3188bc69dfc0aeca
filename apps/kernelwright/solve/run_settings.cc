#include "kernelwright/solve/run_settings.h"

#include <string_view>

#include "base/settings_json.h"
#include "kernelwright/cli/settings.h"

namespace kw::front {

namespace {

// An engine's settings stand beside the command's own, whose threads are the gym's.
const char* key_of(const char* engine_key) {
  return engine_key == std::string_view("threads") ? "model_threads" : engine_key;
}

}  // namespace

Json to_json(const SolveCommand& c) {
  Json out = settings_to_json(c);
  describe(c.engine, [&](const char* key, const auto& value, const OptionFacts&) {
    out[key_of(key)] = value;
  });
  out["server"] = settings_to_json(c.server);
  out["isolation_at_least"] = sandbox::to_string(c.isolation_at_least);
  out["search"] = search::to_json(c.search);
  out["eval"] = gym::to_json(c.eval);
  return out;
}

Result<SolveCommand> solve_command_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader r, ObjectReader::make(value, where));
  SolveCommand out;
  Status status;
  const auto read = [&](const char* key, auto& member, const OptionFacts&) {
    if (status) status = read_setting(r, key, member);
  };
  describe(out, read);
  KW_TRY(out.engine.matmuls, r.string_or("products", out.engine.matmuls));  // its name before
  describe(out.engine, [&](const char* key, auto& member, const OptionFacts& facts) {
    read(key_of(key), member, facts);
  });
  KW_TRY_STATUS(std::move(status));
  KW_TRY(const Json* server, r.get("server"));
  KW_TRY(out.server, settings_from_json<ServerOptions>(*server, r.path("server")));
  KW_TRY_STATUS(check_ranges(out.server, OptionNames::kKeys, r.path("server")));
  KW_TRY(std::string level, r.string("isolation_at_least"));
  KW_TRY(out.isolation_at_least, parse_level(level));
  KW_TRY(const Json* search, r.get("search"));
  KW_TRY(out.search, search::settings_from_json(*search, r.path("search")));
  KW_TRY(const Json* eval, r.get("eval"));
  KW_TRY(out.eval, gym::eval_options_from_json(*eval, r.path("eval")));
  out.baseline.reset();
  KW_TRY_STATUS(r.no_other_keys());
  return out;
}

}  // namespace kw::front
