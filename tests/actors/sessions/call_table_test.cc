#include "actors/sessions/call_table.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <memory>
#include <random>
#include <set>

namespace troupe {
BOOST_AUTO_TEST_SUITE(call_table)

namespace {

using namespace std::chrono_literals;

const NodeLife kServer{"ps0", {1, 10}};
const NodeLife kOther{"ps1", {1, 20}};
constexpr TimePoint kStart{};

// A promise can be moved but not copied, like this entry.
using Entry = std::unique_ptr<int>;
using Table = CallTable<Entry>;

RequestId add(Table& table, const NodeLife& peer, std::optional<TimePoint> deadline, int entry) {
  return table.add(peer, deadline, "rpc project", kStart, std::make_unique<int>(entry));
}

std::vector<int> entries_of(const std::vector<Table::Call>& calls) {
  std::vector<int> out;
  for (const auto& call : calls) out.push_back(*call.entry);
  return out;
}

void expect(const std::vector<int>& got, const std::vector<int>& wanted) {
  BOOST_TEST(got == wanted, boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_answer_takes_its_call_once) {
  Table table;
  const RequestId request = add(table, kServer, kStart + 1s, 7);
  const auto call = table.take(request, kServer);
  BOOST_TEST_REQUIRE(call.has_value());
  BOOST_TEST(*call->entry == 7);
  BOOST_TEST(call->operation == "rpc project");
  BOOST_TEST((call->peer == kServer));
  BOOST_TEST(!table.take(request, kServer).has_value());
  BOOST_TEST(table.empty());
}

BOOST_AUTO_TEST_CASE(calls_can_be_taken_one_by_one_in_the_order_they_were_made) {
  Table table;
  static_cast<void>(add(table, kServer, kStart + 2s, 1));
  static_cast<void>(add(table, kOther, kStart + 1s, 2));
  BOOST_TEST(*table.take_oldest().value().entry == 1);
  BOOST_TEST(*table.take_oldest().value().entry == 2);
  BOOST_TEST(!table.take_oldest().has_value());
  BOOST_TEST(!table.next_deadline().has_value());
}

BOOST_AUTO_TEST_CASE(an_answer_of_another_node_or_of_another_life_is_nobodys) {
  Table table;
  const RequestId request = add(table, kServer, std::nullopt, 7);
  BOOST_TEST(!table.take(request, kOther).has_value());
  BOOST_TEST(!table.take(request, NodeLife{"ps0", {1, 11}}).has_value());
  BOOST_TEST(!table.take(RequestId{99}, kServer).has_value());
  BOOST_TEST(table.take(request, kServer).has_value());
}

BOOST_AUTO_TEST_CASE(request_ids_are_not_zero_and_not_used_again) {
  Table table;
  const RequestId first = add(table, kServer, std::nullopt, 1);
  BOOST_TEST(first.value == 1U);
  BOOST_TEST(table.cancel(first).has_value());
  BOOST_TEST(add(table, kServer, std::nullopt, 2).value == 2U);
}

BOOST_AUTO_TEST_CASE(calls_expire_at_their_deadline_earliest_first) {
  Table table;
  (void)add(table, kServer, kStart + 30ms, 3);
  (void)add(table, kServer, kStart + 10ms, 1);
  (void)add(table, kOther, kStart + 10ms, 2);
  (void)add(table, kServer, kStart + 40ms, 4);
  BOOST_TEST((table.next_deadline() == kStart + 10ms));
  expect(entries_of(table.expire(kStart + 9ms)), {});
  expect(entries_of(table.expire(kStart + 30ms)), {1, 2, 3});
  BOOST_TEST((table.next_deadline() == kStart + 40ms));
}

BOOST_AUTO_TEST_CASE(a_call_that_was_answered_does_not_expire) {
  Table table;
  const RequestId request = add(table, kServer, kStart + 10ms, 1);
  (void)add(table, kServer, kStart + 20ms, 2);
  BOOST_TEST(table.take(request, kServer).has_value());
  BOOST_TEST((table.next_deadline() == kStart + 20ms));
  expect(entries_of(table.expire(kStart + 1s)), {2});
  BOOST_TEST(!table.next_deadline().has_value());
}

BOOST_AUTO_TEST_CASE(a_call_that_lasts_while_its_peer_lives_has_no_deadline) {
  Table table;
  (void)add(table, kServer, std::nullopt, 1);
  BOOST_TEST(!table.next_deadline().has_value());
  expect(entries_of(table.expire(TimePoint::max())), {});
  expect(entries_of(table.fail_peer(kServer)), {1});
}

BOOST_AUTO_TEST_CASE(the_death_of_a_peer_fails_its_calls_and_no_others) {
  Table table;
  (void)add(table, kServer, kStart + 1s, 1);
  const RequestId other = add(table, kOther, kStart + 1s, 2);
  const RequestId next_life = add(table, NodeLife{"ps0", {1, 11}}, std::nullopt, 3);
  (void)add(table, kServer, std::nullopt, 4);
  expect(entries_of(table.fail_peer(kServer)), {1, 4});
  expect(entries_of(table.fail_peer(kServer)), {});
  BOOST_TEST(table.size() == 2U);
  BOOST_TEST(table.take(other, kOther).has_value());
  BOOST_TEST(table.cancel(next_life).has_value());
}

BOOST_AUTO_TEST_CASE(shutdown_fails_all_calls_in_the_order_they_were_made) {
  Table table;
  (void)add(table, kServer, kStart + 2s, 1);
  (void)add(table, kOther, std::nullopt, 2);
  (void)add(table, kServer, kStart + 1s, 3);
  expect(entries_of(table.fail_all()), {1, 2, 3});
  BOOST_TEST(table.empty());
  BOOST_TEST(!table.next_deadline().has_value());
}

BOOST_AUTO_TEST_CASE(a_report_names_the_oldest_calls) {
  Table table;
  (void)table.add(kServer, kStart + 1s, "rpc project", kStart, std::make_unique<int>(1));
  const SourceLocation site = SourceLocation::current();
  (void)table.add(kOther, std::nullopt, "to_here", kStart + 5ms, std::make_unique<int>(2), site);
  (void)table.add(kServer, std::nullopt, "backward", kStart + 9ms, std::make_unique<int>(3));
  const auto oldest = table.oldest(2);
  BOOST_TEST_REQUIRE(oldest.size() == 2U);
  BOOST_TEST(oldest[0].operation == "rpc project");
  BOOST_TEST(oldest[1].operation == "to_here");
  BOOST_TEST((oldest[1].started == kStart + 5ms));
  BOOST_TEST(!oldest[0].site.has_value());
  BOOST_TEST(oldest[1].site.value().line() == site.line());
  BOOST_TEST(table.oldest(9).size() == 3U);
}

BOOST_AUTO_TEST_CASE(every_call_leaves_the_table_exactly_once) {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::mt19937 random(seed);
      CallTable<int> table;
      std::map<int, TimePoint> pending;  // the expected contents of a table, by entry
      std::vector<RequestId> made;
      TimePoint now = kStart;
      const auto left = [&](const CallTable<int>::Call& call) { BOOST_TEST_REQUIRE(pending.erase(call.entry) == 1U); };
      for (int step = 0; step < 2000; ++step) {
        now += 1ms;
        const NodeLife& peer = random() % 2 == 0 ? kServer : kOther;
        switch (random() % 8) {
          case 0:
          case 1:
          case 2:
          case 3: {
            const TimePoint deadline = now + std::chrono::milliseconds(random() % 100);
            made.push_back(table.add(peer, deadline, "rpc f", now, step));
            pending.emplace(step, deadline);
            break;
          }
          case 4:
            for (const auto& call : table.expire(now)) left(call);
            BOOST_TEST_REQUIRE(
                std::none_of(pending.begin(), pending.end(), [&](const auto& call) { return call.second <= now; }));
            break;
          case 5:
            if (random() % 50 == 0) {
              for (const auto& call : table.fail_peer(peer)) left(call);
            }
            break;
          default:
            if (!made.empty()) {
              if (const auto call = table.take(made[random() % made.size()], peer)) left(*call);
            }
        }
        BOOST_TEST_REQUIRE(table.size() == pending.size());
        const auto next = table.next_deadline();
        BOOST_TEST_REQUIRE(next.has_value() == !pending.empty());
      }
      for (const auto& call : table.fail_all()) left(call);
      BOOST_TEST(pending.empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(answered_calls_do_not_pile_up_in_the_queue_of_deadlines) {
  detail::DeadlineHeap heap;
  const auto is_odd = [](RequestId request) { return request.value % 2 == 1; };
  for (std::uint64_t id = 1; id <= 100; ++id) heap.add(kStart + std::chrono::milliseconds(200 - id), RequestId{id});
  heap.compact(is_odd);
  BOOST_TEST(heap.size() == 50U);
  for (std::uint64_t id = 99; heap.front(); id -= 2) {  // the latest id has the earliest deadline
    BOOST_TEST_REQUIRE(heap.front()->second.value == id);
    heap.pop_front();
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
