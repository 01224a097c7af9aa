#include "node/control/control_listener.h"

#include <boost/test/unit_test.hpp>

#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/fresh_control_name.h"

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;

struct Listener {
  const ControlName name = testing::fresh_control_name();
  std::vector<std::string> questions;
  std::string answer = "fine\n";
  ControlListener listener{name, [this](std::string_view question) {
                             questions.emplace_back(question);
                             return answer;
                           }};
  ControlListener::Time now{1h};

  [[nodiscard]] FileDescriptor connect() const {
    FileDescriptor socket = connect_to(name);
    BOOST_TEST_REQUIRE(socket.is_open());
    return socket;
  }
  static void say(const FileDescriptor& socket, const std::string& text) {
    BOOST_TEST_REQUIRE(send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
  }
  void work() { listener.work(now); }

  /// Returns the data received so far.
  static std::string heard(const FileDescriptor& socket) {
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t size = 0; (size = recv(socket.get(), buffer.data(), buffer.size(), 0)) > 0;)
      text.append(buffer.data(), static_cast<std::size_t>(size));
    return text;
  }
  /// Returns whether the other side has closed the connection. Reads the remaining data.
  static bool is_over(const FileDescriptor& socket) {
    char byte = 0;
    static_cast<void>(heard(socket));
    const ssize_t size = recv(socket.get(), &byte, 1, 0);
    return size == 0 || (size < 0 && errno == ECONNRESET);
  }
};

BOOST_FIXTURE_TEST_SUITE(control_listener, Listener)

BOOST_AUTO_TEST_CASE(a_question_is_answered_and_the_connection_ends) {
  const FileDescriptor socket = connect();
  say(socket, "status\n");
  work();
  BOOST_TEST((questions == std::vector<std::string>{"status"}));
  BOOST_TEST(heard(socket) == "fine\n");
  BOOST_TEST(is_over(socket));
  BOOST_TEST(listener.connections() == 0U);
}

BOOST_AUTO_TEST_CASE(an_answer_may_come_later) {
  std::vector<std::uint64_t> ids;
  const ControlName other = testing::fresh_control_name();
  ControlListener later(other, ControlListener::AnswerOrLater([&](std::string_view, std::uint64_t id) {
                          ids.push_back(id);
                          return std::optional<std::string>();
                        }));
  const FileDescriptor first = connect_to(other);
  const FileDescriptor second = connect_to(other);
  say(first, "a\n");
  say(second, "b\n");
  later.work(now);
  later.work(now);
  BOOST_TEST_REQUIRE(ids.size() == 2U);
  std::vector<pollfd> polled;
  later.add_polled(polled);
  BOOST_TEST(::poll(polled.data(), polled.size(), 0) == 0);  // a loop around poll(2) sleeps meanwhile
  later.take_answer(ids[1], "to b");
  later.take_answer(77, "to nobody");
  later.work(now);
  BOOST_TEST(heard(first).empty());
  BOOST_TEST(heard(second) == "to b");
  later.work(now + ControlListener::kConnectionMax);
  BOOST_TEST(is_over(first));
  later.take_answer(ids[0], "too late");
  BOOST_TEST(later.connections() == 0U);
}

BOOST_AUTO_TEST_CASE(a_client_that_goes_before_its_answer_is_known_costs_no_turns) {
  const ControlName other = testing::fresh_control_name();
  ControlListener later(other, ControlListener::AnswerOrLater(
                                   [](std::string_view, std::uint64_t) { return std::optional<std::string>(); }));
  FileDescriptor gone = connect_to(other);
  const FileDescriptor waiting = connect_to(other);
  say(gone, "a\n");
  say(waiting, "b\n");
  BOOST_TEST(::shutdown(waiting.get(), SHUT_WR) == 0);  // it has no other question
  later.work(now);
  gone.close();
  later.work(now);
  BOOST_TEST(later.connections() == 1U);
  std::vector<pollfd> polled;
  later.add_polled(polled);
  BOOST_TEST(::poll(polled.data(), polled.size(), 0) == 0);
}

BOOST_AUTO_TEST_CASE(a_question_without_memory_for_its_answer_ends_its_connection_and_no_other) {
  const ControlName other = testing::fresh_control_name();
  int asked = 0;
  ControlListener short_of_memory(other, [&](std::string_view) {
    if (++asked == 1) throw std::bad_alloc();
    return std::string("fine\n");
  });
  const FileDescriptor first = connect_to(other);
  const FileDescriptor second = connect_to(other);
  say(first, "status\n");
  say(second, "status\n");
  short_of_memory.work(now);
  short_of_memory.work(now);
  BOOST_TEST(is_over(first));
  BOOST_TEST(heard(second) == "fine\n");
  BOOST_TEST(asked == 2);
}

BOOST_AUTO_TEST_CASE(when_it_is_closed_clients_learn_it_at_once) {
  const FileDescriptor connected = connect();
  work();
  listener.close();
  BOOST_TEST(is_over(connected));
  BOOST_TEST(!connect_to(name).is_open());
  BOOST_TEST(listener.connections() == 0U);
}

BOOST_AUTO_TEST_CASE(a_question_may_come_in_pieces_and_is_waited_for_without_blocking) {
  const FileDescriptor socket = connect();
  work();
  say(socket, "sta");
  work();
  BOOST_TEST(questions.empty());
  say(socket, "tus\nwhatever");
  work();
  BOOST_TEST((questions == std::vector<std::string>{"status"}));
}

BOOST_AUTO_TEST_CASE(what_is_longer_than_a_question_ends_the_connection) {
  const std::string longest(ControlListener::kQuestionMax, 'x');
  for (const std::string& text : {longest + "x", longest + "x\n", std::string(100'000, 'x')}) {
    const FileDescriptor socket = connect();
    say(socket, text);
    work();
    BOOST_TEST(is_over(socket));
  }
  BOOST_TEST(questions.empty());
  const FileDescriptor socket = connect();
  say(socket, longest + "\n");
  work();
  BOOST_TEST((questions == std::vector<std::string>{longest}));
}

BOOST_AUTO_TEST_CASE(who_says_nothing_or_does_not_read_is_dropped_in_time) {
  BOOST_TEST(!listener.next_due().has_value());
  const FileDescriptor silent = connect();
  const FileDescriptor deaf = connect();
  answer.assign(8 << 20, 'x');  // more than the kernel buffers
  say(deaf, "status\n");
  work();
  BOOST_TEST(listener.connections() == 2U);
  BOOST_TEST((listener.next_due().value() == now + ControlListener::kConnectionMax));
  now += ControlListener::kConnectionMax - 1ms;
  work();
  BOOST_TEST(listener.connections() == 2U);
  now += 1ms;
  work();
  BOOST_TEST(listener.connections() == 0U);
  BOOST_TEST(is_over(silent));
}

BOOST_AUTO_TEST_CASE(who_reads_slowly_gets_a_long_answer_whole) {
  answer.clear();
  for (int i = 0; answer.size() < (4 << 20); ++i) answer += std::to_string(i) + " ";
  const FileDescriptor socket = connect();
  say(socket, "status\n");
  std::string text;
  work();
  while (listener.connections() > 0) {
    text += heard(socket);
    work();
  }
  text += heard(socket);
  BOOST_TEST((text == answer));
}

BOOST_AUTO_TEST_CASE(those_beyond_the_limit_wait_until_somebody_is_done) {
  std::vector<FileDescriptor> silent;
  for (std::size_t i = 0; i < ControlListener::kConnectionsMax; ++i) silent.push_back(connect());
  const FileDescriptor last = connect();
  say(last, "status\n");
  work();
  BOOST_TEST(listener.connections() == ControlListener::kConnectionsMax);
  BOOST_TEST(questions.empty());
  std::vector<pollfd> polled;
  listener.add_polled(polled);
  BOOST_TEST(polled.size() == ControlListener::kConnectionsMax);  // without the (readable) listening socket
  silent.pop_back();
  work();
  work();
  BOOST_TEST(heard(last) == "fine\n");
}

BOOST_AUTO_TEST_CASE(without_descriptors_it_pauses_instead_of_turning_in_circles) {
  const FileDescriptor socket = connect();
  say(socket, "status\n");
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  rlimit none = limit;
  none.rlim_cur = 0;  // open descriptors stay open
  setrlimit(RLIMIT_NOFILE, &none);
  work();
  setrlimit(RLIMIT_NOFILE, &limit);
  std::vector<pollfd> polled;
  listener.add_polled(polled);
  BOOST_TEST(polled.empty());
  BOOST_TEST((listener.next_due().value() == now + ControlListener::kPause));
  work();
  BOOST_TEST(questions.empty());
  now += ControlListener::kPause;
  work();
  BOOST_TEST(heard(socket) == "fine\n");
}

BOOST_AUTO_TEST_CASE(many_at_once_are_accepted_some_at_a_time) {
  std::vector<FileDescriptor> sockets;
  for (int i = 0; i < ControlListener::kAcceptsPerTurn; ++i) {
    sockets.push_back(connect());
    say(sockets.back(), "status\n");
  }
  work();
  BOOST_TEST(questions.size() == ControlListener::kConnectionsMax);
  work();
  BOOST_TEST(questions.size() == sockets.size());
}

BOOST_AUTO_TEST_CASE(who_goes_before_the_answer_leaves_nothing_behind) {
  FileDescriptor socket = connect();
  say(socket, "status\n");
  socket.close();
  FileDescriptor mute = connect();
  mute.close();
  work();
  work();
  BOOST_TEST(listener.connections() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
