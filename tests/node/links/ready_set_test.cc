#include "node/links/ready_set.h"

#include <boost/test/unit_test.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <vector>

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(ready_set)

using namespace std::chrono_literals;
using Keys = std::vector<ReadySet::Key>;

struct Event {
  Event() : descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Event() { ::close(descriptor); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void set() const { BOOST_REQUIRE(::eventfd_write(descriptor, 1) == 0); }
  void clear() const {
    ::eventfd_t ignored = 0;
    BOOST_REQUIRE(::eventfd_read(descriptor, &ignored) == 0);
  }
  const int descriptor;
};

BOOST_AUTO_TEST_CASE(keys_of_readable_descriptors_are_told_until_they_have_been_read) {
  const Event first;
  const Event second;
  ReadySet set;
  BOOST_REQUIRE(set.add(first.descriptor, 1).ok());
  BOOST_REQUIRE(set.add(second.descriptor, 2).ok());
  BOOST_TEST(set.wait(0ms) == Keys{}, boost::test_tools::per_element());
  second.set();
  BOOST_TEST(set.wait(-1ms) == Keys{2}, boost::test_tools::per_element());
  BOOST_TEST(set.wait(-1ms) == Keys{2}, boost::test_tools::per_element());
  second.clear();
  BOOST_TEST(set.wait(0ms) == Keys{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(descriptor_that_was_removed_is_not_told) {
  const Event event;
  ReadySet set;
  BOOST_REQUIRE(set.add(event.descriptor, 1).ok());
  event.set();
  set.remove(event.descriptor);
  BOOST_TEST(set.wait(0ms).empty());
}

BOOST_AUTO_TEST_CASE(room_is_told_while_it_is_watched) {
  const Event event;  // always has room
  ReadySet set;
  BOOST_REQUIRE(set.add(event.descriptor, 1).ok());
  BOOST_TEST(set.wait_for_room(0ms).empty());
  set.watch_room(event.descriptor, 1, ReadySet::Room::watched);
  BOOST_TEST_REQUIRE(set.wait_for_room(-1ms).size() == 1U);
  BOOST_TEST(set.wait_for_room(-1ms)[0].key == 1U);
  BOOST_TEST(!set.wait_for_room(-1ms)[0].is_readable);
  event.set();
  BOOST_TEST(set.wait_for_room(-1ms)[0].is_readable);
  event.clear();
  set.watch_room(event.descriptor, 1, ReadySet::Room::unwatched);
  BOOST_TEST(set.wait_for_room(0ms).empty());
}

BOOST_AUTO_TEST_CASE(wait_ends_after_its_time) {
  ReadySet set;
  const auto begin = std::chrono::steady_clock::now();
  BOOST_TEST(set.wait(20ms).empty());
  BOOST_TEST((std::chrono::steady_clock::now() - begin >= 20ms));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_watched_is_an_error) {
  ReadySet set;
  BOOST_TEST((set.add(-1, 1).error().code == ErrorCode::resource_exhausted));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
