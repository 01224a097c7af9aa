// The agent's answers to `troupe doctor`.
#include "node/doctor/host_examiner.h"

#include <poll.h>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "node/doctor/doctor_messages.h"

using namespace troupe;
using namespace troupe::detail;

BOOST_AUTO_TEST_SUITE(host_examiner)

namespace {

const std::string kToken(kTokenSize, 't');

struct Examined {
  Variables variables;
  std::vector<AgentFrame> answers;
  HostExaminer examiner{variables, [this](AgentFrameKind kind, std::string_view body) {
                          answers.push_back({kind, std::string(body)});
                        }};

  /// Works until there are `count` answers.
  void wait_for(std::size_t count) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (answers.size() < count) {
      BOOST_TEST_REQUIRE((std::chrono::steady_clock::now() < limit));
      std::vector<pollfd> polled{{-1, POLLIN, 0}};  // the agent has others before them
      examiner.add_polled(polled);
      (void)::poll(polled.data(), polled.size(), 1);
      examiner.work(std::span<const pollfd>(polled).subspan(1));
    }
  }

  Listening listen(const ListenOrder& order) {
    examiner.obey({AgentFrameKind::listen, json_of(order)});
    BOOST_TEST_REQUIRE(!answers.empty());
    BOOST_CHECK(answers.back().kind == AgentFrameKind::listening);
    return parse_body<Listening>(answers.back().body);
  }
};

const ListenOrder kListen{.network = "loopback", .token = kToken};

}  // namespace

BOOST_FIXTURE_TEST_CASE(it_tells_the_time_and_facts_at_once, Examined) {
  const auto before = std::chrono::system_clock::now().time_since_epoch();
  examiner.obey({AgentFrameKind::clock, ""});
  examiner.obey({AgentFrameKind::examine, ""});
  BOOST_TEST_REQUIRE(answers.size() == 2u);
  BOOST_CHECK(answers[0].kind == AgentFrameKind::time);
  std::string_view body = answers[0].body;
  BOOST_CHECK(std::chrono::microseconds(take_u64(body)) >=
              std::chrono::duration_cast<std::chrono::microseconds>(before));
  BOOST_TEST(body.empty());
  BOOST_CHECK(answers[1].kind == AgentFrameKind::facts);
  BOOST_TEST(parse_body<HostFacts>(answers[1].body).cores > 0u);
  BOOST_CHECK(!examiner.next_due());
}

BOOST_FIXTURE_TEST_CASE(one_examiner_reaches_the_listener_of_another, Examined) {
  Examined other;
  const Listening there = other.listen(kListen);
  examiner.obey(
      {AgentFrameKind::reach, json_of(ReachOrder{{{there.address, there.port, there.udp, 0, kToken}}, 10'000})});
  BOOST_TEST(answers.empty());
  BOOST_CHECK(examiner.next_due().has_value());
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (answers.empty() && std::chrono::steady_clock::now() < limit) {
    std::vector<pollfd> polled;
    examiner.add_polled(polled);
    (void)::poll(polled.data(), polled.size(), 1);
    examiner.work(polled);
    other.examiner.work({});
  }
  BOOST_TEST_REQUIRE(answers.size() == 1u);
  BOOST_CHECK(answers[0].kind == AgentFrameKind::reached);
  const auto reached = parse_body<Reached>(answers[0].body);
  BOOST_TEST_REQUIRE(reached.ways.size() == 1u);
  BOOST_CHECK(reached.ways[0].tcp.outcome == ReachOutcome::reached);
  BOOST_CHECK(!examiner.next_due());
}

BOOST_FIXTURE_TEST_CASE(it_listens_and_reaches_at_the_same_time, Examined) {
  const Listening here = listen(kListen);
  examiner.obey({AgentFrameKind::reach, json_of(ReachOrder{{{here.address, here.port, here.udp, 0, kToken}}, 10'000})});
  wait_for(2);
  const auto reached = parse_body<Reached>(answers[1].body);
  BOOST_CHECK(reached.ways.at(0).tcp.outcome == ReachOutcome::reached);
  BOOST_CHECK(reached.ways.at(0).udp.outcome == ReachOutcome::reached);
}

BOOST_FIXTURE_TEST_CASE(nobody_to_reach_is_an_answer_too, Examined) {
  examiner.obey({AgentFrameKind::reach, json_of(ReachOrder{})});
  wait_for(1);
  BOOST_TEST(parse_body<Reached>(answers[0].body).ways.empty());
}

BOOST_FIXTURE_TEST_CASE(a_second_listener_replaces_the_first, Examined) {
  ListenOrder order = kListen;
  order.port = listen(kListen).port;
  BOOST_TEST(listen(order).problem.empty());
}

BOOST_FIXTURE_TEST_CASE(why_it_cannot_listen_is_an_answer, Examined) {
  Examined other;
  ListenOrder order = kListen;
  order.port = other.listen(kListen).port;
  BOOST_TEST(listen(order).problem ==
             "cluster.port: cannot use port " + std::to_string(order.port) + ": Address already in use");
  order = kListen;
  order.address = "0.0.0.0";
  BOOST_TEST(listen(order).problem == "host.address = \"0.0.0.0\": other hosts need one address, not all of them");
}

BOOST_FIXTURE_TEST_CASE(orders_that_make_no_sense_are_refused, Examined) {
  BOOST_CHECK_THROW(examiner.obey({AgentFrameKind::listen, "{}"}), AgentProtocolError);
  BOOST_CHECK_THROW(examiner.obey({AgentFrameKind::reach, ""}), AgentProtocolError);
  const std::string order = json_of(ReachOrder{{{"127.0.0.1", listen(kListen).port, false, 0, kToken}}, 10'000});
  examiner.obey({AgentFrameKind::reach, order});
  BOOST_CHECK_THROW(examiner.obey({AgentFrameKind::reach, order}), AgentProtocolError);
  BOOST_TEST(!HostExaminer::knows(AgentFrameKind::prepare));
  BOOST_TEST(HostExaminer::knows(AgentFrameKind::clock));
}

BOOST_AUTO_TEST_SUITE_END()
