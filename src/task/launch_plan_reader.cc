// Reads launch plans: docs/formats/launch_plan.md.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "task/launch_plan.h"
#include "text/names.h"

namespace kw::task {
namespace {

constexpr std::int64_t kMaxConfigurations = 1'000'000;
constexpr std::size_t kMaxChoiceBytes = 1000;
constexpr std::size_t kMaxSteps = 4096, kMaxParts = 256, kMaxPlanArguments = 256;
constexpr std::int64_t kMaxBlobBytes = std::int64_t{1} << 36;

template <std::size_t N>
std::string listed(const std::array<std::string_view, N>& names) {
  return join({names.begin(), names.end()}, ", ");
}

template <typename T>
bool holds(const Json& value) {
  return value.is_number_integer() &&
         (value.is_number_unsigned()
              ? value.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<T>::max()}
              : value.get<std::int64_t>() >= 0);
}

Result<std::size_t> index_from_json(const Json& value, const std::string& where,
                                    std::size_t count = std::size_t{1} << 16) {
  if (!holds<std::int64_t>(value) || value.get<std::uint64_t>() >= count)
    return fail(ErrorCode::kInvalidArgument, "{}: expected an index below {}, found {}", where,
                count, printable(value.dump(), 60));
  return value.get<std::size_t>();
}

Result<std::int64_t> whole(ObjectReader& reader, std::string_view key, std::int64_t fallback,
                           std::int64_t least, std::int64_t most) {
  KW_TRY(std::int64_t value, reader.integer_or(key, fallback));
  if (value < least || value > most)
    return fail(ErrorCode::kInvalidArgument, "{}: expected {} to {}, found {}", reader.path(key),
                least, most, value);
  return value;
}

Result<LaunchExpression> expression(ObjectReader& reader, std::string_view key) {
  KW_TRY(const Json* value, reader.get(key));
  return expression_from_json(*value, reader.path(key));
}

// The place of an array's items: items(i) is called with each one and its path.
template <typename Read>
Status for_items(ObjectReader& reader, std::string_view key, std::size_t most, Read read) {
  const Json* list = reader.find(key);
  if (list == nullptr) return {};
  const std::string where = reader.path(key);
  if (!list->is_array() || list->size() > most)
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list of at most {}", where, most);
  std::size_t i = 0;
  for (const Json& item : *list) KW_TRY_STATUS(read(item, fmt::format("{}[{}]", where, i++)));
  return {};
}

// What the plan's references may name.
class PlanReader {
 public:
  explicit PlanReader(LaunchPlan& plan) : plan_(plan) {}

  Status step(const Json& value, const std::string& where) {
    KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
    if (const Json* inner = reader.find("launch")) {
      KW_TRY(PlanLaunch one, launch(*inner, reader.path("launch")));
      plan_.steps.emplace_back(std::move(one));
    } else if (const Json* fill_value = reader.find("fill")) {
      KW_TRY(PlanFill one, fill(*fill_value, reader.path("fill")));
      plan_.steps.emplace_back(std::move(one));
    } else if (const Json* copy_value = reader.find("copy")) {
      KW_TRY(PlanCopy one, copy(*copy_value, reader.path("copy")));
      plan_.steps.emplace_back(std::move(one));
    } else {
      KW_TRY_STATUS(reader.no_other_keys());
      return fail(ErrorCode::kInvalidArgument, "{}: expected launch, fill or copy", where);
    }
    return reader.no_other_keys();
  }

 private:
  static bool names_memory(const Json& value) {
    return std::any_of(memory_kinds().begin(), memory_kinds().end(),
                       [&](std::string_view key) { return value.contains(key); });
  }

  Result<PlanMemory> memory(ObjectReader& reader) const {
    PlanMemory out;
    for (std::size_t kind = 0; kind < memory_kinds().size(); ++kind) {
      const Json* value = reader.find(memory_kinds()[kind]);
      if (value == nullptr) continue;
      out.kind = static_cast<MemoryKind>(kind);
      const std::string where = reader.path(memory_kinds()[kind]);
      if (out.kind == MemoryKind::kScratch) {
        KW_TRY(out.index, index_from_json(*value, where, plan_.scratch.size()));
      } else if (out.kind == MemoryKind::kConstant) {
        KW_TRY(out.index, index_from_json(*value, where, plan_.constants.size()));
      } else {
        KW_TRY(out.index, index_from_json(*value, where));
      }
      if (const Json* offset = reader.find("offset")) {
        KW_TRY(out.offset, expression_from_json(*offset, reader.path("offset")));
      }
      return out;
    }
    return fail(ErrorCode::kInvalidArgument, "{}: expected one of {}", reader.where(),
                listed(memory_kinds()));
  }

  Result<PlanMemory> only_memory(ObjectReader& reader, std::string_view key) const {
    KW_TRY(const Json* value, reader.get(key));
    KW_TRY(ObjectReader inner, ObjectReader::make(*value, reader.path(key)));
    KW_TRY(PlanMemory out, memory(inner));
    KW_TRY_STATUS(inner.no_other_keys());
    return out;
  }

  static Result<PlanScalar> scalar(ObjectReader& reader) {
    KW_TRY(std::string type, reader.string("scalar"));
    auto dtype = tensor::dtype_from_string(type);
    const bool narrow = dtype && is_floating(*dtype) && size_of(*dtype) == 1;
    if (!dtype || narrow)
      return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is no type of a scalar",
                  reader.path("scalar"), printable(type, 60));
    if (const Json* input = reader.find("input")) {
      KW_TRY(std::size_t index, index_from_json(*input, reader.path("input")));
      return PlanScalar{*dtype, HostScalar{index}};
    }
    KW_TRY(const Json* value, reader.get("value"));
    if (value->is_number_float()) {
      if (!is_floating(*dtype))
        return fail(ErrorCode::kInvalidArgument, "{}: {} is not an expression for {}",
                    reader.path("value"), value->dump(), type);
      return PlanScalar{*dtype, value->get<double>()};
    }
    KW_TRY(LaunchExpression number, expression_from_json(*value, reader.path("value")));
    return PlanScalar{*dtype, std::move(number)};
  }

  static Result<std::vector<std::int64_t>> extents(ObjectReader& reader, std::string_view key,
                                                   std::int64_t most) {
    KW_TRY(const Json* list, reader.get(key));
    if (!list->is_array())
      return fail(ErrorCode::kInvalidArgument, "{}: expected a list", reader.path(key));
    std::vector<std::int64_t> out;
    for (const Json& item : *list) {
      if (!holds<std::int64_t>(item) || item.get<std::int64_t>() < 1 ||
          item.get<std::int64_t>() > most)
        return fail(ErrorCode::kInvalidArgument, "{}[{}]: expected 1 to {}", reader.path(key),
                    out.size(), most);
      out.push_back(item.get<std::int64_t>());
    }
    return out;
  }

  Result<PlanTensorMap> tensor_map(const Json& value, const std::string& where) const {
    KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
    PlanTensorMap out;
    KW_TRY(out.type, reader.string("type"));
    const auto& types = tensor_map_types();
    if (std::find(types.begin(), types.end(), out.type) == types.end())
      return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is no type of a tensor map (one of {})",
                  reader.path("type"), printable(out.type, 60), listed(types));
    KW_TRY(out.memory, memory(reader));
    KW_TRY(const Json* sizes, reader.get("sizes"));
    KW_TRY(out.sizes, expressions_from_json(*sizes, reader.path("sizes"), 1, 5));
    const std::size_t rank = out.sizes.size();
    KW_TRY(const Json* strides, reader.get("strides"));
    KW_TRY(out.strides,
           expressions_from_json(*strides, reader.path("strides"), rank - 1, rank - 1));
    KW_TRY(out.box, extents(reader, "box", 256));
    out.element_strides.assign(rank, 1);
    if (reader.find("element_strides") != nullptr) {
      KW_TRY(out.element_strides, extents(reader, "element_strides", 8));
    }
    if (out.box.size() != rank || out.element_strides.size() != rank)
      return fail(ErrorCode::kInvalidArgument, "{}: box and element_strides have not {} dimensions",
                  where, rank);
    KW_TRY(std::int64_t interleave, whole(reader, "interleave", 0, 0, 2));
    KW_TRY(std::int64_t swizzle, whole(reader, "swizzle", 0, 0, 3));
    KW_TRY(std::int64_t promotion, whole(reader, "promotion", 2, 0, 3));
    out.interleave = static_cast<int>(interleave);
    out.swizzle = static_cast<int>(swizzle);
    out.promotion = static_cast<int>(promotion);
    KW_TRY(out.nan_fill, reader.boolean_or("nan_fill", false));
    KW_TRY_STATUS(reader.no_other_keys());
    return out;
  }

  Result<PlanArgument> argument(const Json& value, const std::string& where) const {
    KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
    if (reader.find("scalar") != nullptr) {
      KW_TRY(PlanScalar out, scalar(reader));
      KW_TRY_STATUS(reader.no_other_keys());
      return PlanArgument(std::move(out));
    }
    if (const Json* map = reader.find("tensor_map")) {
      KW_TRY(PlanTensorMap out, tensor_map(*map, reader.path("tensor_map")));
      KW_TRY_STATUS(reader.no_other_keys());
      return PlanArgument(std::move(out));
    }
    if (reader.find("null") != nullptr) {
      KW_TRY(bool is_null, reader.boolean("null"));
      KW_TRY_STATUS(reader.no_other_keys());
      if (!is_null) return fail(ErrorCode::kInvalidArgument, "{}: only true", reader.path("null"));
      return PlanArgument(NullPointer{});
    }
    if (!names_memory(value)) {
      for (std::string_view key : memory_kinds()) std::ignore = reader.find(key);
      KW_TRY_STATUS(reader.no_other_keys());
      return fail(ErrorCode::kInvalidArgument,
                  "{}: expected scalar, tensor_map, null, or one of {}", where,
                  listed(memory_kinds()));
    }
    KW_TRY(PlanMemory out, memory(reader));
    KW_TRY_STATUS(reader.no_other_keys());
    return PlanArgument(std::move(out));
  }

  Result<PlanLaunch> launch(const Json& value, const std::string& where) const {
    KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
    PlanLaunch out;
    KW_TRY(const Json* module, reader.get("module"));
    KW_TRY(out.module, index_from_json(*module, reader.path("module"), plan_.modules.size()));
    KW_TRY(out.function, reader.string("function"));
    if (!text::is_identifier(out.function) || out.function.size() > 4096)
      return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is not a symbol",
                  reader.path("function"), printable(out.function, 80));
    KW_TRY(const Json* grid, reader.get("grid"));
    KW_TRY(out.grid, expressions_from_json(*grid, reader.path("grid"), 1, 3));
    KW_TRY(const Json* block, reader.get("block"));
    KW_TRY(out.block, expressions_from_json(*block, reader.path("block"), 1, 3));
    if (const Json* cluster = reader.find("cluster")) {
      KW_TRY(out.cluster, expressions_from_json(*cluster, reader.path("cluster"), 1, 3));
    }
    if (const Json* shared = reader.find("shared_bytes")) {
      KW_TRY(out.shared_bytes, expression_from_json(*shared, reader.path("shared_bytes")));
    }
    KW_TRY(out.spread_clusters, reader.boolean_or("spread_clusters", false));
    KW_TRY(out.cooperative, reader.boolean_or("cooperative", false));
    KW_TRY(out.dependent, reader.boolean_or("dependent", false));
    KW_TRY_STATUS(for_items(reader, "arguments", kMaxPlanArguments,
                            [&](const Json& item, const std::string& place) -> Status {
                              KW_TRY(PlanArgument one, argument(item, place));
                              out.arguments.push_back(std::move(one));
                              return {};
                            }));
    KW_TRY_STATUS(reader.no_other_keys());
    return out;
  }

  Result<PlanFill> fill(const Json& value, const std::string& where) const {
    KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
    PlanFill out;
    KW_TRY(out.memory, memory(reader));
    KW_TRY(out.bytes, expression(reader, "bytes"));
    KW_TRY(std::int64_t width, whole(reader, "width", 1, 1, 4));
    if (width == 3)
      return fail(ErrorCode::kInvalidArgument, "{}: only 1, 2 or 4", reader.path("width"));
    out.width = static_cast<int>(width);
    KW_TRY(std::int64_t pattern,
           whole(reader, "value", 0, 0, (std::int64_t{1} << (8 * width)) - 1));
    out.value = static_cast<std::uint32_t>(pattern);
    KW_TRY_STATUS(reader.no_other_keys());
    return out;
  }

  Result<PlanCopy> copy(const Json& value, const std::string& where) const {
    KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
    PlanCopy out;
    KW_TRY(out.from, only_memory(reader, "from"));
    KW_TRY(out.to, only_memory(reader, "to"));
    KW_TRY(out.bytes, expression(reader, "bytes"));
    KW_TRY_STATUS(reader.no_other_keys());
    return out;
  }

  LaunchPlan& plan_;
};

Result<PlanBlob> blob(ObjectReader& reader) {
  PlanBlob out;
  KW_TRY(out.name, reader.string("name"));
  if (out.name.empty() || out.name.size() > 200 || printable(out.name, 200) != out.name)
    return fail(ErrorCode::kInvalidArgument, "{}: 1 to 200 printable characters",
                reader.path("name"));
  KW_TRY(out.sha256, reader.string("sha256"));
  if (out.sha256.size() != 64 ||
      out.sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
    return fail(ErrorCode::kInvalidArgument, "{}: expected 64 hexadecimal digits",
                reader.path("sha256"));
  KW_TRY(std::int64_t bytes, reader.integer("bytes"));
  if (bytes < 1 || bytes > kMaxBlobBytes)
    return fail(ErrorCode::kInvalidArgument, "{}: expected 1 to {}, found {}", reader.path("bytes"),
                kMaxBlobBytes, bytes);
  out.bytes = bytes;
  return out;
}

Result<PlanModule> module(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  PlanModule out;
  KW_TRY(std::string kind, reader.string("kind"));
  if (kind != "cubin" && kind != "ptx")
    return fail(ErrorCode::kInvalidArgument, "{}: expected cubin or ptx, found \"{}\"",
                reader.path("kind"), printable(kind, 60));
  out.kind = kind == "ptx" ? ModuleKind::kPtx : ModuleKind::kCubin;
  KW_TRY(out.content, blob(reader));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

Result<PlanBlob> constant(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(PlanBlob out, blob(reader));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

Result<PlanChoice> choice(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  PlanChoice out;
  KW_TRY(out.kernel, reader.string("kernel"));
  KW_TRY(out.text, reader.string("text"));
  if (std::max(out.kernel.size(), out.text.size()) > kMaxChoiceBytes)
    return fail(ErrorCode::kInvalidArgument, "{}: more than {} bytes of text", where,
                kMaxChoiceBytes);
  KW_TRY(out.configurations, whole(reader, "configurations", 2, 2, kMaxConfigurations));
  KW_TRY(out.chosen, whole(reader, "chosen", 0, 0, out.configurations - 1));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

Result<PlanScratch> scratch(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  PlanScratch out;
  KW_TRY(out.name, reader.string("name"));
  if (!text::is_identifier(out.name))
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is no name", reader.path("name"),
                printable(out.name, 80));
  KW_TRY(out.bytes, expression(reader, "bytes"));
  KW_TRY(out.alignment, whole(reader, "alignment", 256, 1, 1 << 20));
  if ((out.alignment & (out.alignment - 1)) != 0)
    return fail(ErrorCode::kInvalidArgument, "{}: {} is no power of two", reader.path("alignment"),
                out.alignment);
  KW_TRY(out.zeroed, reader.boolean_or("zeroed", false));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

}  // namespace

Result<LaunchPlan> launch_plan_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(std::int64_t schema, reader.integer("schema"));
  if (schema != LaunchPlan::kSchema)
    return fail(ErrorCode::kInvalidArgument, "{}: expected {}, found {}", reader.path("schema"),
                LaunchPlan::kSchema, schema);
  LaunchPlan out;
  KW_TRY(out.triton, reader.string_or("triton", ""));
  if (out.triton.size() > 60 || printable(out.triton, 60) != out.triton)
    return fail(ErrorCode::kInvalidArgument, "{}: at most 60 printable characters",
                reader.path("triton"));
  auto into = [](auto& list, auto read) {
    return [&list, read](const Json& item, const std::string& place) -> Status {
      KW_TRY(auto one, read(item, place));
      list.push_back(std::move(one));
      return {};
    };
  };
  KW_TRY_STATUS(for_items(reader, "choices", kMaxSteps, into(out.choices, choice)));
  KW_TRY_STATUS(for_items(reader, "modules", kMaxParts, into(out.modules, module)));
  KW_TRY_STATUS(for_items(reader, "constants", kMaxParts, into(out.constants, constant)));
  KW_TRY_STATUS(for_items(reader, "scratch", kMaxParts, into(out.scratch, scratch)));
  PlanReader steps(out);
  KW_TRY_STATUS(for_items(
      reader, "steps", kMaxSteps,
      [&](const Json& item, const std::string& place) { return steps.step(item, place); }));
  if (out.steps.empty())
    return fail(ErrorCode::kInvalidArgument, "{}: no steps", reader.path("steps"));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

}  // namespace kw::task
