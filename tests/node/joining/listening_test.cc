#include "node/joining/listening.h"

#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "node/links/zmq_link.h"
#include "tests/support/temporary_directory.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(listening)

using namespace std::chrono_literals;

std::unique_ptr<ZmqLink> listen_at(const std::string& place) {
  ZmqLinkOptions options;
  options.name = "a";
  options.bind = place;
  return ZmqLink::open(std::move(options)).value();
}

BOOST_AUTO_TEST_CASE(link_is_seen_from_its_opening_to_its_end) {
  const testing::TemporaryDirectory directory;
  const std::string path = "ipc://" + (directory.path() / "node a").string();
  for (const std::string& place :
       {std::string("tcp://127.0.0.1:*"), fmt::format("ipc://@troupe-listening-{}", getpid()), path}) {
    std::unique_ptr<ZmqLink> link = listen_at(place);
    const std::string address = link->address();
    BOOST_TEST(may_listen(address, 2s), address);
    link.reset();
    BOOST_TEST(!may_listen(address, 2s), address);
  }
}

BOOST_AUTO_TEST_CASE(address_of_an_unknown_kind_may_be_listened_at) {
  for (const char* address : {"carrier://loft", "tcp://ps.example:1", "ipc://", "nonsense"})
    BOOST_TEST(may_listen(address, 0ms));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
