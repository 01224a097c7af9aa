// Which thread receives packets, and which thread a bell wakes while no thread receives.
#pragma once

#include "node/links/shared_memory/doorbell.h"

namespace troupe::detail {

/// A plain state; RingReceiver changes it under a lock, and the doorbell's expect() follows under the same lock.
/// tests/models explores every order of the steps of its threads and of the threads that ring.
class ReceivingRole {
 public:
  void open() { state_ = State::taken; }
  void close() { state_ = State::closed; }
  [[nodiscard]] bool is_closed() const { return state_ == State::closed; }
  [[nodiscard]] bool is_free() const { return state_ == State::free; }

  /// A thread wants to receive. Returns whether it may: then bells need wake no thread, since this thread looks at
  /// them.
  [[nodiscard]] bool take() {
    if (state_ != State::free) return false;
    state_ = State::taken;
    return true;
  }

  /// The thread that receives stops. Bells wake next() from now on.
  void release() { state_ = State::free; }

  /// An idle thread is there. Returns false if there is one already, or the role is closed.
  [[nodiscard]] bool add_idle() {
    if (state_ == State::closed || has_idle_) return false;
    has_idle_ = true;
    return true;
  }
  void remove_idle() { has_idle_ = false; }

  /// Returns the berth of the thread that a bell wakes while the role is free.
  [[nodiscard]] Berth next() const { return has_idle_ ? Berth::idle : Berth::receiver; }

 private:
  enum class State : std::uint8_t {
    closed,  ///< no thread receives: before the first ring, after the end, after a failure
    taken,
    free,  ///< no thread receives: a bell wakes next()
  };
  State state_ = State::closed;
  bool has_idle_ = false;
};

}  // namespace troupe::detail
