// Reads the setup message, maps what came with it and builds argument tables.
#include "session.h"

#include <bit>
#include <cerrno>
#include <map>

#include <sys/stat.h>

namespace kw::executor {
namespace {

tl::unexpected<Error> bad(std::string what) {
  return fail(ErrorCode::kInvalidArgument, "setup: {}", what);
}

Result<std::size_t> size_of_file(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return fail_errno(errno, "cannot look at a memory file");
  return static_cast<std::size_t>(info.st_size);
}

enum class Access { kRead, kWrite, kPrivateWrite };

Result<os::Mapping> map(const os::UniqueFd& fd, const std::string& name, Access access,
                        std::size_t least) {
  KW_TRY(std::size_t bytes, size_of_file(fd.get()));
  if (bytes < least) return bad(fmt::format("{} has {} bytes instead of {}", name, bytes, least));
  auto mapping = access == Access::kPrivateWrite
                     ? os::Mapping::copy_on_write(fd.get(), bytes)
                     : os::Mapping::shared(fd.get(), bytes, access == Access::kWrite);
  if (!mapping) return tl::unexpected(std::move(mapping).error().with_context(name));
  return mapping;
}

}  // namespace

Result<Session> Session::open(os::Message message) {
  KW_TRY(ObjectReader reader, ObjectReader::make(message.body, "setup"));
  Session session;
  KW_TRY(std::string language, reader.string("language"));
  if (language != "cpp") return bad("this executor runs cpp only, not " + language);
  KW_TRY(const Json* signature, reader.get("signature"));
  KW_TRY(session.signature_, task::signature_from_json(*signature, "setup.signature"));
  KW_TRY(session.has_prepare_, reader.boolean_or("has_prepare", false));
  KW_TRY(session.private_inputs_, reader.boolean_or("private_inputs", false));
  KW_TRY(std::int64_t threads, reader.integer_or("threads", 1));
  if (threads < 1 || threads > 4096) return bad("threads");
  session.threads_ = static_cast<int>(threads);
  KW_TRY(std::int64_t sets, reader.integer("sets"));
  if (sets < 1 || sets > gym::kMaxSets) return bad("sets");
  if (session.signature_.inputs.size() > gym::kMaxInputs ||
      session.signature_.outputs.size() > gym::kMaxOutputs) {
    return bad("too many tensors");
  }
  session.inputs_.resize(static_cast<std::size_t>(sets));
  session.outputs_.resize(static_cast<std::size_t>(sets));
  KW_TRY(std::vector<std::string> names, reader.strings_or_empty("fds"));
  KW_TRY_STATUS(session.take_descriptors(message, names));
  const Json* offsets = reader.find("static_offsets");
  KW_TRY_STATUS(session.take_statics(offsets != nullptr ? *offsets : Json::array()));
  session.store_values();
  return session;
}

Status Session::take_descriptors(os::Message& message, const std::vector<std::string>& names) {
  if (names.size() != message.fds.size()) return bad("fds");
  std::map<std::string, os::UniqueFd> fds;
  for (std::size_t i = 0; i < names.size(); ++i) fds[names[i]] = std::move(message.fds[i]);
  source_ = std::move(fds["source"]);
  // Mapped where it was sent; whether everything needed was is looked at below.
  auto map_into = [&fds](os::Mapping& mapping, const std::string& name, Access access,
                         std::size_t least) -> Status {
    auto found = fds.find(name);
    if (found == fds.end()) return {};
    KW_TRY(mapping, map(found->second, name, access, least));
    return {};
  };
  KW_TRY_STATUS(map_into(command_, "command", Access::kRead, sizeof(gym::CommandPage)));
  KW_TRY_STATUS(map_into(reply_, "reply", Access::kWrite, sizeof(gym::ReplyPage)));
  KW_TRY_STATUS(map_into(statics_, "statics", Access::kRead, 1));
  Access input_access = private_inputs_ ? Access::kPrivateWrite : Access::kRead;
  for (std::size_t set = 0; set < inputs_.size(); ++set) {
    KW_TRY_STATUS(map_into(inputs_[set], fmt::format("in{}", set), input_access, 1));
    KW_TRY_STATUS(map_into(outputs_[set], fmt::format("out{}", set), Access::kWrite, 1));
  }
  bool complete = command_.valid() && reply_.valid() && source_.valid();
  for (const os::Mapping& output : outputs_) complete = complete && output.valid();
  bool tensors = false;
  for (const task::Argument& input : signature_.inputs) {
    tensors = tensors || input.role == task::Role::kInput;
  }
  for (const os::Mapping& input : inputs_) complete = complete && (input.valid() || !tensors);
  return complete ? Status() : bad("a descriptor is missing");
}

Status Session::take_statics(const Json& offsets) {
  if (!offsets.is_array() || offsets.size() != signature_.statics.size()) {
    return bad("static_offsets");
  }
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (!offsets[i].is_number_unsigned()) return bad("static_offsets");
    auto offset = offsets[i].get<std::uint64_t>();
    std::size_t bytes = signature_.statics[i].bytes();
    if (offset > statics_.size() || bytes > statics_.size() - offset) return bad("static_offsets");
    static_offsets_.push_back(offset);
  }
  return {};
}

void Session::store_values() {
  for (const task::Argument& input : signature_.inputs) {
    const Json& value = input.value;
    std::uint64_t bits = 0;
    if (input.role == task::Role::kScalar) {
      if (tensor::is_floating(input.dtype)) {
        bits = std::bit_cast<std::uint64_t>(value.get<double>());
      } else if (value.is_boolean()) {
        bits = value.get<bool>() ? 1 : 0;
      } else {
        bits = static_cast<std::uint64_t>(value.get<std::int64_t>());
      }
    }
    values_.push_back(bits);
  }
  for (const auto& axis : signature_.axes) {
    values_.push_back(static_cast<std::uint64_t>(axis.second));
  }
  arguments_.reserve(signature_.inputs.size() + signature_.statics.size() +
                     signature_.outputs.size() + signature_.axes.size());
}

std::vector<std::span<std::byte>> Session::read_only() const {
  std::vector<std::span<std::byte>> out;
  out.reserve(inputs_.size() + 1);
  for (const os::Mapping& input : inputs_) out.push_back(input.bytes());
  out.push_back(statics_.bytes());
  return out;
}

void* const* Session::arguments_of(std::uint32_t set) {
  if (set >= inputs_.size()) return nullptr;
  const volatile gym::CommandPage& page = command();
  arguments_.clear();
  for (std::size_t i = 0; i < signature_.inputs.size(); ++i) {
    bool scalar = signature_.inputs[i].role == task::Role::kScalar;
    arguments_.push_back(scalar ? static_cast<void*>(&values_[i])
                                : inputs_[set].data() + page.input_offset[set][i]);
  }
  for (std::uint64_t offset : static_offsets_) arguments_.push_back(statics_.data() + offset);
  for (std::size_t i = 0; i < signature_.outputs.size(); ++i) {
    arguments_.push_back(outputs_[set].data() + page.output_offset[set][i]);
  }
  for (std::size_t i = 0; i < signature_.axes.size(); ++i) {
    arguments_.push_back(&values_[signature_.inputs.size() + i]);
  }
  return arguments_.data();
}

std::vector<void*> Session::prepare_arguments() {
  std::vector<void*> out;
  out.reserve(static_offsets_.size() + signature_.axes.size());
  for (std::uint64_t offset : static_offsets_) out.push_back(statics_.data() + offset);
  for (std::size_t i = 0; i < signature_.axes.size(); ++i) {
    out.push_back(&values_[signature_.inputs.size() + i]);
  }
  return out;
}

}  // namespace kw::executor
