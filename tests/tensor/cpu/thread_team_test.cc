#include "tensor/cpu/thread_team.h"

#include <boost/test/unit_test.hpp>

#include <pthread.h>

#include <cstddef>
#include <functional>
#include <thread>

#include "tensor/create.h"
#include "tensor/generator.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"
#include "tensor/ops/conv.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(thread_team)

/// While it lives, no thread with default attributes can be created: its stack would not fit into memory.
class NoThreads {
 public:
  NoThreads() {
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t large = before_;
    ::pthread_attr_setstacksize(&large, std::size_t{1} << 46);
    BOOST_REQUIRE(::pthread_setattr_default_np(&large) == 0);
  }
  ~NoThreads() { ::pthread_setattr_default_np(&before_); }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_{};
};

/// Runs `body` on a thread whose loops have used no other thread yet.
void on_new_thread(const std::function<void()>& body) { std::jthread(body).join(); }

BOOST_AUTO_TEST_CASE(team_has_the_threads_that_it_may_use) {
  on_new_thread([] {
    const MathThreads four(4);
    BOOST_TEST(cpu::ThreadTeam().size() == 4);
    const MathThreads two(2);
    BOOST_TEST(cpu::ThreadTeam().size() == 2);
  });
}

// libgomp would end this process.
BOOST_AUTO_TEST_CASE(loops_run_on_fewer_threads_where_the_system_gives_none) {
  Generator generator(1);
  const Tensor x = randn({512, 512}, generator);
  const Tensor image = randn({4, 8, 64, 64}, generator);
  const Tensor filter = randn({8, 8, 3, 3}, generator);
  const Tensor wanted = exp(x);
  on_new_thread([&] {
    const MathThreads four(4);
    {
      const NoThreads none;
      BOOST_TEST(cpu::ThreadTeam().size() == 1);
      BOOST_TEST(MathThreads::current() == 4);
      BOOST_TEST(same_bytes(exp(x), wanted));                  // a loop of our own
      BOOST_TEST(allclose(matmul(x, x), matmul(x, x)));        // oneDNN's product
      BOOST_TEST(conv2d(image, filter, {}, {}).size(1) == 8);  // and its convolution
    }
    BOOST_TEST(same_bytes(exp(x), wanted));
  });
  on_new_thread([&] {
    const MathThreads four(4);
    BOOST_TEST(cpu::ThreadTeam().size() == 4);
    const NoThreads none;
    BOOST_TEST(cpu::ThreadTeam().size() == 4);  // they exist
    BOOST_TEST(same_bytes(exp(x), wanted));
    {
      const MathThreads two(2);
      BOOST_TEST(same_bytes(exp(x), wanted));
    }
    BOOST_TEST(cpu::ThreadTeam().size() == 2);  // the others have ended
    BOOST_TEST(same_bytes(exp(x), wanted));
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
