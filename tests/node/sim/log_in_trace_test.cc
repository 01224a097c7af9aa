#include "node/sim/log_in_trace.h"

#include <spdlog/sinks/sink.h>
#include <spdlog/spdlog.h>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "actors/executor.h"
#include "actors/function_registry.h"
#include "node/local_cluster.h"
#include "node/node.h"
#include "node/sim/world.h"
#include "tests/support/output_of.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(log_in_trace)

namespace {

using sim::World;
using sim::WorldOptions;

const FunctionRegistry& functions() {
  static const FunctionRegistry none;
  return none;
}

/// Logs `line` on the calling thread, as a pool does whose job fails.
void log_here(ElasticPool& pool, std::string line) {
  pool.run_short({.label = std::move(line), .run = [] { throw std::runtime_error("it fails"); }});
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_trace_receives_what_the_worlds_threads_log_and_others_log_as_before) {
  ElasticPool pool({.threads = 1});
  World world({.seed = 17}, {"a"}, functions());
  const std::string output = testing::output_of([&] {
    log_here(pool, "line of the program");
    world.on("a", [&](Node&) { log_here(pool, "line of the function"); }).get();
    std::thread([&] { log_here(pool, "line of another thread"); }).join();
  });
  const std::string trace = world.trace_text();
  for (const char* line : {"line of the program", "line of the function"}) {
    BOOST_TEST(trace.find(line) != std::string::npos, line);
    BOOST_TEST(output.find(line) == std::string::npos, line);
  }
  BOOST_TEST(trace.find("line of another thread") == std::string::npos);
  BOOST_TEST(output.find("line of another thread") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_logger_stays_while_a_thread_is_in_it_that_outlives_its_world) {
  struct Slow final : spdlog::sinks::sink {
    std::binary_semaphore entered{0};
    std::binary_semaphore leaves{0};
    void log(const spdlog::details::log_msg& /*message*/) override {
      entered.release();
      leaves.acquire();
    }
    void flush() override {}
    void set_pattern(const std::string& /*pattern*/) override {}
    void set_formatter(std::unique_ptr<spdlog::formatter> /*formatter*/) override {}
  };
  const auto before = spdlog::default_logger();
  const auto slow = std::make_shared<Slow>();
  const auto outside = std::make_shared<spdlog::logger>("slow", slow);
  spdlog::set_default_logger(outside);
  std::optional<World> world(std::in_place, WorldOptions{.seed = 19}, std::vector<NodeName>{"a"}, functions());
  const std::weak_ptr<spdlog::logger> of_world = spdlog::default_logger();
  std::thread thread([] { spdlog::warn("line of another thread"); });
  slow->entered.acquire();
  world.reset();
  BOOST_TEST(!of_world.expired());
  BOOST_TEST((spdlog::default_logger() == outside));
  slow->leaves.release();
  thread.join();
  spdlog::set_default_logger(before);
}

BOOST_AUTO_TEST_CASE(worlds_of_two_threads_receive_their_own_lines) {
  ElasticPool pool({.threads = 1});
  World world({.seed = 20}, {"a"}, functions());
  std::binary_semaphore lives{0};
  std::binary_semaphore ends{0};
  std::string trace_of_other;
  std::thread thread([&] {
    World other({.seed = 21}, {"a"}, functions());
    other.on("a", [&](Node&) { log_here(pool, "line of the other world"); }).get();
    trace_of_other = other.trace_text();
    lives.release();
    ends.acquire();
  });
  lives.acquire();
  const std::string output =
      testing::output_of([&] { world.on("a", [&](Node&) { log_here(pool, "line of the older world"); }).get(); });
  ends.release();
  thread.join();
  BOOST_TEST(output.empty(), output);
  const std::string trace = world.trace_text();
  BOOST_TEST(trace.find("line of the older world") != std::string::npos);
  BOOST_TEST(trace.find("line of the other world") == std::string::npos);
  BOOST_TEST(trace_of_other.find("line of the other world") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_logger_that_a_program_made_the_default_one_stays_that_when_nodes_join) {
  ElasticPool pool({.threads = 1});
  World world({.seed = 18}, {"a"}, functions());  // its logger is neither spdlog's initial one nor Troupe's
  std::thread([] {
    const LocalCluster cluster({"b"}, functions(), {.pool = {}, .log_level = "info"});
    NodeOptions options;
    options.name = "c";
    options.log_level = "info";
    const Node node = Node::join(options, functions());
  }).join();
  const std::string output = testing::output_of([&] { log_here(pool, "line of the program"); });
  BOOST_TEST(output.empty(), output);
  BOOST_TEST(world.trace_text().find("line of the program") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
