#include "node/sim/sim_executor.h"

#include <pthread.h>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/core/wait_point.h"
#include "actors/executor.h"
#include "actors/function_registry.h"
#include "actors/scope.h"
#include "node/local_cluster.h"
#include "node/node.h"
#include "node/sim/world.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_throw.h"

namespace troupe::sim {
BOOST_AUTO_TEST_SUITE(sim_executor)

namespace {

using namespace std::chrono_literals;

/// Calls itself on `other` and back until `depth` is used up.
std::int64_t back_and_forth(Scope& scope, const std::string& other, std::int64_t depth) {
  if (depth == 0) return 0;
  return 1 + scope.rpc_sync(other, &back_and_forth, scope.node_name(), depth - 1);
}

const FunctionRegistry& functions() {
  static const FunctionRegistry registry{{"back_and_forth", &back_and_forth}};
  return registry;
}

constexpr std::size_t kThreads = 4;

/// While it lives, new threads would have stacks larger than any address space.
class NoThreads {
 public:
  NoThreads() {
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t other = before_;
    ::pthread_attr_setstacksize(&other, std::size_t{1} << 47U);
    BOOST_REQUIRE(::pthread_setattr_default_np(&other) == 0);
  }
  ~NoThreads() { ::pthread_setattr_default_np(&before_); }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_{};
};

Error error_in_a_world(std::uint64_t seed) {
  World world({.seed = seed, .pool_threads_max = kThreads}, {"a", "b"}, functions());
  const Future<std::int64_t> depth =
      world.on("a", [](Node& node) { return node.rpc_sync("b", &back_and_forth, "a", 10); });
  const auto result = depth.get_for(60s);
  BOOST_TEST_REQUIRE(result.has_value());
  BOOST_TEST(world.run());
  return result->ok() ? Error{} : result->error();
}

}  // namespace

BOOST_AUTO_TEST_CASE(calls_deeper_than_the_pool_are_refused_as_a_real_pool_refuses_them) {
  LocalCluster cluster({"a", "b"}, functions(), {.pool = {.threads = 1, .threads_max = kThreads}});
  const Error real =
      testing::error_of([&] { return cluster.node("a").rpc_sync("b", &back_and_forth, "a", std::int64_t{10}); });
  BOOST_TEST(real.text().find("resource_exhausted: all 4 pool threads wait (pool.threads_max)") != std::string::npos,
             real.text());
  for (std::uint64_t seed = 1; seed <= 8; ++seed) BOOST_TEST(error_in_a_world(seed).text() == real.text());
}

BOOST_AUTO_TEST_CASE(a_pool_of_the_depth_of_the_calls_is_enough) {
  World world({.seed = 9, .pool_threads_max = kThreads}, {"a", "b"}, functions());
  for (int i = 0; i < 2; ++i) {
    const Future<std::int64_t> depth =
        world.on("a", [](Node& node) { return node.rpc_sync("b", &back_and_forth, "a", 7); });
    BOOST_TEST(depth.get() == 7);  // b and a serve four calls each
  }
}

BOOST_AUTO_TEST_CASE(queued_jobs_are_refused_when_the_last_thread_starts_to_wait) {
  World world({.seed = 10, .pool_threads_max = kThreads}, {"a"}, functions());
  Executor& pool = world.node("a").core().executor();
  detail::WaitPoint go_on;
  int ran = 0;
  std::vector<std::string> refused;
  const auto job = [&](std::string label) {
    return Job{.label = std::move(label),
               .run =
                   [&] {
                     static_cast<void>(go_on.wait(std::nullopt));
                     ++ran;
                   },
               .refused = [&](const Error& why) { refused.push_back(why.message); }};
  };
  for (int i = 0; i < 6; ++i) BOOST_TEST(!pool.submit(job("job")).has_value());
  Job unrefusable = job("unrefusable");
  unrefusable.refused = {};
  BOOST_TEST(!pool.submit(std::move(unrefusable)).has_value());
  world.run_for(1ms);
  BOOST_TEST(pool.running().size() == kThreads);
  BOOST_TEST(refused.size() + pool.unfinished() == 7U);
  const std::size_t begun_and_refusable = 6 - refused.size();
  BOOST_TEST(begun_and_refusable >= kThreads - 1);
  const std::size_t before = refused.size();
  BOOST_TEST(pool.submit(job("one more")).has_value());
  BOOST_TEST(refused.size() == before + 1);
  Job at_once = job("at once");
  at_once.urgency = Urgency::at_once;
  BOOST_TEST(!pool.submit(std::move(at_once)).has_value());
  bool ran_short = false;
  pool.run_short({.label = "short", .run = [&] { ran_short = true; }});
  world.run_for(1ms);
  BOOST_TEST(ran_short);
  BOOST_TEST(pool.running().size() == kThreads);
  go_on.signal();
  world.run_for(1ms);
  BOOST_TEST(pool.unfinished() == 0U);
  BOOST_TEST(static_cast<std::size_t>(ran) == begun_and_refusable + 2);  // and the unrefusable and the urgent one
  for (const std::string& why : refused) BOOST_TEST(why == "all 4 pool threads wait (pool.threads_max)");
}

BOOST_AUTO_TEST_CASE(a_job_that_gets_no_thread_of_the_system_is_refused_and_a_program_throws) {
  World world({.seed = 11}, {"a", "b"}, functions());
  {
    const NoThreads no_threads;
    const Error error =
        testing::error_of([&] { return world.node("a").rpc_sync("b", &back_and_forth, "a", std::int64_t{20}); });
    BOOST_TEST(error.text().find("pool threads wait, and the system gives no more: ") != std::string::npos,
               error.text());
    std::vector<Future<void>> programs;
    const auto begin_programs = [&] {
      for (int i = 0; i < 20; ++i) {
        programs.push_back(
            world.on("a", [](Node& node) { node.rpc_sync("b", &back_and_forth, "a", std::int64_t{1}); }));
      }
      world.run();
    };
    BOOST_CHECK_THROW(begin_programs(), std::system_error);
  }
  BOOST_TEST(world.run());
  BOOST_TEST(world.node("a").rpc_sync("b", &back_and_forth, "a", std::int64_t{20}) == 20);
}

BOOST_AUTO_TEST_CASE(what_a_job_throws_is_told_to_who_waits_or_logged_as_a_real_pool_does) {
  World world({.seed = 12}, {"a"}, functions());
  Executor& pool = world.node("a").core().executor();
  std::vector<std::string> refused;
  const auto job = [&](bool is_exception) {
    return Job{.label = "job",
               .run =
                   [=] {
                     if (is_exception) throw std::runtime_error("boom");
                     throw 7;
                   },
               .refused = [&](const Error& why) { refused.push_back(why.text()); }};
  };
  BOOST_TEST(!pool.submit(job(true)).has_value());
  world.run_for(1ms);
  pool.run_short(job(false));
  world.run_for(1ms);
  Job nobody = job(true);
  nobody.refused = {};
  BOOST_TEST(!pool.submit(std::move(nobody)).has_value());
  world.run_for(1ms);
  BOOST_TEST(pool.unfinished() == 0U);
  BOOST_TEST_REQUIRE(refused.size() == 2U);
  BOOST_TEST(refused[0] == "job: internal: boom");
  BOOST_TEST(refused[1].starts_with("job: internal: "), refused[1]);
}

BOOST_AUTO_TEST_CASE(a_pool_without_threads_is_a_mistake) {
  testing::expect_throw<std::invalid_argument>([] { World({.pool_threads_max = 0}, {"a"}, functions()); },
                                               "[World] pool_threads_max is 0");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::sim
