// Which facts about a host are warnings and problems.
#include "node/doctor/host_rules.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace troupe::detail;

namespace troupe::detail {

std::ostream& operator<<(std::ostream& out, Mark mark) { return out << static_cast<int>(mark); }

}  // namespace troupe::detail

BOOST_AUTO_TEST_SUITE(host_rules)

namespace {

constexpr std::int64_t kNow = 1'700'000'000'000'000;

const HostFacts kGood{.system = "Linux 6.1.0 x86_64",
                      .cores = 8,
                      .memory = 16'000'000'000,
                      .memory_free = 12'000'000'000,
                      .shared = 8'000'000'000,
                      .shared_free = 7'000'000'000,
                      .descriptors_max = 1'048'576,
                      .locked_max = 8'388'608,
                      .zmq = "4.3.4",
                      .zmq_curve = true,
                      .sodium = "1.0.18",
                      .aes = true};
const HostNeeds kNeeds{.nodes = 2, .nodes_of_cluster = 4, .encrypts = true};

/// Returns the finding of one check; fails if there are several or none.
Finding finding_of(const std::vector<Finding>& findings, const std::string& check) {
  BOOST_TEST_REQUIRE(std::ranges::count(findings, check, &Finding::check) == 1);
  return *std::ranges::find(findings, check, &Finding::check);
}

Finding judged(const HostFacts& facts, const std::string& check, const HostNeeds& needs = kNeeds) {
  return finding_of(judge_facts(facts, needs), check);
}

Finding clock_of(std::int64_t asked, std::int64_t told, std::int64_t answered) {
  return judge_clock({{kNow + asked, kNow + told, kNow + answered}});
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_clock_is_judged_from_one_second_on) {
  BOOST_TEST(clock_of(0, 1'005'000, 10'000).mark == Mark::warning);  // 1,005,000 - 5,000 = 1 s
  BOOST_TEST(clock_of(0, 1'004'999, 10'000).mark == Mark::ok);
  BOOST_TEST(clock_of(0, -995'000, 10'000).mark == Mark::warning);
  BOOST_TEST(clock_of(0, -994'999, 10'000).mark == Mark::ok);
  BOOST_TEST(clock_of(0, 1'205'000, 10'000).seen == "1.2 s ahead, known to within 5.0 ms");
  BOOST_TEST(clock_of(0, 0, 2'000).seen == "1.0 ms behind, known to within 1.0 ms");
}

BOOST_AUTO_TEST_CASE(a_difference_that_the_way_there_and_back_may_explain_is_no_warning) {
  BOOST_TEST(clock_of(0, 4'000'000, 4'000'000).mark == Mark::ok);  // 2 s, known to within 2 s
  BOOST_TEST(clock_of(0, 4'000'001, 4'000'000).mark == Mark::warning);
}

BOOST_AUTO_TEST_CASE(the_shortest_way_there_and_back_counts) {
  const Finding finding = judge_clock(
      {{kNow, kNow + 9'000'000, kNow + 1'000'000}, {kNow, kNow + 3'000, kNow + 2'000}, {kNow, kNow, kNow + 9'000}});
  BOOST_TEST(finding.seen == "2.0 ms ahead, known to within 1.0 ms");
}

BOOST_AUTO_TEST_CASE(a_host_with_all_that_is_needed_has_no_hints) {
  for (const Finding& finding : judge_facts(kGood, kNeeds)) {
    BOOST_TEST_CONTEXT(finding.check) {
      BOOST_TEST(finding.mark == Mark::ok);
      BOOST_TEST(finding.hint.empty());
    }
  }
  BOOST_TEST(judged(kGood, "files").seen == "1048576 open files");
  BOOST_TEST(judged(kGood, "memory").seen == "16.0 GB, 12.0 GB of it free; /dev/shm 8.0 GB, 7.0 GB free");
}

BOOST_AUTO_TEST_CASE(descriptors_are_needed_by_the_number_of_nodes) {
  BOOST_TEST(descriptors_needed(4) == 1024u);
  BOOST_TEST(descriptors_needed(200) == 2100u);  // 100 + 10 * 200
  HostFacts facts = kGood;
  facts.descriptors_max = 1024;
  BOOST_TEST(judged(facts, "files").mark == Mark::ok);
  facts.descriptors_max = 1023;
  BOOST_TEST(judged(facts, "files").mark == Mark::warning);
  facts.descriptors_max = 2099;
  HostNeeds many = kNeeds;
  many.nodes_of_cluster = 200;
  const Finding finding = judged(facts, "files", many);
  BOOST_TEST(finding.mark == Mark::warning);
  BOOST_TEST(finding.hint.starts_with("a node with 199 others may need 2100: "));
  facts.descriptors_max = kNoLimit;
  BOOST_TEST(judged(facts, "files", many).mark == Mark::ok);
}

BOOST_AUTO_TEST_CASE(keys_need_locked_memory_and_nothing_else_does) {
  HostFacts facts = kGood;
  facts.locked_max = 2 * 65536 - 1;
  BOOST_TEST(judged(facts, "locked").mark == Mark::warning);
  BOOST_TEST(judged(facts, "locked", {.nodes = 2, .nodes_of_cluster = 4}).mark == Mark::ok);
  facts.locked_max = 2 * 65536;
  BOOST_TEST(judged(facts, "locked").mark == Mark::ok);
}

BOOST_AUTO_TEST_CASE(libraries_that_cannot_encrypt_are_problems_where_nodes_have_keys) {
  HostFacts facts = kGood;
  facts.zmq_curve = false;
  BOOST_TEST(judged(facts, "libzmq").mark == Mark::problem);
  BOOST_TEST(judged(facts, "libzmq", {}).mark == Mark::ok);
  facts.zmq.clear();
  BOOST_TEST(judged(facts, "libzmq").mark == Mark::warning);
  facts.aes = false;
  BOOST_TEST(judged(facts, "libsodium").mark == Mark::warning);
  BOOST_TEST(judged(facts, "libsodium", {}).mark == Mark::ok);
  facts.sodium.clear();
  BOOST_TEST(judged(facts, "libsodium", {}).mark == Mark::problem);
}

BOOST_AUTO_TEST_CASE(little_memory_is_a_warning) {
  HostFacts facts = kGood;
  facts.memory_free = (256 << 20) - 1;
  BOOST_TEST(judged(facts, "memory").mark == Mark::warning);
}

BOOST_AUTO_TEST_CASE(an_address_that_cannot_be_used_is_all_that_is_said) {
  const auto findings = judge_listening({.problem = "no such interface", .ports = {3, 0}}, kNeeds);
  BOOST_TEST_REQUIRE(findings.size() == 1u);
  BOOST_TEST(findings[0].mark == Mark::problem);
  BOOST_TEST(findings[0].seen == "no such interface");
}

BOOST_AUTO_TEST_CASE(each_node_of_a_host_needs_a_port) {
  Listening listening{.address = "10.0.0.1", .port = 5, .udp = true, .ports = {3, 2}, .stream_ports = {3, 1}};
  const auto findings = judge_listening(listening, kNeeds);
  BOOST_TEST(finding_of(findings, "address").mark == Mark::ok);
  BOOST_TEST(finding_of(findings, "ports").mark == Mark::ok);
  BOOST_TEST(finding_of(findings, "stream_ports").mark == Mark::warning);
  listening.ports.free = 1;
  const Finding ports = finding_of(judge_listening(listening, kNeeds), "ports");
  BOOST_TEST(ports.mark == Mark::problem);
  BOOST_TEST(ports.seen == "1 of 3 free");
  BOOST_TEST(ports.hint.starts_with("2 nodes run there: widen cluster.ports"));
  listening.ports = {256, 1};  // others of the range may be free
  const Finding sample = finding_of(judge_listening(listening, kNeeds), "ports");
  BOOST_TEST(sample.mark == Mark::ok);
  BOOST_TEST(sample.seen == "1 of the first 256 free");
}

BOOST_AUTO_TEST_CASE(ranges_that_are_not_given_are_not_judged) {
  const auto findings = judge_listening({.address = "10.0.0.1", .port = 5}, kNeeds);
  BOOST_TEST_REQUIRE(findings.size() == 1u);
  BOOST_TEST(findings[0].mark == Mark::warning);  // heartbeats were not tried
  BOOST_TEST(findings[0].hint.starts_with("udp port 5 is taken"));
}

BOOST_AUTO_TEST_SUITE_END()
