// Tests of what the checker believes of an oracle.
#include "gym/checker/module_description.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace kw::gym {
namespace {

Json described() {
  return Json::parse(R"({
    "inputs": [{"name": "x", "role": "input", "dtype": "float32", "shape": [2, 3]},
               {"name": "n", "role": "scalar", "dtype": "int64", "shape": [], "value": 4}],
    "outputs": [{"name": "out", "dtype": "float32", "shape": [2, 3]}],
    "statics": [{"name": "w", "state_key": "w", "is_buffer": false, "constant": true, "used": true,
                 "dtype": "float32", "shape": [3]},
                {"name": "b", "state_key": "b", "is_buffer": true, "constant": false, "used": false,
                 "dtype": "float32", "shape": [3]}],
    "views": ["x"], "constants": [["dim", 3]], "init_parameters": ["dim", "mode="], "init_args": "[3]"})");
}

std::string message(const Json& value) {
  auto read = module_description_from_json(value.dump());
  return read ? "no error" : read.error().message();
}

TEST(ModuleDescription, Reads) {
  auto read = module_description_from_json(described().dump());
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->signature.inputs.at(1).role, task::Role::kScalar);
  EXPECT_EQ(read->signature.inputs.at(1).value, Json(4));
  ASSERT_EQ(read->signature.statics.size(), 1U);  // an unused buffer is left out
  EXPECT_EQ(read->static_is_constant, std::vector<bool>{true});
  EXPECT_TRUE(read->signature.of_module());
  EXPECT_EQ(read->init_args, "[3]");
  EXPECT_EQ(read->views, std::vector<std::string>{"x"});
  EXPECT_EQ(read->signature.init_parameters.value(), (std::vector<std::string>{"dim", "mode="}));
}

TEST(ModuleDescription, WrongTypesAreErrors) {
  struct Defect {
    const char* at;
    Json value;
    const char* message;
  };
  const Json huge = Json::array({std::int64_t{1} << 40, std::int64_t{1} << 40});
  const Defect defects[] = {
      {"/inputs/0/role", 1, "description.inputs.role: expected a string, found 1"},
      {"/statics/0/constant", "yes", "description.statics.constant: expected true or false"},
      {"/statics/0/used", 0, "description.statics.used: expected true or false"},
      {"/statics", 3, "description.statics: expected a list"},
      {"/inputs/0/shape/0", UINT64_MAX, "description.inputs.shape: not a shape"},
      {"/inputs/0/shape", huge,
       "description.inputs[0]: shape [1099511627776, 1099511627776] needs"},
      {"/outputs/0/shape", huge, "description.outputs[0]: shape"},
      {"/inputs/1/value", "4", "description.inputs[1].value: expected a value of type int64"},
      {"/views/0", "gone", "description.views: gone is no input"},
      {"/views", "x", "description.views: expected a list"},
      {"/outputs", Json::array(), "2 inputs and 0 outputs"},
      {"/init_parameters/1", "x=print(1)", "description.init_parameters: expected a constructor's"},
  };
  for (const Defect& defect : defects) {
    Json value = described();
    value[Json::json_pointer(defect.at)] = defect.value;
    EXPECT_EQ(message(value).substr(0, std::string(defect.message).size()), defect.message);
  }
}

}  // namespace
}  // namespace kw::gym
