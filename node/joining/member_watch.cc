#include "node/joining/member_watch.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

namespace troupe::detail {
namespace {

void look_at(const NodeName& name, MemberFile& file, const KeyRing& ring) {
  MemberFile::News news = file.look(std::chrono::system_clock::now());
  if (!news.line.empty()) {
    spdlog::log(news.members ? spdlog::level::info : spdlog::level::warn, "[{}] {}", name, news.line);
  }
  if (!news.members) return;
  if (const auto replaced = ring.replace_members(*std::move(news.members)); !replaced) {
    spdlog::warn("[{}] {}", name, replaced.error().message);
  } else if (!ring.name_of(ring.own_keys().public_key())) {
    spdlog::error("[{}] the key of this node is not in the list of members any more: its peers do not hear it", name);
  }
}

}  // namespace

void watch_members(const std::shared_ptr<NodeCore>& node, std::shared_ptr<MemberFile> file, KeyRing ring,
                   Duration interval) {
  node->clock().at(node->clock().now() + interval, [weak = std::weak_ptr(node), file = std::move(file),
                                                    ring = std::move(ring), interval] {
    const auto core = weak.lock();
    if (!core || core->stopped()) return;
    // A full pool has other work; the next look comes soon.
    static_cast<void>(core->executor().submit(
        {"the list of members is read", [name = core->name(), file, ring] { look_at(name, *file, ring); }}));
    watch_members(core, file, ring, interval);
  });
}

}  // namespace troupe::detail
