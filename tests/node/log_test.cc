#include "node/log.h"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include "actors/executor.h"
#include "actors/function_registry.h"
#include "node/local_cluster.h"
#include "tests/support/expect_throw.h"
#include "tests/support/output_of.h"

namespace troupe {
namespace {

/// Logs `line` as an error, on the calling thread.
void log_line(ElasticPool& pool, const std::string& line) {
  pool.run_short({.label = line, .run = [] { throw std::runtime_error("it fails"); }});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(log_text)

BOOST_AUTO_TEST_CASE(an_entry_shows_what_it_was_given) {
  BOOST_TEST(detail::entry_text("rpc add failed on ps0: größer als 3\t(4)") ==
             "rpc add failed on ps0: größer als 3\t(4)");
  BOOST_TEST(detail::entry_text("").empty());
}

BOOST_AUTO_TEST_CASE(text_of_any_size_takes_a_bounded_entry) {
  const std::string most(16 << 10, 'e');
  BOOST_TEST(detail::entry_text(most) == most);
  BOOST_TEST(detail::entry_text(most + most) == most + " [16384 more bytes]");
  const std::string before(most.substr(1));
  BOOST_TEST(detail::entry_text(before + "\xc3\xa9!") == before + " [3 more bytes]");
}

BOOST_AUTO_TEST_CASE(text_of_a_peer_forges_no_entry_and_commands_no_terminal) {
  BOOST_TEST(detail::entry_text("f\n12:00:00.000 error the disk is full") ==
             "f\n    12:00:00.000 error the disk is full");
  BOOST_TEST(detail::entry_text("a\rb\x1b[2J\x7f") == "a\\x0db\\x1b[2J\\x7f");
  BOOST_TEST(detail::entry_text("a\xc2\x9b"
                                "2Jb") == "a\\x9b2Jb");
  BOOST_TEST(detail::entry_text(std::string("a\0b", 3)) == "a\\x00b");
  BOOST_TEST(detail::entry_text("\xc2") == "\xc2");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(log_destination)

BOOST_AUTO_TEST_CASE(the_last_node_that_has_a_level_sets_it) {
  ElasticPool pool({.threads = 1});
  const auto join = [](const std::string& level) {
    const LocalCluster nodes({"a"}, FunctionRegistry{}, {.pool = {}, .log_level = level});
  };
  const std::string logged = testing::output_of([&] {
    join("off");
    log_line(pool, "line one");
    join("error");
    log_line(pool, "line two");
    join("off");
    join("");
    log_line(pool, "line three");
    join("info");
    log_line(pool, "line four");
  });
  for (const char* line : {"line one", "line three"}) BOOST_TEST(logged.find(line) == std::string::npos, logged);
  for (const char* line : {"line two", "line four"}) BOOST_TEST(logged.find(line) != std::string::npos, logged);
}

BOOST_AUTO_TEST_CASE(a_word_that_is_no_level_is_refused_and_silences_nothing) {
  using testing::expect_throw;
  ElasticPool pool({.threads = 1});
  const std::string logged = testing::output_of([&] {
    log_to_stderr("info");
    const std::string why = "log_level: \"INFO\" is not one of trace, debug, info, warn, error, off";
    expect_throw<std::invalid_argument>([] { log_to_stderr("INFO"); }, why);
    expect_throw<std::invalid_argument>([] { keep_log_off_stdout("INFO"); }, why);
    expect_throw<std::invalid_argument>(
        [] { const LocalCluster nodes({"a"}, FunctionRegistry{}, {.pool = {}, .log_level = "INFO"}); }, why);
    log_line(pool, "line five");
  });
  BOOST_TEST(logged.find("line five") != std::string::npos, logged);
}

BOOST_AUTO_TEST_CASE(threads_may_log_while_the_level_changes) {
  ElasticPool pool({.threads = 1});
  const std::string logged = testing::output_of([&] {
    log_to_stderr("error");
    std::atomic<bool> begun = false;
    std::atomic<bool> done = false;
    std::thread logs([&] {
      while (!done) {
        log_line(pool, "a line of a thread");
        begun = true;
        begun.notify_one();
      }
    });
    begun.wait(false);
    for (int i = 0; i < 20'000; ++i) log_to_stderr(i % 2 == 0 ? "off" : "error");
    done = true;
    logs.join();
  });
  BOOST_TEST(logged.find("a line of a thread") != std::string::npos);
  log_to_stderr("info");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
