#include "node/control/control_server.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "node/control/control_client.h"
#include "tests/support/fresh_control_name.h"

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(control_server)

using namespace std::chrono_literals;
using testing::fresh_control_name;

BOOST_AUTO_TEST_CASE(two_servers_of_one_process_answer_for_themselves) {
  const ControlName first = fresh_control_name("a");
  const ControlName second = fresh_control_name("b");
  const ControlServer a(first, [](std::string_view question) { return "a: " + std::string(question); });
  const ControlServer b(second, [](std::string_view question) { return "b: " + std::string(question); });
  const auto answers = ask({{second, "who"}, {first, "why"}, {first, "how"}}, 20s);
  BOOST_TEST_REQUIRE(answers.size() == 3U);
  BOOST_TEST(answers[0].text == "b: who");
  BOOST_TEST(answers[1].text == "a: why");
  BOOST_TEST(answers[2].text == "a: how");
}

BOOST_AUTO_TEST_CASE(it_ends_at_once_whoever_is_connected) {
  const ControlName name = fresh_control_name();
  std::optional<ControlServer> server(std::in_place, name, [](std::string_view) { return "fine"; });
  const FileDescriptor silent = connect_to(name);
  BOOST_TEST(ask({{name, "status"}}, 20s).at(0).text == "fine");
  const auto begin = std::chrono::steady_clock::now();
  server.reset();
  BOOST_TEST((std::chrono::steady_clock::now() - begin < ControlListener::kConnectionMax / 2));
  BOOST_TEST(!connect_to(name).is_open());
}

BOOST_AUTO_TEST_CASE(it_answers_the_next_question_after_one_that_it_had_no_memory_for) {
  const ControlName name = fresh_control_name();
  int asked = 0;
  const ControlServer server(name, [&](std::string_view) {
    if (++asked == 1) throw std::bad_alloc();
    return std::string("fine");
  });
  BOOST_TEST(!ask({{name, "status"}}, 20s).at(0).ok());
  BOOST_TEST(ask({{name, "status"}}, 20s).at(0).text == "fine");
}

BOOST_AUTO_TEST_CASE(when_its_thread_has_failed_clients_need_not_wait) {
  const ControlName name = fresh_control_name();
  const ControlServer server(name, [](std::string_view) -> std::string { throw std::runtime_error("broken"); });
  const auto begin = std::chrono::steady_clock::now();
  BOOST_TEST(!ask({{name, "status"}}, 20s).at(0).ok());
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 10s));
  BOOST_TEST(!connect_to(name).is_open());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
