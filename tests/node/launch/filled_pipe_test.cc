// What a program inherits has all bytes, also where pipes have little room.
#include "node/launch/filled_pipe.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <boost/test/unit_test.hpp>

#include <exception>
#include <string>
#include <utility>
#include <vector>

using namespace troupe;
using namespace troupe::detail;

namespace {

/// Returns the ring of the first of `count` members.
KeyRing ring_among(std::size_t count) {
  std::vector<NodeName> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back("trainer" + std::to_string(i));
  return make_run_keys(names).front();
}

/// Becomes a user without privileges, if it can, and takes all the room that its pipes may have, if that is limited.
std::vector<Pipe> pipes_without_room() {
  constexpr uid_t kNobody = 65'534;
  constexpr std::size_t kPipesMax = 200;
  (void)syscall(SYS_setresuid, kNobody, kNobody, kNobody);
  std::vector<Pipe> pipes;
  do {
    pipes.push_back(make_pipe());
  } while (fcntl(pipes.back().write_end.get(), F_SETPIPE_SZ, 1 << 20) >= 0 && pipes.size() < kPipesMax);
  return pipes;
}

/// Returns the number of members of the ring that a node finds in `descriptor`; 0 if it finds none.
std::size_t members_read_from(FileDescriptor descriptor) {
  const int number = dup(descriptor.get());
  descriptor.close();
  const auto ring = KeyRing::from_descriptor(number);
  return ring ? ring.value().size() : 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(filled_pipe)

BOOST_AUTO_TEST_CASE(a_ring_is_read_as_it_was) {
  for (const std::size_t count : {1U, 700U, 5'000U})
    BOOST_TEST(members_read_from(descriptor_with(ring_among(count))) == count);
}

// As when one user starts hundreds of nodes, of which each has pipes for its output.
BOOST_AUTO_TEST_CASE(a_ring_is_whole_also_when_pipes_have_no_room) {
  const KeyRing ring = ring_among(700);
  const pid_t child = fork();
  if (child == 0) {
    try {
      const std::vector<Pipe> pipes = pipes_without_room();
      _exit(!pipes.empty() && members_read_from(descriptor_with(ring)) == 700 ? 0 : 1);
    } catch (const std::exception&) {
      _exit(2);
    }
  }
  int status = 0;
  BOOST_TEST_REQUIRE(waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
