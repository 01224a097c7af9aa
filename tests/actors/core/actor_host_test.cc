#include <boost/test/unit_test.hpp>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <fstream>
#include <memory>
#include <new>
#include <system_error>
#include <thread>

#include "actors/core/caf.h"
#include "actors/core/wait_point.h"
#include "actors/exceptions.h"
#include "node/local_cluster.h"
#include "tests/support/counting_new.h"

namespace troupe::detail {

struct CountDown {
  int left = 0;
};

}  // namespace troupe::detail

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::CountDown)

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(actor_host)

namespace {

struct Counted {
  std::thread::id first;
  std::thread::id last;
  WaitPoint ended;
};

using CountingActor = caf::typed_actor<caf::reacts_to<CountDown>>;

/// Sends itself the next number with each message, so that its mailbox is never empty.
CountingActor::behavior_type counting_actor(CountingActor::pointer self, const std::shared_ptr<Counted>& counted) {
  return {[self, counted](const CountDown& count) {
    if (counted->first == std::thread::id()) counted->first = std::this_thread::get_id();
    if (count.left > 0) return self->send(self, CountDown{count.left - 1});
    counted->last = std::this_thread::get_id();
    self->quit();
    counted->ended.signal();
  }};
}

constexpr rlim_t kStack = rlim_t{4} << 30;

/// While it lives, threads have stacks of this many bytes.
class Stacks {
 public:
  explicit Stacks(std::size_t bytes) {
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t other = before_;
    ::pthread_attr_setstacksize(&other, bytes);
    BOOST_REQUIRE(::pthread_setattr_default_np(&other) == 0);
  }
  ~Stacks() { ::pthread_setattr_default_np(&before_); }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

 private:
  pthread_attr_t before_{};
};

/// While it lives, the system gives this process `count` more threads, then none.
class ThreadLimit {
 public:
  explicit ThreadLimit(std::size_t count) {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    BOOST_REQUIRE(::getrlimit(RLIMIT_AS, &before_) == 0);
    rlimit limit = before_;
    limit.rlim_cur = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + count * kStack + kStack / 2;
    BOOST_REQUIRE(::setrlimit(RLIMIT_AS, &limit) == 0);
  }
  ~ThreadLimit() { ::setrlimit(RLIMIT_AS, &before_); }
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  const Stacks stacks_{kStack};
  rlimit before_{};
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_actor_with_many_messages_continues_on_a_thread_of_the_host) {
  const auto host = make_inline_host();
  const auto counted = std::make_shared<Counted>();
  host->send(host->spawn("the counting actor", ActorHost::Lost(), counting_actor, counted), CountDown{10'000});
  BOOST_TEST_REQUIRE(counted->ended.wait_here(std::chrono::steady_clock::now() + std::chrono::seconds(10)));
  BOOST_TEST((counted->first == std::this_thread::get_id()));
  BOOST_TEST((counted->last != std::this_thread::get_id()));
  BOOST_TEST(host->stop({}).empty());
}

// The system's logger, which it leaves on this thread, must not end after the system.
BOOST_AUTO_TEST_CASE(a_host_without_a_thread_leaves_nothing_on_the_thread_that_wanted_it) {
  {
    const Stacks too_large(std::size_t{1} << 46);
    BOOST_CHECK_THROW(static_cast<void>(make_inline_host()), std::system_error);
  }
  BOOST_TEST(caf::logger::current_logger() == nullptr);
  BOOST_TEST(make_inline_host()->stop({}).empty());
}

BOOST_AUTO_TEST_CASE(a_host_without_memory_leaves_nothing_on_the_thread_that_wanted_it) {
  std::size_t refusals = 0;
  for (bool is_refused = true; is_refused; ++refusals) {
    std::unique_ptr<ActorHost> host;
    const testing::RefusedAllocation refused(refusals + 1);  // the first allocation, then the second, ...
    try {
      host = make_inline_host();
    } catch (const std::bad_alloc&) {
    }
    is_refused = refused.happened();
    BOOST_TEST_REQUIRE((host == nullptr) == is_refused);
    BOOST_TEST_REQUIRE(caf::logger::current_logger() == nullptr);
  }
  BOOST_TEST(refusals > 10U);
}

BOOST_AUTO_TEST_CASE(a_cluster_begins_or_fails_whichever_of_its_threads_the_system_refuses) {
  std::size_t threads = 0;
  for (bool begins = false; !begins; ++threads) {
    const ThreadLimit limit(threads);
    try {
      const LocalCluster cluster({"ps0", "ps1"}, FunctionRegistry{});
      begins = true;
    } catch (const std::system_error&) {
    } catch (const RemoteError& error) {
      BOOST_TEST((error.code() == ErrorCode::resource_exhausted));
    }
  }
  BOOST_TEST(threads > 3U);  // each node has at least a clock, a pool and a host
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail
