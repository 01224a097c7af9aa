#include "node/idle_memory.h"

#include <new>

namespace troupe::detail {
namespace {

void give_back_and_come_again(const std::shared_ptr<NodeCore>& node, CachingAllocator& memory, Duration idle) {
  const TimePoint now = node->clock().now();
  if (memory.statistics().bytes_cached > 0) {
    // A full pool has other work; the next round tries again.
    static_cast<void>(
        node->executor().submit({"memory goes back", [&memory, now, idle] { memory.release_unused(now, idle); }}));
  }
  if (node->shared_memory()) {  // also a link that shares nothing yet: it asks peers again
    static_cast<void>(
        node->executor().submit({"shared memory goes back", [node, idle] { node->release_shared_memory(idle); }}));
  }
  node->clock().at(now + idle, [weak = std::weak_ptr(node), &memory, idle] {
    if (const auto core = weak.lock(); core && !core->stopped()) return_idle_memory(core, memory, idle);
  });
}

}  // namespace

void return_idle_memory(const std::shared_ptr<NodeCore>& node, CachingAllocator& memory, Duration idle) noexcept {
  try {
    give_back_and_come_again(node, memory, idle);
  } catch (const std::bad_alloc&) {
    memory.release_cached();
    try {
      give_back_and_come_again(node, memory, idle);
    } catch (const std::bad_alloc&) {
      // The node has worse problems than cached memory.
    }
  }
}

}  // namespace troupe::detail
