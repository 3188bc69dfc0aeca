// docs/formats/graph.md, both ways. What is read may be hostile: sizes are bounded here, sense is
// check()'s.
#include <array>
#include <cmath>
#include <limits>

#include "base/json.h"
#include "base/text.h"
#include "writer/graph/graph.h"

namespace kw::writer {
namespace {

constexpr std::int64_t kSchema = 1;
constexpr std::size_t kMaxText = std::size_t{16} << 20U;
constexpr std::size_t kMaxNodes = 10000, kMaxInputs = 4096, kMaxSizes = 4096;
constexpr std::size_t kMaxArguments = 64, kMaxOutputs = 256, kMaxRank = 64, kMaxName = 256;
constexpr std::size_t kMaxList = 65536;  // of an attribute

constexpr std::array<std::pair<InputRole, std::string_view>, 3> kRoles = {
    {{InputRole::kInput, "input"}, {InputRole::kStatic, "static"}, {InputRole::kScalar, "scalar"}}};
constexpr std::array<std::pair<Relation, std::string_view>, 4> kRelations = {
    {{Relation::kEqual, "=="},
     {Relation::kNotEqual, "!="},
     {Relation::kLess, "<"},
     {Relation::kLessEqual, "<="}}};

template <typename Enum, std::size_t N>
std::string_view name_of(const std::array<std::pair<Enum, std::string_view>, N>& table,
                         Enum value) {
  for (const auto& [enumerator, name] : table) {
    if (enumerator == value) return name;
  }
  return "";
}

template <typename Enum, std::size_t N>
Result<Enum> value_of(const std::array<std::pair<Enum, std::string_view>, N>& table,
                      std::string_view name, const std::string& where) {
  for (const auto& [enumerator, known] : table) {
    if (known == name) return enumerator;
  }
  return fail(ErrorCode::kInvalidArgument, "{}: unknown \"{}\"", where, printable(name, 40));
}

// ---- Reading ----

std::string at(const std::string& where, std::size_t index) {
  return fmt::format("{}[{}]", where, index);
}

Result<std::string> short_text(const Json& value, const std::string& where) {
  if (!value.is_string() || value.get_ref<const std::string&>().size() > kMaxName)
    return fail(ErrorCode::kInvalidArgument, "{}: expected a text of at most {} bytes", where,
                kMaxName);
  return value.get<std::string>();
}

Result<std::int64_t> integer(const Json& value, const std::string& where) {
  bool fits = value.is_number_integer() &&
              (!value.is_number_unsigned() ||
               value.get<std::uint64_t>() <=
                   static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  if (!fits) return fail(ErrorCode::kInvalidArgument, "{}: expected a 64-bit integer", where);
  return value.get<std::int64_t>();
}

// A number, or the text of an expression.
Result<IntExpr> expression(const Json& value, const std::string& where) {
  if (value.is_string()) {
    auto parsed = IntExpr::parse(value.get_ref<const std::string&>());
    if (!parsed) return tl::unexpected(std::move(parsed).error().with_context(where));
    return parsed;
  }
  KW_TRY(std::int64_t number, integer(value, where));
  return IntExpr(number);
}

Result<double> number(const Json& value, const std::string& where) {
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  return fail(ErrorCode::kInvalidArgument, "{}: expected a number, \"inf\", \"-inf\" or \"nan\"",
              where);
}

Result<bool> boolean(const Json& value, const std::string& where) {
  if (!value.is_boolean())
    return fail(ErrorCode::kInvalidArgument, "{}: expected true or false", where);
  return value.get<bool>();
}

Result<tensor::DType> dtype(const Json& value, const std::string& where) {
  auto found = value.is_string() ? tensor::dtype_from_string(value.get_ref<const std::string&>())
                                 : std::nullopt;
  if (!found)
    return fail(ErrorCode::kInvalidArgument, "{}: expected one of {}", where,
                tensor::dtype_names());
  return *found;
}

// item(value, where) of each of a list.
template <typename Read>
auto list_of(const Json& value, const std::string& where, std::size_t most, const Read& read)
    -> Result<
        std::vector<typename std::invoke_result_t<Read, const Json&, std::string>::value_type>> {
  std::vector<typename std::invoke_result_t<Read, const Json&, std::string>::value_type> out;
  if (!value.is_array() || value.size() > most)
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list of at most {}", where, most);
  out.reserve(value.size());
  for (const Json& item : value) {
    KW_TRY(auto read_item, read(item, at(where, out.size())));
    out.push_back(std::move(read_item));
  }
  return out;
}

Result<TensorType> type_of(ObjectReader& reader) {
  TensorType type;
  KW_TRY(const Json* name, reader.get("dtype"));
  KW_TRY(type.dtype, dtype(*name, reader.path("dtype")));
  KW_TRY(const Json* shape, reader.get("shape"));
  KW_TRY(type.shape, list_of(*shape, reader.path("shape"), kMaxRank, expression));
  return type;
}

Result<TensorType> output_type(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(TensorType type, type_of(reader));
  KW_TRY_STATUS(reader.no_other_keys());
  return type;
}

class Reader {
 public:
  Result<Graph> read(const Json& json, const std::string& where) {
    KW_TRY(ObjectReader reader, ObjectReader::make(json, where));
    KW_TRY(std::int64_t schema, reader.integer("schema"));
    if (schema != kSchema)
      return fail(ErrorCode::kUnsupported, "{}: schema {} is not {}", reader.path("schema"), schema,
                  kSchema);
    KW_TRY(const Json* sizes, reader.get("sizes"));
    KW_TRY_STATUS(read_sizes(*sizes, reader.path("sizes")));
    KW_TRY(const Json* conditions, reader.get("conditions"));
    KW_TRY(graph_.conditions,
           list_of(*conditions, reader.path("conditions"), kMaxSizes, condition));
    KW_TRY(const Json* inputs, reader.get("inputs"));
    KW_TRY(graph_.inputs, list_of(*inputs, reader.path("inputs"), kMaxInputs, input));
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) inputs_[graph_.inputs[i].name] = i;
    KW_TRY(const Json* nodes, reader.get("nodes"));
    KW_TRY(graph_.nodes,
           list_of(*nodes, reader.path("nodes"), kMaxNodes,
                   [this](const Json& value, const std::string& at) { return node(value, at); }));
    KW_TRY(const Json* outputs, reader.get("outputs"));
    KW_TRY(graph_.outputs, list_of(*outputs, reader.path("outputs"), kMaxOutputs,
                                   [this](const Json& value, const std::string& at) {
                                     return value_id(value, at);
                                   }));
    KW_TRY_STATUS(reader.no_other_keys());
    return std::move(graph_);
  }

 private:
  Status read_sizes(const Json& sizes, const std::string& where) {
    if (!sizes.is_object() || sizes.size() > kMaxSizes)
      return fail(ErrorCode::kInvalidArgument, "{}: expected an object of at most {}", where,
                  kMaxSizes);
    for (const auto& [name, value] : sizes.items()) {
      if (name.size() > kMaxName)
        return fail(ErrorCode::kInvalidArgument, "{}: a name over {} bytes", where, kMaxName);
      KW_TRY(graph_.sizes[name], integer(value, where + "." + printable(name, 40)));
    }
    return {};
  }

  static Result<Condition> condition(const Json& value, const std::string& where) {
    if (!value.is_array() || value.size() != 3 || !value[1].is_string())
      return fail(ErrorCode::kInvalidArgument, "{}: expected [LEFT, RELATION, RIGHT]", where);
    Condition out;
    KW_TRY(out.left, expression(value[0], at(where, 0)));
    KW_TRY(out.relation,
           value_of(kRelations, value[1].get_ref<const std::string&>(), at(where, 1)));
    KW_TRY(out.right, expression(value[2], at(where, 2)));
    return out;
  }

  static Result<GraphInput> input(const Json& value, const std::string& where) {
    KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
    GraphInput out;
    KW_TRY(const Json* name, reader.get("name"));
    KW_TRY(out.name, short_text(*name, reader.path("name")));
    KW_TRY(std::string role, reader.string("role"));
    KW_TRY(out.role, value_of(kRoles, role, reader.path("role")));
    KW_TRY(out.type, type_of(reader));
    KW_TRY_STATUS(reader.no_other_keys());
    return out;
  }

  // {"input": NAME} or {"node": INDEX, "output": INDEX}.
  Result<ValueId> value_id(const Json& value, const std::string& where) const {
    KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
    if (reader.has("input")) {
      KW_TRY(std::string name, reader.string("input"));
      KW_TRY_STATUS(reader.no_other_keys());
      auto found = inputs_.find(name);
      if (found == inputs_.end())
        return fail(ErrorCode::kInvalidArgument, "{}: there is no input {}", where,
                    printable(name, 40));
      return ValueId::input(found->second);
    }
    KW_TRY(const Json* node, reader.get("node"));
    KW_TRY(std::int64_t index, integer(*node, reader.path("node")));
    std::int64_t output = 0;
    if (const Json* given = reader.find("output"); given != nullptr) {
      KW_TRY(output, integer(*given, reader.path("output")));
    }
    KW_TRY_STATUS(reader.no_other_keys());
    bool possible = index >= 0 && index < static_cast<std::int64_t>(kMaxNodes) && output >= 0 &&
                    output < static_cast<std::int64_t>(kMaxOutputs);
    if (!possible)
      return fail(ErrorCode::kInvalidArgument, "{}: there is no output {} of a node {}", where,
                  output, index);
    return ValueId{static_cast<int>(index), static_cast<int>(output)};
  }

  Result<Attribute> attribute(const Json& value, const std::string& where) const {
    if (value.is_null()) return Attribute(std::monostate());
    if (value.is_boolean()) return Attribute(value.get<bool>());
    if (value.is_number_integer()) {
      KW_TRY(std::int64_t whole, integer(value, where));
      return Attribute(IntExpr(whole));
    }
    if (value.is_number()) return Attribute(value.get<double>());
    if (value.is_string()) {
      KW_TRY(std::string text, short_text(value, where));
      return Attribute(std::move(text));
    }
    if (!value.is_object() || value.empty())
      return fail(ErrorCode::kInvalidArgument, "{}: not an attribute", where);
    if (value.contains("node") || value.contains("input")) {
      KW_TRY(ValueId id, value_id(value, where));
      return Attribute(id);
    }
    if (value.size() != 1) return fail(ErrorCode::kInvalidArgument, "{}: expected one key", where);
    return tagged(value.begin().key(), value.begin().value(),
                  where + "." + printable(value.begin().key(), 40));
  }

  Result<Attribute> tagged(const std::string& kind, const Json& value,
                           const std::string& where) const {
    if (kind == "size") {
      KW_TRY(IntExpr out, expression(value, where));
      return Attribute(std::move(out));
    }
    if (kind == "number") {
      KW_TRY(double out, number(value, where));
      return Attribute(out);
    }
    if (kind == "dtype") {
      KW_TRY(tensor::DType out, dtype(value, where));
      return Attribute(out);
    }
    if (kind == "sizes") {
      KW_TRY(auto out, list_of(value, where, kMaxList, expression));
      return Attribute(std::move(out));
    }
    if (kind == "numbers") {
      KW_TRY(auto out, list_of(value, where, kMaxList, number));
      return Attribute(std::move(out));
    }
    if (kind == "booleans") {
      KW_TRY(auto out, list_of(value, where, kMaxList, boolean));
      return Attribute(std::move(out));
    }
    if (kind == "tensors") {
      KW_TRY(auto out, list_of(value, where, kMaxList,
                               [this](const Json& item,
                                      const std::string& place) -> Result<std::optional<ValueId>> {
                                 if (item.is_null()) return std::optional<ValueId>();
                                 KW_TRY(ValueId id, value_id(item, place));
                                 return std::optional<ValueId>(id);
                               }));
      return Attribute(std::move(out));
    }
    return fail(ErrorCode::kInvalidArgument, "{}: unknown kind of attribute", where);
  }

  Result<Node> node(const Json& value, const std::string& where) const {
    KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
    Node out;
    KW_TRY(const Json* op, reader.get("op"));
    KW_TRY(out.op, short_text(*op, reader.path("op")));
    KW_TRY(const Json* arguments, reader.get("arguments"));
    if (!arguments->is_object() || arguments->size() > kMaxArguments)
      return fail(ErrorCode::kInvalidArgument, "{}: expected an object of at most {}",
                  reader.path("arguments"), kMaxArguments);
    for (const auto& [name, item] : arguments->items()) {
      if (name.size() > kMaxName)
        return fail(ErrorCode::kInvalidArgument, "{}: a name over {} bytes",
                    reader.path("arguments"), kMaxName);
      KW_TRY(Attribute read, attribute(item, reader.path("arguments") + "." + printable(name, 40)));
      out.arguments.emplace_back(name, std::move(read));
    }
    KW_TRY(const Json* outputs, reader.get("outputs"));
    KW_TRY(out.outputs, list_of(*outputs, reader.path("outputs"), kMaxOutputs, output_type));
    KW_TRY(std::int64_t line, reader.integer_or("line", 0));
    if (line < 0 || line > std::numeric_limits<int>::max())
      return fail(ErrorCode::kInvalidArgument, "{}: not a line", reader.path("line"));
    out.line = static_cast<int>(line);
    KW_TRY_STATUS(reader.no_other_keys());
    return out;
  }

  Graph graph_;
  std::map<std::string, std::size_t> inputs_;
};

// ---- Writing ----

Json to_json(const IntExpr& expr) {
  if (auto value = expr.constant()) return *value;
  return expr.python();
}

Json to_json(const Shape& shape) {
  Json out = Json::array();
  for (const IntExpr& size : shape) out.push_back(to_json(size));
  return out;
}

Json to_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return value;
}

Json to_json(const TensorType& type) {
  return {{"dtype", tensor::to_string(type.dtype)}, {"shape", to_json(type.shape)}};
}

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  std::string write() const {
    Json conditions = Json::array(), inputs = Json::array(), nodes = Json::array(),
         outputs = Json::array();
    for (const Condition& item : graph_.conditions)
      conditions.push_back(
          {to_json(item.left), name_of(kRelations, item.relation), to_json(item.right)});
    for (const GraphInput& item : graph_.inputs) {
      Json input = {{"name", item.name}, {"role", name_of(kRoles, item.role)}};
      input.update(to_json(item.type));
      inputs.push_back(std::move(input));
    }
    for (const Node& item : graph_.nodes) nodes.push_back(node(item));
    for (ValueId id : graph_.outputs) outputs.push_back(value(id));
    const Json out = {{"schema", kSchema}, {"sizes", graph_.sizes}, {"conditions", conditions},
                      {"inputs", inputs},  {"nodes", nodes},        {"outputs", outputs}};
    return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  Json value(ValueId id) const {
    if (id.is_input()) return {{"input", graph_.inputs[id.input_index()].name}};
    Json out = {{"node", id.node}};
    if (id.output != 0) out["output"] = id.output;
    return out;
  }

  Json attribute(const Attribute& attribute) const {
    struct Visitor {
      const Writer& writer;
      Json operator()(std::monostate) const { return nullptr; }
      Json operator()(bool item) const { return item; }
      Json operator()(const IntExpr& item) const {
        Json out = to_json(item);
        return out.is_string() ? Json{{"size", out}} : out;
      }
      Json operator()(double item) const {
        Json out = to_json(item);
        return out.is_string() ? Json{{"number", out}} : out;
      }
      Json operator()(const std::string& item) const { return item; }
      Json operator()(tensor::DType item) const { return {{"dtype", tensor::to_string(item)}}; }
      Json operator()(ValueId item) const { return writer.value(item); }
      Json operator()(const std::vector<IntExpr>& items) const {
        return {{"sizes", to_json(items)}};
      }
      Json operator()(const std::vector<double>& items) const {
        Json out = Json::array();
        for (double item : items) out.push_back(to_json(item));
        return {{"numbers", out}};
      }
      Json operator()(const std::vector<bool>& items) const { return {{"booleans", items}}; }
      Json operator()(const std::vector<std::optional<ValueId>>& items) const {
        Json out = Json::array();
        for (const auto& item : items) out.push_back(item ? writer.value(*item) : Json());
        return {{"tensors", out}};
      }
    };
    return std::visit(Visitor{*this}, attribute);
  }

  Json node(const Node& node) const {
    Json arguments = Json::object(), outputs = Json::array();
    for (const auto& [name, item] : node.arguments) arguments[name] = attribute(item);
    for (const TensorType& type : node.outputs) outputs.push_back(to_json(type));
    Json out = {{"op", node.op}, {"arguments", arguments}, {"outputs", outputs}};
    if (node.line > 0) out["line"] = node.line;
    return out;
  }

  const Graph& graph_;
};

}  // namespace

Result<Graph> graph_from_json(std::string_view text, const std::string& where) {
  if (text.size() > kMaxText)
    return fail(ErrorCode::kInvalidArgument, "{}: over {} MiB", where, kMaxText >> 20U);
  auto json = parse_json(text);
  if (!json) return tl::unexpected(std::move(json).error().with_context(where));
  KW_TRY(Graph graph, Reader().read(*json, where));
  if (Status status = check(graph); !status)
    return tl::unexpected(std::move(status).error().with_context(where));
  return graph;
}

std::string to_json_text(const Graph& graph) {
  return Writer(graph).write();
}

}  // namespace kw::writer
