#include "actors/debug_info.h"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(debug_info)

BOOST_AUTO_TEST_CASE(text_has_one_line_for_each_counter) {
  DebugInfo info;
  info.node = {"ps0", 1};
  info.owners = 2;
  info.handles = 20;
  info.forks = 3;
  info.pending_users = 4;
  info.pending_calls = 5;
  info.waiting_calls = 50;
  info.served_calls = 6;
  info.contexts = 7;
  info.backward_passes = 8;
  info.shards = 9;
  info.pool_threads = 10;
  info.threads_busy = 11;
  info.threads_waiting = 12;
  info.threads_idle = 13;
  const std::string without =
      "node: ps0 (rank 1)\n"
      "owners: 2\n"
      "handles: 20\n"
      "forks: 3\n"
      "pending_users: 4\n"
      "pending_calls: 5\n"
      "waiting_calls: 50\n"
      "served_calls: 6\n"
      "contexts: 7\n"
      "backward_passes: 8\n"
      "shards: 9\n"
      "pool_threads: 10\n"
      "threads_busy: 11\n"
      "threads_waiting: 12\n"
      "threads_idle: 13\n";
  BOOST_TEST(info.text() == without);
  info.unreachable.emplace("ps1", std::chrono::milliseconds(4200));
  BOOST_TEST(info.text() == without + "unreachable.ps1: 4.2 s\n");
  info.unreachable.clear();
  info.peers.emplace("ps1", PeerHoldings{1, 2, 3, 4, 5, 6, 7, 8});
  const std::string peers =
      "peers.ps1.waiting_calls: 1\n"
      "peers.ps1.waiting_bytes: 2\n"
      "peers.ps1.queued_calls: 3\n"
      "peers.ps1.answer_bytes: 4\n"
      "peers.ps1.owners: 5\n"
      "peers.ps1.forks: 6\n"
      "peers.ps1.contexts: 7\n"
      "peers.ps1.shards: 8\n";
  BOOST_TEST(info.text() == without + peers);
  info.peers.clear();
  info.shared_memory = SharedMemoryUse{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
  const std::string shared =
      "shared.peers: 1\n"
      "shared.rings: 2\n"
      "shared.segments: 3\n"
      "shared.bytes: 4\n"
      "shared.idle_bytes: 5\n"
      "shared.kept_bytes: 6\n"
      "shared.gpu_bytes: 7\n"
      "shared.leases: 8\n"
      "shared.tensors: 9\n"
      "shared.bytes_copied: 10\n"
      "shared.bytes_avoided: 11\n"
      "shared.ring_packets: 12\n"
      "shared.refused: 13\n";
  BOOST_TEST(info.text() == without + shared);
  info.shared_memory.reset();
  info.streams = StreamUse{1, 2, true, 4, 5, 6, 7};
  const std::string streams =
      "streams.out: 1\n"
      "streams.in: 2\n"
      "streams.encrypted: 1\n"
      "streams.packets_sent: 4\n"
      "streams.packets_received: 5\n"
      "streams.dropped: 6\n"
      "streams.refused: 7\n";
  BOOST_TEST(info.text() == without + streams);
  info.streams.reset();
  info.transports = {{"ps1", {"unix sockets", "no ring: why"}}, {"ps2", {"shared memory + ring", ""}}};
  BOOST_TEST(info.text() == without +
                                "transport.ps1: unix sockets (no ring: why)\n"
                                "transport.ps2: shared memory + ring\n");
  info.transports.clear();
  info.traffic.emplace();
  info.traffic->emplace("trainer", PeerTraffic{1, 2, 3, 4, 5});
  BOOST_TEST(info.text() == without +
                                "traffic.trainer.calls_sent: 1\n"
                                "traffic.trainer.calls_received: 2\n"
                                "traffic.trainer.bytes_sent: 3\n"
                                "traffic.trainer.bytes_received: 4\n"
                                "traffic.trainer.packets_damaged: 5\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
