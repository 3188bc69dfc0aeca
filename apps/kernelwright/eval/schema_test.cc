// What the commands print with --json against the schemas in docs/schemas, by a validator of the
// keywords that these schemas use.
#include <algorithm>
#include <regex>
#include <set>

#include "kernelwright/testing/fakes.h"

namespace kw::front {
namespace {

class Schema {
 public:
  explicit Schema(const std::string& name) {
    auto text = os::read_file(std::filesystem::path(KW_SOURCE_DIR) / "docs" / "schemas" /
                              (name + ".schema.json"));
    EXPECT_TRUE(text) << name;
    auto json = parse_json(text ? *text : "");
    EXPECT_TRUE(json) << name;
    if (json) root_ = *json;
  }

  static Schema of(Json root) {
    Schema schema;
    schema.root_ = std::move(root);
    return schema;
  }

  // The first thing that is wrong, "" when the value fits.
  std::string check(const Json& value) const { return check(value, root_, "$"); }

 private:
  Schema() = default;

  static bool has_type(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "boolean") return value.is_boolean();
    return type == "null" && value.is_null();
  }

  // JSON Schema counts in code points.
  static std::size_t length(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
  }

  std::string check(const Json& value, const Json& schema, const std::string& where) const {
    for (const auto& [keyword, rule] : schema.items()) {
      std::string wrong = check_keyword(value, schema, keyword, rule, where);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  std::string check_keyword(const Json& value, const Json& schema, const std::string& keyword,
                            const Json& rule, const std::string& where) const {
    static const std::set<std::string> kNotes = {"$schema", "$defs", "$id", "title", "description"};
    auto fits = [&](bool condition) {
      return condition ? ""
                       : where + ": " + keyword + " " + rule.dump() + " against " + value.dump();
    };
    if (kNotes.contains(keyword)) return "";
    if (keyword == "$ref")
      return check(value, root_.at(Json::json_pointer(rule.get<std::string>().substr(1))), where);
    if (keyword == "const") return fits(value == rule);
    if (keyword == "enum") return fits(std::find(rule.begin(), rule.end(), value) != rule.end());
    if (keyword == "minimum")
      return fits(!value.is_number() || value.get<double>() >= rule.get<double>());
    if (keyword == "minLength")
      return fits(!value.is_string() ||
                  length(value.get<std::string>()) >= rule.get<std::size_t>());
    if (keyword == "maxLength")
      return fits(!value.is_string() ||
                  length(value.get<std::string>()) <= rule.get<std::size_t>());
    if (keyword == "pattern")
      return fits(!value.is_string() ||
                  std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>())));
    if (keyword == "anyOf")
      return fits(std::any_of(rule.begin(), rule.end(),
                              [&](const Json& one) { return check(value, one, where).empty(); }));
    if (keyword == "type") {
      return fits(rule.is_string() ? has_type(value, rule)
                                   : std::any_of(rule.begin(), rule.end(), [&](const Json& t) {
                                       return has_type(value, t);
                                     }));
    }
    if (keyword == "required") {
      return fits(!value.is_object() || std::all_of(rule.begin(), rule.end(), [&](const Json& key) {
        return value.contains(key.get<std::string>());
      }));
    }
    if (keyword == "properties" || keyword == "additionalProperties")
      return check_object(value, schema, keyword, rule, where);
    if (keyword == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
        if (auto wrong = check(value[i], rule, fmt::format("{}[{}]", where, i)); !wrong.empty())
          return wrong;
      }
      return "";
    }
    return where + ": this validator does not know " + keyword;
  }

  std::string check_object(const Json& value, const Json& schema, const std::string& keyword,
                           const Json& rule, const std::string& where) const {
    if (!value.is_object()) return "";
    for (const auto& [key, item] : value.items()) {
      bool named = schema.contains("properties") && schema["properties"].contains(key);
      if (keyword == "properties" && named) {
        if (auto wrong = check(item, rule.at(key), where + "." + key); !wrong.empty()) return wrong;
      }
      if (keyword != "additionalProperties" || named) continue;
      if (rule.is_boolean() && !rule.get<bool>()) return where + ": unknown key " + key;
      if (rule.is_object()) {
        if (auto wrong = check(item, rule, where + "." + key); !wrong.empty()) return wrong;
      }
    }
    return "";
  }

  Json root_;
};

class SchemaTest : public FrontTest {
 protected:
  // Every line that the command prints.
  void expect_lines(const std::string& schema, const std::vector<std::string>& arguments) {
    console.out_text.clear();
    kernelwright(arguments);
    expect_text(schema, console.out_text);
  }
  void expect_text(const std::string& name, const std::string& text) {
    Schema schema(name);
    std::istringstream stream(text);
    std::size_t count = 0;
    for (std::string line; std::getline(stream, line); ++count) {
      auto json = parse_json(line);
      ASSERT_TRUE(json) << line;
      EXPECT_EQ(schema.check(*json), "") << name;
    }
    EXPECT_GT(count, 0U) << name;
  }
};

TEST_F(SchemaTest, EverythingPrintedFitsItsSchema) {
  std::string candidate = write("c.cpp", "extern \"C\" void run() {}\n");
  expect_lines("error", {"evla", "--json"});
  expect_lines("version", {"--version", "--json"});
  expect_lines("doctor", {"doctor", "--json"});
  expect_lines("problem_summary", {"problems", "list", "--folder", path("problems"), "--json"});
  expect_lines("problem", {"problems", "show", path("problems/double"), "--json"});
  expect_lines("problem", {"problems", "show", path("problems/double"), "--signature", "--json"});
  expect_lines("cache_size", {"cache", "size", "--json"});
  expect_lines("cache_clean", {"cache", "clean", "--json"});
  expect_lines("cache_clean", {"cache", "clean", "--evidence", "--json"});
  expect_lines("verdict", {"eval", path("problems/double"), candidate, "--json"});
  gym.on_verdict = [](task::Verdict& verdict) {
    verdict.workloads.at(0).borderline = task::Borderline{1.03, {0.97, 1.02}};
  };
  expect_lines("verdict", {"eval", path("problems/double"), candidate, "--json"});
  EXPECT_NE(console.out_text.find("\"borderline\":{\"largest\":1.03"), std::string::npos);
}

TEST_F(SchemaTest, Solve) {
  write(
      "answers.jsonl",
      R"({"problem": "double", "attempt": 0, "answer": "```cpp\nextern \"C\" void run() {}\n```"})"
      "\n");
  const std::vector<std::string> words = {"solve",     path("problems"),      "--json",
                                          "--answers", path("answers.jsonl"), "--run"};
  // One problem with a kernel, one without; then one that cannot be judged.
  auto first = words;
  first.push_back(path("first"));
  expect_lines("solve", first);
  EXPECT_NE(console.out_text.find("\"best\":null"), std::string::npos) << console.out_text;
  EXPECT_NE(console.out_text.find("\"outcome\":\"faster\""), std::string::npos);
  gym.outcomes["attempt_0"] = task::Outcome::kQuarantined;
  auto second = words;
  second.push_back(path("second"));
  expect_lines("solve", second);
}

TEST_F(SchemaTest, ModulesToo) {
  std::string module = write("7_M.py",
                             "class Model:\n    pass\n\ndef get_inputs():\n    return []\n\ndef "
                             "get_init_inputs():\n    return []\n");
  expect_lines("problem", {"problems", "show", module, "--json"});
}

TEST_F(SchemaTest, VerdictLog) {
  write("solutions/double.cpp", "extern \"C\" void run() {}\n");
  ASSERT_EQ(kernelwright({"eval", "--dataset", path("problems"), "--solutions", path("solutions"),
                          "--out", path("o.jsonl")}),
            0)
      << console.err_text;
  expect_text("verdict_log", read("o.jsonl.verdicts.jsonl"));
  expect_text("trace", read("o.jsonl"));
}

TEST_F(SchemaTest, Report) {
  for (const char* name : {"good", "bad"}) {
    write(std::string(name) + "/double.cpp", "extern \"C\" void run() {}\n");
    gym.outcomes["double"] =
        name == std::string("good") ? task::Outcome::kPassed : task::Outcome::kWrongValue;
    ASSERT_EQ(kernelwright({"eval", "--dataset", path("problems"), "--solutions", path(name),
                            "--out", path(std::string(name) + ".jsonl")}),
              0)
        << console.err_text;
  }
  expect_lines("report", {"report", path("good.jsonl"), path("bad.jsonl"), "--dataset",
                          path("problems"), "--json"});
}

TEST_F(SchemaTest, ProblemCheck) {
  write("problems/broken/definition.json", "{");
  write("problems/7_M.py",
        "class Model:\n    pass\n\ndef get_inputs():\n    return []\n\ndef "
        "get_init_inputs():\n    return []\n");
  write("problems/halve/policy.toml", "schema = 1\n[workloads.w-halve]\ntargets = [\"cuda\"]\n");
  gym.quarantines["double"] = {
      gym::QuarantineCause::kTrivialCandidate, {"zeros"}, "trivial candidates pass: zeros"};
  expect_lines("problem_check",
               {"problems", "check", path("problems"), "--json", "--out", path("o.jsonl")});
  EXPECT_EQ(read("o.jsonl"), console.out_text);
  EXPECT_EQ(std::count(console.out_text.begin(), console.out_text.end(), '\n'), 4);
}

TEST_F(SchemaTest, TheValidatorFindsWhatIsWrong) {
  Schema schema("error");
  EXPECT_EQ(schema.check(*parse_json(R"({"error":{"code":"internal","message":"m"}})")), "");
  for (const char* bad :
       {R"({"error":{"code":"other","message":"m"}})", R"({"error":{"code":"internal"}})",
        R"({"error":{"code":"internal","message":1}})",
        R"({"error":{"code":"internal","message":"m"},"more":1})", R"([])"}) {
    EXPECT_NE(schema.check(*parse_json(bad)), "") << bad;
  }
  Schema lengths = Schema::of({{"minLength", 2}, {"maxLength", 3}});
  EXPECT_EQ(lengths.check("\u00e9\u00e9"), "");
  EXPECT_EQ(lengths.check("\u00e9\u00e9\u00e9"), "");
  EXPECT_NE(lengths.check("\u00e9"), "");
  EXPECT_NE(lengths.check("\u00e9\u00e9\u00e9\u00e9"), "");
}

}  // namespace
}  // namespace kw::front
