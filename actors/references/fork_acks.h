// Acknowledgements of the handles that one message brought back to the node that owns their values.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "messages/rref.h"

namespace troupe::detail {

/// Collects forks that their owners know, each an actor of its own, and sends them together once all owners are done:
/// each of these holds the object, and the last one to let go of it sends. Thread rule: any thread.
class ForkAcks {
 public:
  /// Called with 1 to msg::kForkAcksMax forks. REQUIRES: it does not throw.
  using Send = std::function<void(std::vector<msg::RRefFork>)>;

  /// `expected`: how many forks will be added.
  ForkAcks(std::size_t expected, Send send);
  ~ForkAcks();
  ForkAcks(const ForkAcks&) = delete;
  ForkAcks& operator=(const ForkAcks&) = delete;

  void add(const RRefId& rref, const ForkId& fork);

 private:
  const Send send_;
  std::mutex mutex_;
  std::vector<msg::RRefFork> known_;  ///< guarded by mutex_
};

}  // namespace troupe::detail
