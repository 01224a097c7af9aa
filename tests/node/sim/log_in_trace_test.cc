#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

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
