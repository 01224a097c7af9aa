// Which peers are told the head of an audit log, and which heads are kept (MB-14).
#include "actors/membership/audit_heads.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "actors/core/node_core.h"
#include "actors/membership/membership.h"
#include "tests/actors/bare_peer.h"
#include "tests/support/counting_new.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;
using detail::AuditHeads;

msg::AuditHead head_at(std::uint64_t line) { return {line, {std::byte{7}}}; }

Peer at_host(const NodeName& name, int host, std::uint64_t life = 1) {
  return {name, {0, life}, fmt::format("tcp://10.0.0.{}:4000", host)};
}

std::vector<NodeName> names_of(const std::vector<NodeLife>& lives) {
  std::vector<NodeName> names;
  for (const NodeLife& life : lives) names.push_back(life.name);
  std::ranges::sort(names);
  return names;
}

/// Returns which of nodes w0, w1, ... on hosts are told of the first line of w0.
std::vector<NodeName> witnesses_of(std::size_t node, std::size_t nodes, std::size_t hosts) {
  const auto peer = [hosts](std::size_t n) { return at_host(fmt::format("w{}", n), static_cast<int>(n % hosts)); };
  AuditHeads heads(peer(node));
  for (std::size_t n = 0; n < nodes; ++n) {
    if (n != node) static_cast<void>(heads.peer_up(peer(n)));
  }
  return names_of(heads.changed(head_at(1)));
}

BOOST_AUTO_TEST_SUITE(audit_heads)

BOOST_AUTO_TEST_CASE(three_peers_are_told_each_line_once) {
  AuditHeads heads(at_host("w0", 0));
  for (int n = 1; n < 8; ++n) BOOST_TEST(heads.peer_up(at_host(fmt::format("w{}", n), n)).empty());
  const auto first = names_of(heads.changed(head_at(1)));
  BOOST_TEST(first.size() == AuditHeads::kWitnesses);
  BOOST_TEST(heads.changed(head_at(1)).empty());
  BOOST_TEST(names_of(heads.changed(head_at(2))) == first, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(who_comes_is_told_what_there_is_and_who_goes_is_replaced) {
  AuditHeads heads(at_host("w0", 0));
  BOOST_TEST(heads.changed(head_at(5)).empty());
  std::vector<NodeName> told;
  for (int n = 1; n <= 3; ++n) {
    for (const NodeLife& life : heads.peer_up(at_host(fmt::format("w{}", n), n))) told.push_back(life.name);
  }
  BOOST_TEST(told == (std::vector<NodeName>{"w1", "w2", "w3"}), boost::test_tools::per_element());
  for (int n = 4; n < 40; ++n) static_cast<void>(heads.peer_up(at_host(fmt::format("w{}", n), n)));
  const auto witnesses = heads.changed(head_at(6));
  BOOST_TEST_REQUIRE(witnesses.size() == 3U);
  BOOST_TEST(heads.peer_down({witnesses[0].name, {0, 99}}).empty());  // a former life of it
  BOOST_TEST(heads.peer_down(witnesses[0]).size() == 1U);             // the next one
  // Who comes again may have lost what it knew.
  const auto again = heads.peer_up(at_host(witnesses[0].name, std::stoi(witnesses[0].name.substr(1)), 2));
  BOOST_TEST(names_of(again) == (std::vector<NodeName>{witnesses[0].name}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_witness_is_on_another_host_if_there_is_any) {
  for (const std::size_t node : {0U, 1U, 11U}) {
    const auto witnesses = witnesses_of(node, 12, 2);
    BOOST_TEST(witnesses.size() == 3U);
    const auto is_elsewhere = [&](const NodeName& name) { return std::stoul(name.substr(1)) % 2 != node % 2; };
    BOOST_TEST(std::ranges::any_of(witnesses, is_elsewhere));
  }
  std::set<NodeName> all;  // not only those
  for (std::size_t node = 0; node < 12; node += 2) {
    for (const NodeName& witness : witnesses_of(node, 12, 2)) all.insert(witness);
  }
  BOOST_TEST(std::ranges::any_of(all, [](const NodeName& name) { return std::stoul(name.substr(1)) % 2 == 0; }));
  BOOST_TEST(witnesses_of(0, 4, 1).size() == 3U);
  BOOST_TEST(witnesses_of(0, 2, 1).size() == 1U);
}

/// Returns of how many of 128 nodes each is a witness, the most first. Node n is on host `host_of(n)`.
std::vector<std::size_t> loads(const std::function<int(std::size_t)>& host_of) {
  const auto peer = [&](std::size_t n) { return at_host(fmt::format("w{}", n), host_of(n)); };
  std::map<NodeName, std::size_t> of;
  for (std::size_t node = 0; node < 128; ++node) {
    AuditHeads heads(peer(node));
    for (std::size_t n = 0; n < 128; ++n) {
      if (n != node) static_cast<void>(heads.peer_up(peer(n)));
    }
    for (const NodeLife& witness : heads.changed(head_at(1))) ++of[witness.name];
  }
  std::vector<std::size_t> sorted;
  for (const auto& [name, load] : of) sorted.push_back(load);
  std::ranges::sort(sorted, std::greater());
  return sorted;
}

BOOST_AUTO_TEST_CASE(nobody_is_a_witness_of_very_many_but_who_is_alone_on_its_host) {
  for (const std::size_t hosts : {1U, 2U, 16U})
    BOOST_TEST(loads([=](std::size_t n) { return static_cast<int>(n % hosts); }).front() <= 12U);
  const auto one_alone = loads([](std::size_t n) { return n == 0 ? 0 : 1; });
  BOOST_TEST(one_alone[0] == 127U);
  BOOST_TEST(one_alone[1] <= 12U);
}

BOOST_AUTO_TEST_CASE(heads_are_kept_of_peers_that_are_up_if_they_are_later_and_not_too_many,
                     *label("attack") * label("S14")) {
  AuditHeads heads(at_host("w0", 0));
  const NodeLife w1{"w1", {0, 1}};
  const TimePoint start{1h};
  BOOST_TEST(!heads.keeps(w1, head_at(1), start));
  static_cast<void>(heads.peer_up(at_host("w1", 1)));
  BOOST_TEST(heads.keeps(w1, head_at(3), start));
  BOOST_TEST(!heads.keeps(w1, head_at(3), start));
  BOOST_TEST(!heads.keeps(w1, head_at(2), start));
  BOOST_TEST(!heads.keeps({"w1", {0, 2}}, head_at(4), start));
  for (const std::uint64_t line : {4U, 5U, 6U}) BOOST_TEST(heads.keeps(w1, head_at(line), start));
  BOOST_TEST(!heads.keeps(w1, head_at(7), start));
  BOOST_TEST(heads.keeps(w1, head_at(7), start + AuditHeads::kKeptEvery));
  BOOST_TEST(!heads.keeps(w1, head_at(8), start + AuditHeads::kKeptEvery));
  int kept = 0;
  for (std::uint64_t line = 100; line < 1'000'000; ++line) kept += heads.keeps(w1, head_at(line), start + 1h) ? 1 : 0;
  BOOST_TEST(kept == AuditHeads::kKeptAtOnce);
}

BOOST_AUTO_TEST_CASE(who_comes_again_and_again_tells_no_more_for_that, *label("attack") * label("S14")) {
  AuditHeads heads(at_host("w0", 0));
  const TimePoint start{1h};
  int kept = 0;
  for (std::uint64_t life = 1; life < 100; ++life) {
    static_cast<void>(heads.peer_up(at_host("w1", 1, life)));
    for (std::uint64_t line = 1; line < 10; ++line)
      kept += heads.keeps({"w1", {0, life}}, head_at(line), start) ? 1 : 0;
    static_cast<void>(heads.peer_down({"w1", {0, life}}));
  }
  BOOST_TEST(kept == AuditHeads::kKeptAtOnce);
}

BOOST_AUTO_TEST_CASE(all_peers_together_tell_no_more_than_is_kept, *label("attack") * label("S14")) {
  AuditHeads heads(at_host("w0", 0));
  TimePoint now{1h};
  const auto tell_all = [&](std::uint64_t line) {
    int kept = 0;
    for (int n = 1; n < 1000; ++n) kept += heads.keeps({fmt::format("w{}", n), {0, 1}}, head_at(line), now) ? 1 : 0;
    return kept;
  };
  for (int n = 1; n < 1000; ++n) static_cast<void>(heads.peer_up(at_host(fmt::format("w{}", n), n)));
  BOOST_TEST(tell_all(1) == AuditHeads::kKeptOfAllAtOnce);
  now += AuditHeads::kKeptOfAllEvery;
  BOOST_TEST(tell_all(2) == 1);
}

BOOST_FIXTURE_TEST_CASE(a_node_tells_peers_its_head_and_keeps_theirs, AmongBarePeers, *label("S14")) {
  const auto first = peer("p1");
  core().membership().head_changed(head_at(3));
  BOOST_TEST_REQUIRE(first->take<msg::AuditHead>().size() == 1U);
  const auto second = peer("p2", 2);
  const auto told = second->take<msg::AuditHead>();
  BOOST_TEST_REQUIRE(told.size() == 1U);
  BOOST_TEST((told.front() == head_at(3)));
  BOOST_TEST(first->take<msg::AuditHead>().empty());
  second->say("m", "membership", msg::AuditHead{2, {}});  // nobody keeps it
  std::vector<std::pair<NodeName, std::uint64_t>> kept;
  core().membership().keep_heads(
      [&](const NodeName& of, const msg::AuditHead& head) { kept.emplace_back(of, head.line); });
  second->say("m", "membership", msg::AuditHead{2, {}});
  second->say("m", "membership", msg::AuditHead{1, {}});
  BOOST_TEST((kept == std::vector<std::pair<NodeName, std::uint64_t>>{{"p2", 2}}));
}

BOOST_FIXTURE_TEST_CASE(without_memory_for_its_witnesses_a_node_tells_the_next_head, AmongBarePeers) {
  const auto first = peer("p1");
  for (const std::size_t n : {1U, 2U}) {  // later ones are the router's
    const RefusedAllocation refused(n);
    core().membership().head_changed(head_at(n));
    BOOST_TEST(refused.happened());
  }
  BOOST_TEST(!core().failure().has_value());
  BOOST_TEST(first->take<msg::AuditHead>().empty());
  core().membership().head_changed(head_at(3));
  BOOST_TEST(first->take<msg::AuditHead>().size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
