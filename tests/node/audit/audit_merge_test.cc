#include "node/audit/audit_merge.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/support/counting_new.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1h};
constexpr AuditMerge::WallTime kDay{std::chrono::seconds{1'700'000'000}};

AuditEntry refusal(std::string peer) {
  return {.event = AuditEvent::refused, .reason = "auth_failed", .peer = std::move(peer)};
}

std::vector<std::string> texts(const std::vector<AuditMerge::Counted>& all) {
  std::vector<std::string> texts;
  for (const auto& [entry, count, time] : all)
    texts.push_back(fmt::format("{} {}", entry.peer.empty() ? entry.reason : entry.peer, count));
  return texts;
}

std::uint64_t sum(const std::vector<AuditMerge::Counted>& all) {
  std::uint64_t sum = 0;
  for (const auto& each : all) sum += each.count;
  return sum;
}

using Texts = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(audit_merge)

BOOST_AUTO_TEST_CASE(the_first_of_equal_entries_is_given_out_at_once_and_the_rest_of_a_second_as_one) {
  AuditMerge merge;
  for (int i = 0; i < 5; ++i) merge.add(refusal("a"), kStart + i * 100ms, kDay + i * 100ms);
  merge.add(refusal("b"), kStart + 500ms, kDay);
  BOOST_TEST(merge.is_ready());
  BOOST_TEST((texts(merge.take(kStart + 500ms)) == Texts{"a 1", "b 1"}));
  BOOST_TEST(!merge.is_ready());
  BOOST_TEST((merge.next_due() == kStart + 1s));
  const auto repeated = merge.take(kStart + 1s);
  BOOST_TEST((texts(repeated) == Texts{"a 4"}));
  BOOST_TEST((repeated.at(0).time == kDay + 100ms));
  BOOST_TEST((texts(merge.take(kStart + 3s)) == Texts{}));
  BOOST_TEST(!merge.next_due().has_value());
}

BOOST_AUTO_TEST_CASE(without_lines_to_spare_new_entries_are_counted_together) {
  AuditMerge merge;
  for (int i = 0; i < 100; ++i) merge.add(refusal(std::to_string(i)), kStart, kDay);
  const auto taken = merge.take(kStart);
  BOOST_TEST(taken.size() == 33U);  // 32 lines at once, and that of the others
  BOOST_TEST(taken.back().entry.reason == AuditMerge::kOthers);
  BOOST_TEST(taken.back().count == 68U);  // 100 - 32
  BOOST_TEST((taken.back().entry.event == AuditEvent::refused));
}

BOOST_AUTO_TEST_CASE(repeats_wait_for_a_line_and_go_on_counting) {
  AuditMerge merge;
  for (int i = 0; i < 32; ++i) merge.add(refusal(std::to_string(i)), kStart, kDay);
  for (int i = 0; i < 3; ++i) merge.add(refusal("0"), kStart, kDay);
  for (int i = 0; i < 4; ++i) merge.add(refusal("1"), kStart, kDay);
  BOOST_TEST(merge.take(kStart).size() == 32U);
  BOOST_TEST((texts(merge.take(kStart + 1s)) == Texts{"0 3"}));  // one more line per second
  merge.add(refusal("1"), kStart + 1500ms, kDay);
  BOOST_TEST((texts(merge.take(kStart + 2s)) == Texts{"1 5"}));
}

BOOST_AUTO_TEST_CASE(what_strangers_cause_leaves_the_lines_of_other_events_alone) {
  AuditMerge merge;
  for (int i = 0; i < 1000; ++i) merge.add(refusal(std::to_string(i)), kStart, kDay);
  (void)merge.take(kStart);
  merge.add({.event = AuditEvent::keys_changed, .reason = "list 7"}, kStart, kDay);
  BOOST_TEST((texts(merge.take(kStart)) == Texts{"list 7 1"}));
}

BOOST_AUTO_TEST_CASE(at_the_end_all_that_was_counted_is_given_out) {
  AuditMerge merge;
  for (int i = 0; i < 100; ++i) merge.add(refusal(std::to_string(i % 50)), kStart, kDay);
  BOOST_TEST(sum(merge.take_all()) == 100U);
  BOOST_TEST(merge.take_all().empty());
}

BOOST_AUTO_TEST_CASE(a_flood_of_any_texts_makes_few_lines_and_loses_no_count,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S14")) {
  constexpr int kSeconds = 1000;
  constexpr int kEachSecond = 1000;
  AuditMerge merge;
  std::uint64_t counted = 0;
  std::size_t lines = 0;
  for (int i = 0; i < kSeconds * kEachSecond; ++i) {
    const TimePoint now = kStart + i * 1ms;
    // Half of them are always new, the others come again and again.
    merge.add(refusal(fmt::format("{}", i % 2 == 0 ? i : i % 600)), now, kDay);
    const auto taken = merge.take(now);
    counted += sum(taken);
    lines += taken.size();
  }
  counted += sum(merge.take_all());
  BOOST_TEST(counted == static_cast<std::uint64_t>(kSeconds * kEachSecond));
  BOOST_TEST(lines <= 32U + kSeconds + kSeconds / 10 + 1);
  BOOST_TEST(lines >= 1000U);
}

// Whichever allocation fails.
BOOST_AUTO_TEST_CASE(what_could_not_be_taken_without_memory_stays_and_is_counted_when_it_is_dropped) {
  enum class End { taken, all_taken, dropped };
  for (const End end : {End::taken, End::all_taken, End::dropped}) {
    bool was_refused = true;
    for (std::size_t n = 1; was_refused; ++n) {
      AuditMerge merge;
      for (int i = 0; i < 3; ++i) {
        for (const char* const peer : {"a peer whose name needs memory of its own", "another peer with a long name"})
          merge.add(refusal(peer), kStart, kDay);
      }
      try {
        const testing::RefusedAllocation refused(n);
        (void)(end == End::all_taken ? merge.take_all() : merge.take(kStart + 2s));
        was_refused = refused.happened();
        continue;
      } catch (const std::bad_alloc&) {
      }
      const std::uint64_t dropped = end == End::dropped ? merge.drop_all() : 0;
      BOOST_TEST(dropped + sum(end == End::all_taken ? merge.take_all() : merge.take(kStart + 4s)) == 6U);
      BOOST_TEST(merge.take_all().empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(long_texts_are_cut_off) {
  AuditMerge merge;
  merge.add(refusal(std::string(1 << 20, 'x')), kStart, kDay);
  BOOST_TEST(merge.take(kStart).at(0).entry.peer.size() == AuditMerge::kTextMax);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
