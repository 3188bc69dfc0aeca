#include "gym/capabilities.h"

namespace kw::gym {

Json to_json(const Capabilities& c) {
  Json out = {{"available", c.available}, {"why_not", c.why_not}, {"isolation", c.isolation},
              {"freeze", c.freeze},       {"clock", c.clock},     {"languages", c.languages}};
  if (!c.level.empty()) out["level"] = c.level;
  if (c.made_with != task::MadeWith()) out["made_with"] = task::to_json(c.made_with);
  return out;
}

Result<Capabilities> capabilities_from_json(const Json& value, const std::string& where) {
  Capabilities out;
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(out.available, reader.boolean("available"));
  KW_TRY(out.why_not, reader.string("why_not"));
  KW_TRY(out.isolation, reader.boolean("isolation"));
  KW_TRY(out.freeze, reader.boolean("freeze"));
  KW_TRY(out.clock, reader.boolean("clock"));
  KW_TRY(out.languages, reader.strings_or_empty("languages"));
  KW_TRY(out.level, reader.string_or("level", ""));
  if (const Json* made_with = reader.find("made_with")) {
    KW_TRY(out.made_with, task::made_with_from_json(*made_with, reader.path("made_with")));
  }
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

}  // namespace kw::gym
