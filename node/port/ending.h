// The end of a raw call, which reaches `done` exactly once, also if this process runs out of memory on the way.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "node/port.h"
#include "node/port/port_wire.h"

namespace troupe::port {

/// Made before its call is registered, so that no later shortage can lose `done`: a call that is dropped unended ends
/// as stopped for lack of memory, and its destructor then calls `done`. Thread rule: one thread at a time.
class Ending {
 public:
  using Count = std::atomic<std::size_t>;

  /// `open` counts the call from `expect` until it ends. `under_way` is released after `done` has returned. Either may
  /// be null.
  explicit Ending(std::shared_ptr<Count> open = nullptr, std::shared_ptr<void> under_way = nullptr)
      : under_way_(std::move(under_way)), open_(std::move(open)) {}
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() { tell(); }

  /// The call is about to be registered: `done` will be called. REQUIRES: called once, `done` does not throw.
  void expect(Port::Done done) noexcept;

  /// The call has ended; `tell` says so. `body` is empty unless the outcome is `answered`.
  void end(Port::Outcome outcome, Body body, std::string why) noexcept;

  /// Calls `done`, unless it was called before or is not expected.
  void tell();

 private:
  void close() noexcept;

  const std::shared_ptr<void> under_way_;  // first: destroyed last
  std::shared_ptr<Count> open_;            ///< null once the call has ended
  Port::Done done_;
  Port::Outcome outcome_ = Port::Outcome::stopped;
  Body body_;
  std::string why_ = kNoMemory;

  static constexpr const char* kNoMemory = "out of memory";  // short: a string of it allocates nothing
};

}  // namespace troupe::port
