#include "node/control/control_client.h"

#include <boost/test/unit_test.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "node/control/control_server.h"
#include "tests/support/fresh_control_name.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(control_client)

using namespace std::chrono_literals;
using testing::fresh_control_name;

BOOST_AUTO_TEST_CASE(one_that_is_silent_costs_its_patience_once_and_hides_no_other) {
  const ControlName mute = fresh_control_name("mute");
  const ControlName deaf = fresh_control_name("deaf");
  const ControlName well = fresh_control_name("well");
  const detail::FileDescriptor listening = detail::listen_at(mute);  // no process accepts the connection
  const detail::FileDescriptor other = detail::listen_at(deaf);
  const detail::ControlServer server(well, [](std::string_view) { return "fine"; });
  const auto begin = std::chrono::steady_clock::now();
  const auto answers =
      ask({{mute, "status"}, {deaf, "status"}, {well, "status"}, {fresh_control_name("gone"), "status"}}, 2s);
  const auto took = std::chrono::steady_clock::now() - begin;
  BOOST_TEST_REQUIRE(answers.size() == 4U);
  BOOST_TEST(answers[0].problem == "no answer within 2000 ms");
  BOOST_TEST(answers[0].pid == getpid());
  BOOST_TEST(answers[1].problem == "no answer within 2000 ms");
  BOOST_TEST(answers[2].ok());
  BOOST_TEST(answers[2].text == "fine");
  BOOST_TEST(answers[3].problem == "no process answers there any more");
  BOOST_TEST((took >= 2s));
  BOOST_TEST((took < 4s));  // not once for each of the two
}

BOOST_AUTO_TEST_CASE(one_that_has_not_taken_many_questions_does_not_answer) {
  const ControlName stopped = fresh_control_name("stopped");
  const detail::FileDescriptor listening = detail::listen_at(stopped);
  std::vector<detail::FileDescriptor> before;
  do before.push_back(detail::connect_to(stopped));
  while (before.back().is_open());
  const auto answers = ask({{stopped, "status"}}, 20s);
  BOOST_TEST(answers.at(0).problem == "no answer: it has not taken the questions before this one");
}

BOOST_AUTO_TEST_CASE(one_process_is_asked_as_much_at_once_as_it_takes) {
  const ControlName busy = fresh_control_name("busy");
  const detail::ControlServer server(busy, [](std::string_view question) { return std::string(question); });
  std::vector<ControlQuestion> questions;
  for (int i = 0; i < 400; ++i) questions.push_back({busy, std::to_string(i)});
  const auto answers = ask(questions, 20s);
  BOOST_TEST_REQUIRE(answers.size() == questions.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    BOOST_TEST(answers[i].problem == "");
    BOOST_TEST(answers[i].text == questions[i].line);
  }
}

BOOST_AUTO_TEST_CASE(questions_that_did_not_begin_in_time_have_no_answer) {
  const ControlName mute = fresh_control_name("mute");
  const detail::FileDescriptor listening = detail::listen_at(mute);
  const auto answers = ask(std::vector<ControlQuestion>(20, {mute, "status"}), 50ms);
  BOOST_TEST_REQUIRE(answers.size() == 20U);
  for (const ControlAnswer& answer : answers) BOOST_TEST(answer.problem == "no answer within 50 ms");
}

BOOST_AUTO_TEST_CASE(without_descriptors_the_reason_is_an_answer) {
  const ControlName well = fresh_control_name("well");
  const detail::ControlServer server(well, [](std::string_view) { return "fine"; });
  rlimit usual{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = usual.rlim_max};
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const auto answers = ask({{well, "status"}}, 20s);
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &usual) == 0);
  BOOST_TEST(answers.at(0).problem == "it cannot be asked: Too many open files");
}

BOOST_AUTO_TEST_CASE(what_is_no_answer_is_a_problem) {
  const ControlName empty = fresh_control_name("empty");
  const ControlName endless = fresh_control_name("endless");
  const detail::ControlServer first(empty, [](std::string_view) { return ""; });
  const detail::ControlServer second(endless, [](std::string_view) { return std::string(9 << 20, 'x'); });
  const auto answers = ask({{empty, "status"}, {endless, "status"}}, 20s);
  BOOST_TEST(answers.at(0).problem == "it closed the connection without an answer");
  BOOST_TEST(answers.at(1).problem == "its answer is longer than 8000000 bytes");
}

BOOST_AUTO_TEST_CASE(obstacles_are_read_from_the_state_of_the_process) {
  BOOST_TEST(detail::obstacle_in("12 (embed) T 1 12 12") == "its process is stopped");
  BOOST_TEST(detail::obstacle_in("12 (a) R (b) t 1") == "its process is held by a debugger");
  BOOST_TEST(detail::obstacle_in("12 (embed) Z 1") == "its process has ended");
  BOOST_TEST(detail::obstacle_in("12 (embed) S 1") == "");
  BOOST_TEST(detail::obstacle_in("12 (embed) ") == "");
  BOOST_TEST(detail::obstacle_in("") == "");
  BOOST_TEST(obstacle_of(getpid()) == "");
  BOOST_TEST(obstacle_of(0) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
