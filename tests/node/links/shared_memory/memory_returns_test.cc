// All memory of links that share returns: of packets that nobody reads, of lost lives, and when there is no memory.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "node/links/shared_memory/shared_link.h"
#include "tests/node/links/shared_memory/nodes_by_hand.h"
#include "tests/node/links/shared_memory/sharing_nodes.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(memory_returns)

/// Returns how many segments, of all nodes together, this process maps.
std::size_t segments_mapped() {
  std::set<std::string> inodes;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string range, access, offset, device, inode, name;
    words >> range >> access >> offset >> device >> inode >> name;
    if (name == "/memfd:troupe") inodes.insert(inode);
  }
  return inodes.size();
}

void end_unused(const TwoByHand& two) {
  two.a.link->release_unused(std::chrono::steady_clock::now() + 1h, 5s);
  two.settle();
}

BOOST_AUTO_TEST_CASE(a_segment_whose_packet_never_leaves_stays_with_nobody) {
  TwoByHand two;
  const std::size_t before = segments_mapped();
  for (int i = 0; i < 20; ++i) {
    static_cast<void>(two.message({random_frame(kMib, two.random)}));
    end_unused(two);
    two.deliver(two.packet_of(two.message({random_frame(kMib, two.random)})));
    two.b.sink.last.clear();
    end_unused(two);
    BOOST_TEST(segments_mapped() == before);
  }
}

// Its session lets a message travel as a whole if not all of it could be shared.
BOOST_AUTO_TEST_CASE(segments_of_a_message_that_does_not_fit_into_the_limit_stay_with_nobody) {
  TwoByHand two({.bytes_max = 4 * kMib});
  const std::size_t before = segments_mapped();
  for (int i = 0; i < 20; ++i) {
    Frames message{frame_of("header"), frame_of("body")};
    for (int tensor = 0; tensor < 3; ++tensor) message.push_back(random_frame(2 * kMib, two.random));
    two.a.link->share("b", message);
    BOOST_TEST((message[3].memory == FrameMemory::leased && message[4].memory == FrameMemory::own));
    message.clear();
    end_unused(two);
    two.deliver(two.packet_of(two.message({random_frame(kMib, two.random)})));
    two.b.sink.last.clear();
    end_unused(two);
    BOOST_TEST(segments_mapped() == before);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
