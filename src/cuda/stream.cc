#include "cuda/stream.h"

namespace kw::cuda {

Result<Event> Event::make() {
  EventHandle handle = nullptr;
  KW_TRY_STATUS(
      driver_status(driver().event_create(&handle, kEventDefault), "cannot make an event"));
  Event out;
  out.handle_ = Owned<EventHandle, &DriverApi::event_destroy>(handle);
  return out;
}

Status Event::synchronize() const {
  return driver_status(driver().event_synchronize(get()), "the GPU failed");
}

Result<Stream> Stream::make() {
  StreamHandle handle = nullptr;
  KW_TRY_STATUS(
      driver_status(driver().stream_create(&handle, kStreamNonBlocking), "cannot make a stream"));
  Stream out;
  out.handle_ = Owned<StreamHandle, &DriverApi::stream_destroy>(handle);
  return out;
}

Status Stream::copy(DevicePointer to, const void* from, std::size_t bytes) const {
  return driver_status(driver().copy_to_device(to, from, bytes, get()), "cannot copy to the GPU");
}

Status Stream::copy(void* to, DevicePointer from, std::size_t bytes) const {
  return driver_status(driver().copy_to_host(to, from, bytes, get()), "cannot copy from the GPU");
}

Status Stream::copy(DevicePointer to, DevicePointer from, std::size_t bytes) const {
  return driver_status(driver().copy_on_device(to, from, bytes, get()), "cannot copy on the GPU");
}

Status Stream::fill(DevicePointer to, unsigned char value, std::size_t bytes) const {
  return driver_status(driver().fill_bytes(to, value, bytes, get()),
                       "cannot fill the GPU's memory");
}

Status Stream::record(const Event& event) const {
  return driver_status(driver().event_record(event.get(), get()), "cannot record an event");
}

Status Stream::wait(const Event& event) const {
  return driver_status(driver().stream_wait_event(get(), event.get(), 0),
                       "cannot wait for an event");
}

Status Stream::launch(const GraphExec& graph) const {
  return driver_status(driver().graph_launch(graph.get(), get()), "cannot start a graph");
}

Status Stream::synchronize() const {
  return driver_status(driver().stream_synchronize(get()), "the GPU failed");
}

Status Stream::begin_capture() const {
  return driver_status(driver().stream_begin_capture(get(), kCaptureThreadLocal),
                       "cannot record a graph");
}

Result<GraphExec> Stream::end_capture() const {
  GraphHandle graph = nullptr;
  KW_TRY_STATUS(driver_status(driver().stream_end_capture(get(), &graph), "cannot record a graph"));
  Owned<GraphHandle, &DriverApi::graph_destroy> owned(graph);
  GraphExecHandle exec = nullptr;
  KW_TRY_STATUS(
      driver_status(driver().graph_instantiate(&exec, graph, 0), "cannot make a graph ready"));
  return GraphExec(exec);
}

Result<double> elapsed_ms(const Event& from, const Event& to) {
  float out = 0;
  KW_TRY_STATUS(driver_status(driver().event_elapsed(&out, from.get(), to.get()),
                              "cannot tell the time between events"));
  return static_cast<double>(out);
}

}  // namespace kw::cuda
