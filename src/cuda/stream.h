// Streams, events and graphs.
#pragma once
#include <cstddef>
#include <utility>

#include "base/result.h"
#include "cuda/driver_api.h"

namespace kw::cuda {

// A handle of the driver, given back on destruction.
template <typename Handle, int (*DriverApi::*destroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle_ != nullptr) (driver().*destroy)(handle_);
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

// A recorded sequence of work, launched as one.
class GraphExec {
 public:
  GraphExec() = default;
  explicit GraphExec(GraphExecHandle handle) : handle_(handle) {}
  GraphExecHandle get() const { return handle_.get(); }

 private:
  Owned<GraphExecHandle, &DriverApi::graph_exec_destroy> handle_;
};

class Event {
 public:
  static Result<Event> make();
  EventHandle get() const { return handle_.get(); }
  Status synchronize() const;

 private:
  Owned<EventHandle, &DriverApi::event_destroy> handle_;
};

// Work in order. Sizes are in bytes.
class Stream {
 public:
  Stream() = default;  // the default stream, which torch's work is on
  // Its work is not ordered with the default stream's.
  static Result<Stream> make();

  StreamHandle get() const { return handle_.get(); }
  Status copy(DevicePointer to, const void* from, std::size_t bytes) const;
  Status copy(void* to, DevicePointer from, std::size_t bytes) const;
  Status copy(DevicePointer to, DevicePointer from, std::size_t bytes) const;
  Status fill(DevicePointer to, unsigned char value, std::size_t bytes) const;
  Status record(const Event& event) const;
  // Later work here begins after what was recorded in the event, on whichever stream.
  Status wait(const Event& event) const;
  Status launch(const GraphExec& graph) const;
  Status synchronize() const;  // errors of earlier work are found here

  // What `work` (a Status()) puts on this stream, recorded instead of done.
  template <typename Work>
  Result<GraphExec> capture(Work&& work) const {
    KW_TRY_STATUS(begin_capture());
    Status recorded = work();
    Result<GraphExec> graph = end_capture();
    if (!recorded) return tl::unexpected(std::move(recorded).error());
    return graph;
  }

 private:
  Status begin_capture() const;
  Result<GraphExec> end_capture() const;
  Owned<StreamHandle, &DriverApi::stream_destroy> handle_;
};

// Milliseconds between two events that are complete.
Result<double> elapsed_ms(const Event& from, const Event& to);

}  // namespace kw::cuda
