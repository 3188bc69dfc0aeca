// Ctrl-C: the first SIGINT or SIGTERM asks to stop, so that files stay whole and nothing is left
// behind; the second ends the program at once.
#pragma once
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

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kw::front
