// The JSON Schemas in docs/schemas against the golden files, with a validator of the keywords that
// they use.
#include <algorithm>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

#include "base/text.h"
#include "task/testing/golden.h"
#include "text/text_file.h"

namespace kw::task {
namespace {

// Says what does not fit, or "". An unknown keyword is a failure of the test: the validator would
// pass over it.
class Validator {
 public:
  explicit Validator(Json schema) : root_(std::move(schema)) {}
  std::string problem(const Json& value) const { return check(root_, value, ""); }

 private:
  static bool is_type(const Json& value, const std::string& type) {
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "boolean") return value.is_boolean();
    if (type == "array") return value.is_array();
    if (type == "object") return value.is_object();
    if (type == "string") return value.is_string();
    return type == "null" && value.is_null();
  }

  std::string check(const Json& schema, const Json& value, const std::string& at) const {
    for (const auto& [keyword, rule] : schema.items()) {
      std::string found = keyword_problem(schema, keyword, rule, value, at);
      if (!found.empty()) return found;
    }
    return "";
  }

  std::string keyword_problem(const Json& schema, const std::string& keyword, const Json& rule,
                              const Json& value, const std::string& at) const {
    auto fail = [&](bool fits) { return fits ? "" : at + ": " + keyword; };
    if (keyword == "$schema" || keyword == "title" || keyword == "description" ||
        keyword == "$defs")
      return "";
    if (keyword == "$ref")
      return check(root_.at(Json::json_pointer(rule.get<std::string>().substr(1))), value, at);
    if (keyword == "const") return fail(value == rule);
    if (keyword == "enum") return fail(std::find(rule.begin(), rule.end(), value) != rule.end());
    if (keyword == "type") {
      const Json types = rule.is_array() ? rule : Json::array({rule});
      return fail(std::any_of(types.begin(), types.end(),
                              [&](const Json& t) { return is_type(value, t.get<std::string>()); }));
    }
    if (keyword == "anyOf") {
      return fail(std::any_of(rule.begin(), rule.end(), [&](const Json& option) {
        return check(option, value, at).empty();
      }));
    }
    if (value.is_object()) return object_problem(schema, keyword, rule, value, at);
    if (keyword == "items") {
      std::string found;
      for (std::size_t i = 0; value.is_array() && i < value.size() && found.empty(); ++i) {
        found = check(rule, value[i], fmt::format("{}[{}]", at, i));
      }
      return found;
    }
    return fail(limit_holds(keyword, rule, value));
  }

  std::string object_problem(const Json& schema, const std::string& keyword, const Json& rule,
                             const Json& value, const std::string& at) const {
    std::string found;
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [key, item] : value.items()) {
      if (!found.empty()) break;
      std::string below = at + "." + key;
      if (keyword == "properties" && rule.contains(key)) found = check(rule[key], item, below);
      if (keyword == "propertyNames") found = check(rule, Json(key), below);
      if (keyword == "additionalProperties" && !properties.contains(key)) {
        found = rule.is_boolean() ? below + ": not allowed" : check(rule, item, below);
      }
    }
    if (keyword == "required") {
      for (const Json& key : rule) {
        if (!value.contains(key.get<std::string>()))
          found = at + ": required " + key.get<std::string>();
      }
    }
    if (keyword == "minProperties" && value.size() < rule.get<std::size_t>())
      found = at + ": minProperties";
    return found;
  }

  static bool limit_holds(const std::string& keyword, const Json& rule, const Json& value) {
    if (keyword == "minimum")
      return !value.is_number() || value.get<double>() >= rule.get<double>();
    if (keyword == "maximum")
      return !value.is_number() || value.get<double>() <= rule.get<double>();
    if (keyword == "minItems") return !value.is_array() || value.size() >= rule.get<std::size_t>();
    if (keyword == "maxItems") return !value.is_array() || value.size() <= rule.get<std::size_t>();
    std::string text = value.is_string() ? value.get<std::string>() : "";
    if (keyword == "minLength") return !value.is_string() || text.size() >= rule.get<std::size_t>();
    if (keyword == "maxLength") return text.size() <= rule.get<std::size_t>();
    if (keyword == "pattern")
      return !value.is_string() ||
             std::regex_search(text, std::regex(rule.get<std::string>(), std::regex::ECMAScript));
    for (const char* of_objects :
         {"properties", "required", "additionalProperties", "propertyNames", "minProperties"}) {
      if (keyword == of_objects) return true;
    }
    ADD_FAILURE() << "the validator does not know " << keyword;
    return false;
  }

  Json root_;
};

Validator schema(const std::string& name) {
  std::filesystem::path file =
      std::filesystem::path(KW_SOURCE_DIR) / "docs/schemas" / (name + ".schema.json");
  auto text = text::read_json(file, text::kMaxSourceFile);
  EXPECT_TRUE(text) << message_of(text);
  return Validator(text.value_or(Json()));
}

std::vector<Json> lines(const std::string& golden_name) {
  std::vector<Json> out;
  std::istringstream text(golden(golden_name));
  for (std::string line; std::getline(text, line);) out.push_back(json_of(line));
  return out;
}

TEST(Schema, GoldenFilesFit) {
  EXPECT_EQ(schema("definition").problem(json_of(golden("definition.json"))), "");
  for (const char* name : {"solution.json", "solution_ptx.json", "solution_triton.json"}) {
    EXPECT_EQ(schema("solution").problem(json_of(golden(name))), "") << name;
  }
  for (const char* name : {"verdict.json", "verdict_violation.json"})
    EXPECT_EQ(schema("verdict").problem(json_of(golden(name))), "") << name;
  for (const Json& line : lines("workloads.jsonl")) {
    EXPECT_EQ(schema("workload").problem(line["workload"]), "");
    EXPECT_EQ(schema("trace").problem(line), "");
  }
  for (const Json& line : lines("traces.jsonl")) EXPECT_EQ(schema("trace").problem(line), "");
}

TEST(Schema, DefectsAreFound) {
  struct Defect {
    const char* schema;
    Json good;
    const char* pointer;
    Json value;
  };
  const Json definition = json_of(golden("definition.json"));
  const Json solution = json_of(golden("solution_ptx.json"));
  const Json verdict = json_of(golden("verdict.json"));
  const Json workload = lines("workloads.jsonl")[1]["workload"];
  const Json trace = lines("traces.jsonl")[1];
  const std::vector<Defect> kCases = {
      {"definition", definition, "/name", nullptr},
      {"definition", definition, "/name", "a/b"},
      {"definition", definition, "/axes/columns/value", 2.5},
      {"definition", definition, "/axes/columns/value", nullptr},
      {"definition", definition, "/axes/rows/value", 3},
      {"definition", definition, "/axes/1x", {{"type", "var"}}},
      {"definition", definition, "/inputs/x/dtype", "float"},
      {"definition", definition, "/outputs", Json::object()},
      {"definition", definition, "/extra", 1},
      {"workload", workload, "/axes/rows", -1},
      {"workload", workload, "/inputs/x/tensor_key", nullptr},
      {"workload", workload, "/inputs/x/path", "/etc"},
      {"workload", workload, "/inputs/scale/value", "1"},
      {"solution", solution, "/spec/target_hardware", Json::array()},
      {"solution", solution, "/spec/entry_point", "a:b"},
      {"solution", solution, "/spec/binding", "x"},
      {"solution", solution, "/kernelwright/launches/0/grid", Json::array()},
      {"solution", solution, "/kernelwright/launches/0/arguments/2", {{"int8", "n"}}},
      {"trace", trace, "/evaluation/status", "TIMEOUT"},
      {"trace", trace, "/evaluation/status", "OK"},
      {"trace", trace, "/evaluation/performance", nullptr},
      {"trace", trace, "/evaluation/correctness/max_relative_error", -1},
      {"verdict", verdict, "/schema", 2},
      {"verdict", verdict, "/outcome", "ok"},
      {"verdict", verdict, "/problem/hash", "abc"},
      {"verdict", verdict, "/errors/0/max_absolute", "huge"},
      {"verdict", verdict, "/workloads/0/uuid", nullptr},
      {"verdict", verdict, "/cost/total_ms", "1"},
  };
  for (const Defect& c : kCases) {
    EXPECT_NE(schema(c.schema).problem(with(c.good, c.pointer, c.value)), "")
        << c.schema << c.pointer << " = " << c.value;
  }
}

}  // namespace
}  // namespace kw::task
