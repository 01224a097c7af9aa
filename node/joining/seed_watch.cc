#include "node/joining/seed_watch.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "actors/membership/membership.h"
#include "node/joining/host_names.h"

namespace troupe::detail {
namespace {

constexpr int kLongestPause = 8;  // intervals

struct WatchedSeed {
  NodeName name;
  std::string address;
  Duration interval{};
};

void connect_to_seed(const std::weak_ptr<NodeCore>& weak, const WatchedSeed& seed) {
  const auto addresses = addresses_of(seed.address, std::chrono::steady_clock::now() + seed.interval);
  const auto node = weak.lock();
  if (!addresses || !node || node->stopped()) return;
  for (const std::string& address : addresses.value()) node->link().connect_to(seed.name, address);
}

void look_after(Duration pause, const std::shared_ptr<NodeCore>& node, const WatchedSeed& seed) {
  node->clock().at(node->clock().now() + pause, [weak = std::weak_ptr(node), seed, pause] {
    const auto core = weak.lock();
    if (!core || core->stopped()) return;
    if (core->membership().is_up(seed.name)) return look_after(seed.interval, core, seed);
    // A full pool has other work; the next look comes soon.
    static_cast<void>(
        core->executor().submit({"the seed is looked for", [weak, seed] { connect_to_seed(weak, seed); }}));
    look_after(std::min(2 * pause, kLongestPause * seed.interval), core, seed);
  });
}

}  // namespace

void watch_seed(const std::shared_ptr<NodeCore>& node, NodeName seed, std::string address, Duration interval) {
  look_after(interval, node, {std::move(seed), std::move(address), interval});
}

}  // namespace troupe::detail
