// Attempts to reach listeners of other hosts, all at once.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "node/doctor/doctor_messages.h"
#include "node/file_descriptor.h"

namespace troupe::detail {

/// Never blocks; an attempt that has no end at the order's patience has timed out.
class ReachAttempts {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Begins all of them.
  ReachAttempts(const ReachOrder& order, Time now);

  [[nodiscard]] bool over() const { return running_.empty(); }

  /// REQUIRES: over.
  [[nodiscard]] const Reached& reached() const { return reached_; }

  /// Adds descriptors for poll(2).
  void add_polled(std::vector<pollfd>& polled) const;

  /// Does all work that needs no waiting. `polled`: what the last add_polled added.
  void work(std::span<const pollfd> polled, Time now);

  /// Returns when work() is next needed without an event. REQUIRES: not over.
  [[nodiscard]] Time next_due() const;

 private:
  enum class Way : std::uint8_t { tcp, udp, stream };
  struct Attempt {
    std::size_t place;
    Way way;
    FileDescriptor socket;
    std::string token;
    std::string got;  ///< of the answer
    bool over = false;
  };

  void begin(std::size_t place, Way way, const ReachPlace& where);
  void ask(Attempt& attempt);
  void read(Attempt& attempt, Time now);
  void end(Attempt& attempt, ReachEnd end);
  void fail(Attempt& attempt, int failure);

  Reached reached_;
  std::vector<Attempt> running_;
  Time begin_;
  Time due_;
  Time ask_again_;  ///< datagrams get lost
};

}  // namespace troupe::detail
