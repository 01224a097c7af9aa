#include "actors/debug_info.h"

#include <fmt/format.h>

#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "actors/core/peer_accounts.h"
#include "actors/membership/membership.h"
#include "actors/references/references.h"

namespace troupe {

std::string DebugInfo::text() const {
  std::string text = fmt::format("node: {}\n", node.text());
  const auto line = [&text](std::string_view key, std::uint64_t value) { text += fmt::format("{}: {}\n", key, value); };
  line("owners", owners);
  line("handles", handles);
  line("forks", forks);
  line("pending_users", pending_users);
  line("pending_calls", pending_calls);
  line("waiting_calls", waiting_calls);
  line("served_calls", served_calls);
  line("contexts", contexts);
  line("backward_passes", backward_passes);
  line("shards", shards);
  line("pool_threads", pool_threads);
  line("threads_busy", threads_busy);
  line("threads_waiting", threads_waiting);
  line("threads_idle", threads_idle);
  for (const auto& [peer, silence] : unreachable) {
    text += fmt::format("unreachable.{}: {:.1f} s\n", peer, std::chrono::duration<double>(silence).count());
  }
  for (const auto& [peer, of] : peers) {
    line(fmt::format("peers.{}.waiting_calls", peer), of.waiting_calls);
    line(fmt::format("peers.{}.waiting_bytes", peer), of.waiting_bytes);
    line(fmt::format("peers.{}.queued_calls", peer), of.queued_calls);
    line(fmt::format("peers.{}.answer_bytes", peer), of.answer_bytes);
    line(fmt::format("peers.{}.owners", peer), of.owners);
    line(fmt::format("peers.{}.forks", peer), of.forks);
    line(fmt::format("peers.{}.contexts", peer), of.contexts);
    line(fmt::format("peers.{}.shards", peer), of.shards);
  }
  if (shared_memory) {
    line("shared.peers", shared_memory->peers);
    line("shared.rings", shared_memory->rings);
    line("shared.segments", shared_memory->segments);
    line("shared.bytes", shared_memory->bytes);
    line("shared.idle_bytes", shared_memory->idle_bytes);
    line("shared.kept_bytes", shared_memory->kept_bytes);
    line("shared.gpu_bytes", shared_memory->gpu_bytes);
    line("shared.leases", shared_memory->leases);
    line("shared.tensors", shared_memory->tensors);
    line("shared.bytes_copied", shared_memory->bytes_copied);
    line("shared.bytes_avoided", shared_memory->bytes_avoided);
    line("shared.ring_packets", shared_memory->ring_packets);
    line("shared.refused", shared_memory->refused);
  }
  if (streams) {
    line("streams.out", streams->out_streams);
    line("streams.in", streams->in_streams);
    line("streams.encrypted", streams->encrypted);
    line("streams.packets_sent", streams->packets_sent);
    line("streams.packets_received", streams->packets_received);
    line("streams.dropped", streams->dropped);
    line("streams.refused", streams->refused);
  }
  for (const auto& [peer, transport] : transports) text += fmt::format("transport.{}: {}\n", peer, transport.text());
  if (!traffic) return text;
  for (const auto& [peer, counts] : *traffic) {
    line(fmt::format("traffic.{}.calls_sent", peer), counts.calls_sent);
    line(fmt::format("traffic.{}.calls_received", peer), counts.calls_received);
    line(fmt::format("traffic.{}.bytes_sent", peer), counts.bytes_sent);
    line(fmt::format("traffic.{}.bytes_received", peer), counts.bytes_received);
    line(fmt::format("traffic.{}.packets_damaged", peer), counts.packets_damaged);
  }
  return text;
}

DebugInfo detail::debug_info_of(NodeCore& node) {
  const NodeCounts counts = node.counts();
  const PoolCounts pool = node.executor().counts();
  const Result<WorkerInfo> self = node.membership().info();
  DebugInfo info;
  info.node = self ? self.value() : WorkerInfo{node.name(), 0};
  info.owners = counts.owned_values;
  info.handles = counts.handles;
  info.forks = node.references().forks();
  info.pending_users = node.references().unconfirmed_forks();
  info.pending_calls = counts.pending_requests;
  info.served_calls = counts.served_calls;
  info.contexts = counts.contexts;
  info.backward_passes = node.contexts().passes();
  info.shards = counts.shards;
  info.pool_threads = pool.threads;
  info.threads_busy = pool.busy;
  info.threads_waiting = pool.waiting;
  info.threads_idle = pool.idle;
  info.unreachable = node.silences().list(node.clock().now());
  std::erase_if(info.unreachable, [&node](const auto& silent) { return !node.is_up(silent.first); });
  info.peers = node.accounts().list();
  for (const auto& [peer, of] : info.peers) info.waiting_calls += of.waiting_calls;
  info.traffic = node.traffic().counts();
  info.shared_memory = node.shared_memory();
  info.streams = node.streams();
  info.transports = node.transports();
  std::erase_if(info.transports, [&node](const auto& peer) { return !node.is_up(peer.first); });
  return info;
}

}  // namespace troupe
