// Reads the setup message, maps what came with it, and runs calls.
#include "session.h"

#include <algorithm>
#include <chrono>

#include <time.h>

#include "gym/checker/layout.h"
#include "os/fd.h"
#include "plan_profile.h"

namespace kw::gpu_executor {
namespace {

constexpr auto kLongestWait = std::chrono::seconds(20);
constexpr int kSpins = 20'000;  // before a wait leaves its core to others
constexpr int kProfiledCalls = 3;

tl::unexpected<Error> bad(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, "setup: {}", what);
}

// Adds the offsets of one memory's tensors to its address.
Result<std::vector<cuda::DevicePointer>> places(const std::vector<const task::Argument*>& tensors,
                                                const cuda::SharedMemory& memory,
                                                const std::vector<std::uint64_t>& offsets) {
  std::vector<cuda::DevicePointer> out;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (offsets[i] > memory.bytes() || tensors[i]->bytes() > memory.bytes() - offsets[i])
      return fail(ErrorCode::kInvalidArgument, "tensor {} lies outside its memory",
                  tensors[i]->name);
    out.push_back(memory.address() + offsets[i]);
  }
  return out;
}

}  // namespace

Result<Session> Session::open(os::Message message) {
  KW_TRY(ObjectReader reader, ObjectReader::make(message.body, "setup"));
  Session session;
  KW_TRY(const Json* signature, reader.get("signature"));
  KW_TRY(session.signature_, task::signature_from_json(*signature, "setup.signature"));
  KW_TRY(std::int64_t sets, reader.integer("sets"));
  if (sets < 1 || sets > gym::kMaxSets) return bad("sets");
  session.sets_ = static_cast<std::size_t>(sets);
  KW_TRY(std::int64_t device, reader.integer_or("device", 0));
  if (device < 0 || device > 1024) return bad("device");
  session.device_ = static_cast<int>(device);
  if (session.signature_.inputs.size() > gym::kMaxInputs ||
      session.signature_.outputs.size() > gym::kMaxOutputs)
    return bad("too many tensors");
  KW_TRY(std::vector<std::string> names, reader.strings_or_empty("fds"));
  if (names.size() != message.fds.size()) return bad("fds");
  for (std::size_t i = 0; i < names.size(); ++i)
    session.descriptors_[names[i]] = std::move(message.fds[i]);
  if (const Json* offsets = reader.find("static_offsets")) {
    for (const Json& offset : *offsets) {
      if (!offset.is_number_unsigned()) return bad("static_offsets");
      session.static_offsets_.push_back(offset.get<std::uint64_t>());
    }
  }
  if (session.static_offsets_.size() != session.signature_.statics.size())
    return bad("static_offsets");
  KW_TRY(session.command_, os::Mapping::shared(session.descriptors_["command"].get(),
                                               sizeof(gym::CommandPage), false));
  KW_TRY(session.reply_,
         os::Mapping::shared(session.descriptors_["reply"].get(), sizeof(gym::ReplyPage), true));
  return session;
}

Status Session::load() {
  KW_TRY(context_, cuda::Context::open(device_));
  KW_TRY(stream_, cuda::Stream::make());
  for (std::uint32_t call = 0; call < gym::kMaxSets; ++call) {
    Span span;
    KW_TRY(span.start, cuda::Event::make());
    KW_TRY(span.begin, cuda::Event::make());
    KW_TRY(span.end, cuda::Event::make());
    spans_.push_back(std::move(span));
  }
  KW_TRY(flush_, cuda::DeviceBuffer::make(2 * context().l2_bytes() + 1));
  KW_TRY_STATUS(map_memory());
  KW_TRY_STATUS(load_program(descriptors_["source"].get()));
  descriptors_.clear();
  return {};
}

Status Session::load_program(int source) {
  KW_TRY(os::Mapping file, os::Mapping::whole(source));
  KW_TRY(gym::PlanContents contents,
         gym::read_plan_file({reinterpret_cast<const char*>(file.data()), file.size()}));
  task::DeviceLimits limits;
  limits.shared_bytes = static_cast<std::int64_t>(context().shared_bytes());
  KW_TRY(cuda::Context::Memory memory, context().memory());
  limits.memory_bytes = static_cast<std::int64_t>(memory.free);
  KW_TRY(task::ResolvedPlan plan, task::resolve(contents.plan, signature_, limits));
  KW_TRY(runner_, gym::PlanRunner::make(contents, std::move(plan), stream_));
  std::uint64_t bytes = runner().bytes();
  for (const task::Argument& output : signature_.outputs) bytes += output.bytes();
  reply().call_bytes = bytes;
  flushes_.forget_launching();
  return {};
}

Status Session::replace(os::Message message) {
  KW_TRY(ObjectReader reader, ObjectReader::make(message.body, "program"));
  KW_TRY(std::string op, reader.string("op"));
  if (op != "program" || message.fds.size() != 1) return bad("no program");
  if (runner_) KW_TRY_STATUS(runner_->wipe(stream_));
  runner_.reset();
  return load_program(message.fds[0].get());
}

Status Session::map_memory() {
  using cuda::MemoryAccess;
  auto import = [this](const std::string& name, const gym::Layout& layout,
                       MemoryAccess access) -> Result<cuda::SharedMemory> {
    auto found = descriptors_.find(name);
    if (found == descriptors_.end()) return bad("no descriptor " + name);
    return cuda::SharedMemory::import(found->second.get(), device_, layout.total_bytes(), access);
  };
  const auto reading = gym::Layout::for_reading(gym::tensors_of(signature_.inputs));
  const auto writing = gym::Layout::for_writing(gym::tensors_of(signature_.outputs));
  for (std::size_t set = 0; set < sets_; ++set) {
    KW_TRY(cuda::SharedMemory in, import(fmt::format("in{}", set), reading, MemoryAccess::kRead));
    KW_TRY(cuda::SharedMemory out,
           import(fmt::format("out{}", set), writing, MemoryAccess::kReadWrite));
    inputs_.push_back(std::move(in));
    outputs_.push_back(std::move(out));
  }
  if (!signature_.statics.empty()) {
    const auto layout = gym::Layout::for_reading(gym::tensors_of(signature_.statics));
    KW_TRY(statics_, import("statics", layout, MemoryAccess::kRead));
  }
  return {};
}

Result<gym::CallAddresses> Session::addresses_of(std::uint32_t set) const {
  if (set >= sets_) return fail(ErrorCode::kInvalidArgument, "there is no set {}", set);
  const volatile gym::CommandPage& page = command();
  std::vector<std::uint64_t> inputs, outputs;
  std::vector<std::size_t> numbers;  // of the inputs that are tensors
  for (std::size_t i = 0; i < signature_.inputs.size(); ++i) {
    if (signature_.inputs[i].role == task::Role::kScalar) continue;
    numbers.push_back(i);
    const std::uint64_t offset = page.input_offset[set][i];
    inputs.push_back(offset);
  }
  for (std::size_t i = 0; i < signature_.outputs.size(); ++i) {
    const std::uint64_t offset = page.output_offset[set][i];
    outputs.push_back(offset);
  }
  gym::CallAddresses out;
  KW_TRY(auto tensors, places(gym::tensors_of(signature_.inputs), inputs_[set], inputs));
  out.inputs.resize(signature_.inputs.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) out.inputs[numbers[i]] = tensors[i];
  KW_TRY(out.statics, places(gym::tensors_of(signature_.statics), statics_, static_offsets_));
  KW_TRY(out.outputs, places(gym::tensors_of(signature_.outputs), outputs_[set], outputs));
  return out;
}

Status Session::run_calls() {
  const std::uint32_t calls = command().calls;
  if (calls > gym::kMaxSets) return fail(ErrorCode::kInvalidArgument, "{} calls", calls);
  std::vector<gym::CallAddresses> addresses;
  for (std::uint32_t c = 0; c < calls; ++c) {
    reply().failed_call = c;
    KW_TRY(gym::CallAddresses call, addresses_of(command().set_of_call[c]));
    addresses.push_back(std::move(call));
  }
  for (std::uint32_t c = 0; c < calls; ++c) {
    reply().failed_call = c;
    KW_TRY_STATUS(enqueue(c, &addresses[c]));
  }
  KW_TRY_STATUS(wait());
  return report(calls, true);
}

Status Session::report(std::size_t count, bool called) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  double call_ms = 0, all_ms = 0;
  for (std::size_t i = 0; i < count; ++i) {
    KW_TRY(double all, cuda::elapsed_ms(spans_[i].start, spans_[i].end));
    KW_TRY(double call, cuda::elapsed_ms(spans_[i].begin, spans_[i].end));
    flushes_.saw_flushing(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Milliseconds(all - call)),
        spans_[i].flushes);
    all_ms += all;
    if (called) call_ms += call;
  }
  reply().device_ns = static_cast<std::uint64_t>(call_ms * 1e6);
  reply().device_span_ns = static_cast<std::uint64_t>(all_ms * 1e6);
  return {};
}

Status Session::run_nothing() {
  KW_TRY_STATUS(enqueue(0, nullptr));
  KW_TRY_STATUS(wait());
  return report(1, false);
}

Status Session::flush(int flushes) {
  KW_TRY_STATUS(cuda::driver_status(cuda::driver().reset_persisting_l2(), "the cache"));
  for (int i = 0; i < flushes; ++i)
    KW_TRY_STATUS(stream_.fill(flush_.address(), 0, flush_.bytes()));
  return {};
}

Status Session::profile() {
  KW_TRY(const gym::CallAddresses call, addresses_of(command().set_of_call[0]));
  KW_TRY(PlanProfile profile, PlanProfile::make(runner()));
  // Events between all steps take the host longer than the steps: twice as long before the first
  // call has shown it. Of each step the shortest time counts.
  Flushes flushes = flushes_;
  for (int i = 0; i < kProfiledCalls; ++i) {
    const int least = flushes.before_call(std::chrono::steady_clock::now() - worked_);
    KW_TRY_STATUS(flush(i == 0 ? 2 * least : least));
    const auto launching = std::chrono::steady_clock::now();
    KW_TRY_STATUS(profile.enqueue(call, stream_));
    flushes.saw_launching(std::chrono::steady_clock::now() - launching);
    KW_TRY_STATUS(wait());
    KW_TRY_STATUS(profile.read());
  }
  return profile.report(context().threads_per_multiprocessor(), reply());
}

Status Session::enqueue(std::size_t number, const gym::CallAddresses* call) {
  Span& span = spans_[number];
  const auto asked = std::chrono::steady_clock::now();
  span.flushes = flushes_.before_call(number == 0 ? asked - worked_ : Flushes::kShortRest);
  KW_TRY_STATUS(stream_.record(span.start));
  KW_TRY_STATUS(flush(span.flushes));
  const auto launching = std::chrono::steady_clock::now();
  KW_TRY_STATUS(stream_.record(span.begin));
  if (call != nullptr) {
    KW_TRY_STATUS(runner().enqueue(*call, stream_));
    flushes_.saw_launching(std::chrono::steady_clock::now() - launching);
  }
  return stream_.record(span.end);
}

Status Session::wait() {
  const auto deadline = std::chrono::steady_clock::now() + kLongestWait;
  for (int spins = 0;; ++spins) {
    const int state = cuda::driver().stream_query(stream_.get());
    if (state != cuda::kNotReady) {
      worked_ = std::chrono::steady_clock::now();
      return cuda::driver_status(state, "the kernels failed");
    }
    if (spins % 256 == 255 && std::chrono::steady_clock::now() > deadline)
      return fail(ErrorCode::kDeadlineExceeded, "the kernels did not end within 20 s");
    if (spins > kSpins) {
      const timespec nap{0, 20'000};
      ::nanosleep(&nap, nullptr);
    }
  }
}

}  // namespace kw::gpu_executor
