// Ctrl-C: the first SIGINT or SIGTERM asks to stop, so that files stay whole and nothing is left
// behind; a SIGINT after that ends the program at once. Not so a SIGTERM: schedulers of clusters
// and supervisors send it to a whole group of processes, and again when they give up. SIGHUP is
// handed to whoever wants it.
#pragma once
#include <functional>
#include <memory>
#include <stop_token>

namespace kw::front {

// Installs the handlers. One instance at a time, made before other threads start; the destructor
// restores what was there.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const;

  // `call` is called at every SIGHUP from now on, on a thread of this object's. An empty one: at
  // none any more; it returns when no call is under way. SIGHUP ends a program that has never
  // called this.
  void on_hangup(std::function<void()> call);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kw::front
