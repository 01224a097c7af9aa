// Model of one node that receives: its own thread, one that waits for an answer, idle threads of the pool, and
// processes that ring. Each step is one access to the memory that they share, or one hold of a lock. Explores every
// order of the steps, with deaths and deadlines.
#pragma once

#include <cstdint>
#include <string>

namespace troupe::testing {

struct ReceivingScript {
  int ringers = 1;                ///< processes that ring, each a bell of its own
  int rings_each = 1;             ///< each time with a message
  bool waits = false;             ///< a thread waits for the first ringer's first message
  bool has_deadline = false;      ///< its wait may end at any time
  int idle_threads = 0;           ///< each idles, leaves for a job when there is one, and idles again
  bool job_from_message = false;  ///< each message of the last ringer is a job for an idle thread
  int jobs_from_outside = 0;
  bool a_ringer_may_die = false;  ///< at any step
};

/// Results of an exploration. Tests assert that the cases they are about occurred.
struct ReceivingExploration {
  std::uint64_t states = 0;
  std::uint64_t ends = 0;
  std::uint64_t by_own = 0;     ///< messages that the own thread received
  std::uint64_t by_waiter = 0;  ///< that the waiting thread received
  std::uint64_t by_idle = 0;    ///< that an idle thread received
  std::uint64_t deaths = 0;
};

/// Explores all orders. Throws std::runtime_error with the preceding steps if a message stays unread while all sleep, a
/// wait does not end, or two threads receive at once.
[[nodiscard]] ReceivingExploration explore(const ReceivingScript& script);

}  // namespace troupe::testing
