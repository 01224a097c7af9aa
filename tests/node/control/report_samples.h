// Sample reports of a cluster in which every field is set.
#pragma once

#include <chrono>

#include "node/control/cluster_report.h"

namespace troupe::testing {

inline NodeReport sample_node_report() {
  using std::chrono_literals::operator""us;
  using std::chrono_literals::operator""ms;
  using std::chrono_literals::operator""s;
  NodeReport report;
  report.phase = NodePhase::serving;
  report.rank = 1;
  report.age = 12'345'678us;
  report.members = {"ps0", "trainer"};
  report.counts.node = {"ps0", 1};
  report.counts.owners = 2;
  report.counts.handles = 3;
  report.counts.forks = 4;
  report.counts.pending_users = 5;
  report.counts.pending_calls = 6;
  report.counts.waiting_calls = 60;
  report.counts.served_calls = 7;
  report.counts.contexts = 8;
  report.counts.backward_passes = 9;
  report.counts.shards = 10;
  report.counts.pool_threads = 11;
  report.counts.threads_busy = 12;
  report.counts.threads_waiting = 13;
  report.counts.threads_idle = 14;
  report.counts.unreachable.emplace("trainer", 4200ms);
  report.counts.peers.emplace("trainer", PeerHoldings{60, 61'000, 62, 63'000, 64, 65, 66, 67});
  report.counts.traffic.emplace();
  report.counts.traffic->emplace("trainer", PeerTraffic{1, 2, 3000, 4'000'000});
  report.counts.shared_memory = SharedMemoryUse{.peers = 1,
                                                .rings = 5,
                                                .segments = 2,
                                                .bytes = 9'000'000,
                                                .idle_bytes = 1'000'000,
                                                .kept_bytes = 2'000'000,
                                                .gpu_bytes = 8'000'000,
                                                .leases = 3,
                                                .tensors = 40,
                                                .bytes_copied = 50'000'000,
                                                .bytes_avoided = 600'000'000,
                                                .ring_packets = 6'000,
                                                .refused = 7};
  report.counts.streams = StreamUse{.out_streams = 3,
                                    .in_streams = 4,
                                    .encrypted = true,
                                    .packets_sent = 5'000,
                                    .packets_received = 6'001,
                                    .dropped = 8,
                                    .refused = 9};
  report.counts.transports.emplace("trainer", PeerTransport{"shared memory", "no ring: why"});
  return report;
}

inline StackReport sample_stack_report() {
  using std::chrono_literals::operator""us;
  using std::chrono_literals::operator""ms;
  using std::chrono_literals::operator""s;
  StackReport report;
  report.node = sample_node_report();
  report.stack.counts = report.node.counts;
  report.stack.calls = {{"rpc forward", "ps1", 1'200ms, 58'800ms, "trainer.cc:57"},
                        {"rpc watch", "trainer", 7ms, std::nullopt, ""}};
  report.stack.served = {{"rpc keep", "trainer", 90s}};
  report.stack.values = {{"trainer.3",
                          {{"rpc keep for trainer", UseState::has_turn, 90s},
                           {"rpc forward for ps1", UseState::returning, 3s},
                           {"", UseState::arriving, 2s},
                           {"rpc step for ps1", UseState::waits_elsewhere, 95s}}},
                         {"trainer.4", {{"rpc keep for trainer", UseState::early, 1s}}}};
  report.stack.contexts = {{"trainer.17", {"ps1", "trainer"}, 1, 12, 40ms}, {"ps0.1", {}, 0, 0, 2ms}};
  report.stack.barriers = {{"barrier", {{"trainer", 3s}, {"ps0", 1s}}, {"ps1", "ps2"}}};
  report.stack.threads = {{"rpc keep for trainer", 90s, false}, {"rpc step for ps1", 95s, true}};
  report.stack.silent = {"contexts"};
  return report;
}

inline LaunchReport sample_launch_report() {
  using std::chrono_literals::operator""us;
  using std::chrono_literals::operator""ms;
  using std::chrono_literals::operator""s;
  return {"digits",
          "/home/me/cluster.toml",
          75s,
          {{"ps0", 101, "", ""}, {"trainer", 102, "killed by signal 9 (SIGKILL)", "b"}}};
}

}  // namespace troupe::testing
