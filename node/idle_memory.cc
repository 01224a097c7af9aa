#include "node/idle_memory.h"

namespace troupe::detail {

void return_idle_memory(const std::shared_ptr<NodeCore>& node, CachingAllocator& memory, Duration idle) {
  const TimePoint now = node->clock().now();
  if (memory.statistics().bytes_cached > 0) {
    // A full pool has other work; there is a next time.
    static_cast<void>(node->executor().submit({"memory goes back", [&memory, now, idle] { memory.release_unused(now, idle); }}));
  }
  node->clock().at(now + idle, [weak = std::weak_ptr(node), &memory, idle] {
    if (const auto core = weak.lock(); core && !core->stopped()) return_idle_memory(core, memory, idle);
  });
}

}  // namespace troupe::detail
