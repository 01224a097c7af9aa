#include "node/links/shared_memory/segment.h"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <thread>

namespace troupe::testing {
namespace {

using detail::FileDescriptor;
using detail::Writers;

constexpr std::size_t kSegmentBytes = 8192;

/// Memory whose owner takes it away and seals it at once: between any two looks of the thread that maps it.
class TakenAway {
 public:
  enum class How { shrinks, makes_a_hole };

  explicit TakenAway(How how) : how_(how) {
    BOOST_REQUIRE(::ftruncate(file_.get(), kSegmentBytes) == 0);
    BOOST_REQUIRE(::fallocate(file_.get(), 0, 0, kSegmentBytes) == 0);
    current = this;
    struct sigaction action {};
    action.sa_handler = [](int) { current->take_away(); };
    BOOST_REQUIRE(::sigaction(SIGUSR1, &action, &before_) == 0);
  }
  ~TakenAway() { (void)::sigaction(SIGUSR1, &before_, nullptr); }
  TakenAway(const TakenAway&) = delete;
  TakenAway& operator=(const TakenAway&) = delete;

  /// Maps it as soon as it is sealed. Returns false if it is refused.
  bool is_mapped(Writers writers) {
    std::atomic<bool> looks = false;
    std::thread other([&looks, mapper = ::pthread_self()] {
      while (!looks) std::this_thread::yield();
      (void)::pthread_kill(mapper, SIGUSR1);
    });
    bool mapped = false;
    while (!taken_ && !mapped) {
      mapped = detail::map_segment(file_, kSegmentBytes, writers).ok();
      looks = true;
    }
    other.join();
    return mapped;
  }

 private:
  void take_away() {
    const int error = errno;
    const bool shrinks = how_ == How::shrinks;
    const int done = shrinks ? ::ftruncate(file_.get(), 0)
                             : ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kSegmentBytes);
    if (done == 0) (void)::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE);
    taken_ = 1;
    errno = error;
  }

  static inline TakenAway* current = nullptr;  ///< for the handler

  const How how_;
  const FileDescriptor file_{::memfd_create("taken-away", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  volatile std::sig_atomic_t taken_ = 0;
  struct sigaction before_ {};
};

BOOST_AUTO_TEST_SUITE(segment)

// Two system calls look at the memory: its owner acts before, after and, in one of a few rounds, between them.
BOOST_AUTO_TEST_CASE(memory_that_its_owner_takes_away_before_it_seals_it_is_never_mapped,
                     *boost::unit_test::label("fault-F48")) {
  for (int round = 0; round < 200; ++round) {
    BOOST_TEST_REQUIRE(!TakenAway(TakenAway::How::shrinks).is_mapped(Writers::owner));
    BOOST_TEST_REQUIRE(!TakenAway(TakenAway::How::makes_a_hole).is_mapped(Writers::owner));
    BOOST_TEST_REQUIRE(!TakenAway(TakenAway::How::shrinks).is_mapped(Writers::all));
  }
}

// Without a name nothing of it is left after a crash, and nobody else can open it.
BOOST_AUTO_TEST_CASE(segment_has_no_name_and_is_its_users_alone, *boost::unit_test::label("fault-F48")) {
  for (const Writers writers : {Writers::owner, Writers::all}) {
    const auto segment = detail::make_segment(kSegmentBytes, writers);
    BOOST_REQUIRE(segment.ok());
    struct stat status {};
    BOOST_REQUIRE(::fstat(segment.value().file.get(), &status) == 0);
    BOOST_TEST(status.st_nlink == 0U);
    BOOST_TEST((status.st_mode & 0777U) == 0600U);
    BOOST_TEST(::ftruncate(segment.value().file.get(), 0) != 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
