// What the ways between hosts say about firewalls and addresses.
#include "node/doctor/network_rules.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace troupe::detail;

BOOST_AUTO_TEST_SUITE(network_rules)

namespace {

/// Returns a way from "a" on which all works.
TriedWay way_to(const std::string& to, std::uint64_t microseconds = 400) {
  const ReachEnd end{ReachOutcome::reached, {}, microseconds};
  return {.from = "a",
          .to = to,
          .where = {"10.0.0.2", 29501, true, 29600, {}},
          .way = {"10.0.0.1", end, end, end},
          .back_works = true,
          .ports = "29500-29599"};
}

TriedWay without_tcp(ReachOutcome outcome, const std::string& text = {}) {
  TriedWay way = way_to("b");
  way.way.tcp = {outcome, text, 0};
  way.way.udp = way.way.stream = {ReachOutcome::timed_out, {}, 0};
  return way;
}

/// Returns the only finding about one way.
Finding judged(const TriedWay& way) {
  const auto findings = judge_ways(std::vector<TriedWay>{way});
  BOOST_TEST_REQUIRE(findings.size() == 1u);
  return findings[0];
}

bool says_it(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(ways_that_work_are_one_line_with_the_slowest) {
  const auto findings = judge_ways(std::vector<TriedWay>{way_to("b"), way_to("c", 1'500)});
  BOOST_TEST_REQUIRE(findings.size() == 1u);
  BOOST_CHECK(findings[0] == (Finding{Mark::ok, "network", "reaches b, c by tcp and udp, within 1.5 ms", ""}));
  std::vector<TriedWay> many;
  for (int i = 0; i < 10; ++i) many.push_back(way_to("h" + std::to_string(i)));
  BOOST_TEST(judge_ways(many)[0].seen.starts_with("reaches h0, h1, h2, h3, h4, h5, h6, h7 and 2 more by tcp"));
  BOOST_TEST(judge_ways({}).empty());
}

BOOST_AUTO_TEST_CASE(a_firewall_that_drops_one_direction_is_named_with_both_addresses) {
  const Finding finding = judged(without_tcp(ReachOutcome::timed_out));
  BOOST_CHECK(finding.mark == Mark::problem);
  BOOST_TEST(finding.seen == "a (10.0.0.1) does not reach b (10.0.0.2:29501) by tcp: no answer");
  BOOST_TEST(
      finding.hint.starts_with("a firewall, or address translation, lets only the other direction through: let "
                               "tcp and udp to ports 29500-29599 from 10.0.0.1 through at b"));
  TriedWay both = without_tcp(ReachOutcome::timed_out);
  both.back_works = false;
  both.ports.clear();
  BOOST_TEST(says_it(judged(both).hint, "no way between the two networks: let tcp and udp to any port (or"));
}

BOOST_AUTO_TEST_CASE(each_kind_of_failure_has_its_words) {
  BOOST_TEST(says_it(judged(without_tcp(ReachOutcome::refused)).seen, "by tcp: refused"));
  BOOST_TEST(says_it(judged(without_tcp(ReachOutcome::no_route, "No route to host")).seen,
                     "by tcp: no way there: No route to host"));
  const Finding stranger = judged(without_tcp(ReachOutcome::stranger));
  BOOST_TEST(says_it(stranger.seen, "another program answers"));
  BOOST_TEST(stranger.hint.starts_with("in the network of a, 10.0.0.2 is another machine"));
  BOOST_TEST(says_it(judged(without_tcp(ReachOutcome::failed, "Operation not permitted")).seen, "not permitted"));
  BOOST_TEST(says_it(judged(without_tcp(ReachOutcome::untried)).seen, "was not tried"));
}

BOOST_AUTO_TEST_CASE(a_network_that_drops_heartbeats_is_a_problem_and_one_that_drops_streams_a_warning) {
  TriedWay way = way_to("b");
  way.way.udp = {ReachOutcome::timed_out, {}, 0};
  BOOST_CHECK(judged(way).mark == Mark::problem);
  BOOST_TEST(judged(way).seen == "a (10.0.0.1) does not reach b (10.0.0.2:29501) by udp: no answer");
  BOOST_TEST(says_it(judged(way).hint, "heartbeats"));
  way.where.udp = false;  // it does not listen there
  BOOST_TEST(judged(way).seen == "reaches b by tcp, within 0.4 ms");
  way.way.stream = {ReachOutcome::refused, {}, 0};
  BOOST_CHECK(judged(way).mark == Mark::warning);
  BOOST_TEST(judged(way).seen == "a (10.0.0.1) does not reach b (10.0.0.2:29600) by tcp: refused");
  way.where.stream_port = 0;
  BOOST_CHECK(judged(way).mark == Mark::ok);
}

BOOST_AUTO_TEST_CASE(addresses_with_colons_have_brackets) {
  TriedWay way = without_tcp(ReachOutcome::refused);
  way.where.address = "fd77::2";
  way.way.from.clear();
  BOOST_TEST(judged(way).seen == "a does not reach b ([fd77::2]:29501) by tcp: refused");
}

BOOST_AUTO_TEST_SUITE_END()
