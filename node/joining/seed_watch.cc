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

/// What is known between two looks at whether the seed is up.
struct Pause {
  Duration whole{};
  Duration left{};  ///< of it, before the node connects
};

void look_after(const std::shared_ptr<NodeCore>& node, const WatchedSeed& seed, Pause pause) {
  node->clock().at(node->clock().now() + seed.interval, [weak = std::weak_ptr(node), seed, pause] {
    const auto core = weak.lock();
    if (!core || core->stopped()) return;
    if (core->membership().is_up(seed.name)) return look_after(core, seed, {seed.interval, seed.interval});
    const Duration left = pause.left - seed.interval;
    if (left > Duration{0}) return look_after(core, seed, {pause.whole, left});
    // A full pool has other work; the next look comes soon.
    static_cast<void>(
        core->executor().submit({"the seed is looked for", [weak, seed] { connect_to_seed(weak, seed); }}));
    const Duration next = std::min(2 * pause.whole, kLongestPause * seed.interval);
    look_after(core, seed, {next, next});
  });
}

}  // namespace

void watch_seed(const std::shared_ptr<NodeCore>& node, NodeName seed, std::string address, Duration interval) {
  look_after(node, {std::move(seed), std::move(address), interval}, {interval, interval});
}

}  // namespace troupe::detail
