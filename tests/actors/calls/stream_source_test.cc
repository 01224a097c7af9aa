// The function of a stream on its own node: one reader at a time runs it, here or where it was sent.
#include "actors/calls/stream_source.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "actors/stream.h"
#include "tests/actors/references/among_values.h"
#include "tests/support/counting_new.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_throw.h"

namespace troupe::testing {
namespace {

Stream<std::int64_t> ones_forever() {
  for (;;) co_yield 1;
}

std::int64_t first_of(Scope& scope, const Stream<std::int64_t>& numbers) {
  return Stream<std::int64_t>(numbers).next(scope).value();
}

std::int64_t first_of_two(Scope& scope, const Stream<std::int64_t>& one, const Stream<std::int64_t>& /*other*/) {
  return first_of(scope, one);
}

/// Counts the tables that there are.
class Table {
 public:
  explicit Table(int& count) : count_(&count) { ++*count_; }
  Table(const Table& other) : count_(other.count_), next_(other.next_) { ++*count_; }
  Table& operator=(const Table&) = delete;
  ~Table() { --*count_; }

  void set(std::int64_t next) { next_ = next; }
  [[nodiscard]] std::int64_t next() const { return next_; }

  Stream<std::int64_t> rows(std::int64_t end) {
    struct Last {
      Table& table;
      ~Last() { table.next_ = -1; }
    } const last{*this};
    for (std::int64_t i = 0; i < end; ++i) co_yield next_++;
  }
  Stream<std::int64_t> fails() {
    co_yield next_;
    throw std::domain_error("no row");
  }
  /// Reads the rows of a table, which may be this one: two of them, and changes this table before the second.
  std::int64_t sum_of_two(Scope& scope, const RRef<Stream<std::int64_t>>& kept) {
    Stream<std::int64_t> rows = *kept.local_value(scope);
    const std::int64_t first = rows.next(scope).value();
    next_ = 10;
    return first + rows.next(scope).value();
  }
  void reads_until_it_fails(Scope& scope, const RRef<Stream<std::int64_t>>& kept) {
    Stream<std::int64_t> rows = *kept.local_value(scope);
    try {
      while (rows.next(scope)) continue;
    } catch (const std::domain_error&) {
      next_ = 10;
    }
  }

 private:
  int* count_;
  std::int64_t next_ = 0;
};

Stream<std::int64_t> rows_of(const Table& table, std::int64_t end) {
  for (std::int64_t i = 0; i < end; ++i) co_yield table.next() + i;
}

struct AmongStreams : AmongValues {
  AmongStreams()
      : AmongValues({{"first_of", &first_of},
                     {"first_of_two", &first_of_two},
                     {"Table::set", &Table::set},
                     {"Table::rows", &Table::rows},
                     {"Table::fails", &Table::fails},
                     {"Table::sum_of_two", &Table::sum_of_two},
                     {"Table::reads_until_it_fails", &Table::reads_until_it_fails},
                     {"rows_of", &rows_of}}) {}

  /// What was dropped has ended.
  [[nodiscard]] int tables_left() {
    clock->advance(std::chrono::seconds(1));
    return tables;
  }

  /// Calls a function on the table, which begins when the table's owner has finished.
  template <class... Parameters>
  auto on_table(const auto& function, const Parameters&... parameters) {
    pool->keeps = true;
    const auto result = table.rpc_async(*node, function, parameters...);
    pool->keeps = false;
    for (const Job& job : std::exchange(pool->kept, {})) job.run();
    return result.get();
  }

  int tables = 0;
  RRef<Table> table{*node, Table(tables)};
};

BOOST_FIXTURE_TEST_SUITE(stream_source, AmongStreams)

BOOST_AUTO_TEST_CASE(a_stream_that_was_sent_is_read_by_its_receiver_only) {
  Stream<std::int64_t> numbers = ones_forever();
  BOOST_TEST(numbers.next(*node).value() == 1);
  const auto sent = node->rpc_async("p1", &first_of, numbers);
  BOOST_TEST(p1->take<msg::Call>().size() == 1U);
  expect_throw<std::logic_error>([&] { static_cast<void>(numbers.next(*node)); },
                                 "[Stream] it was sent: only its receiver reads it");
}

BOOST_AUTO_TEST_CASE(a_stream_in_a_message_that_never_left_is_read_on_or_sent_again) {
  Stream<std::int64_t> numbers = ones_forever();
  BOOST_TEST(numbers.next(*node).value() == 1);
  const Scope quick = node->with({.deadline = std::chrono::seconds(1)});
  const auto unsent = quick.rpc_async("nobody", &first_of, numbers);
  clock->advance(std::chrono::seconds(2));
  BOOST_TEST(!unsent.state().result().ok());
  BOOST_TEST(numbers.next(*node).value() == 1);
  const auto not_encoded = node->rpc_async("p1", &first_of_two, numbers, numbers);
  BOOST_TEST((error_of([&] { not_encoded.get(); }).code == ErrorCode::not_serializable));
  BOOST_TEST(numbers.next(*node).value() == 1);
  const auto sent = node->rpc_async("p1", &first_of, numbers);
  BOOST_TEST(p1->take<msg::Call>().size() == 1U);
  BOOST_CHECK_THROW(static_cast<void>(numbers.next(*node)), std::logic_error);
}

BOOST_AUTO_TEST_CASE(a_stream_in_an_answer_that_gets_no_memory_is_read_on) {
  std::size_t unsent = 0;
  bool is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    AmongStreams among;
    Stream<std::int64_t> numbers = ones_forever();
    const RRef<Stream<std::int64_t>> kept(*among.node, numbers);
    Asked answer;
    {
      const RefusedAllocation refused(n);
      try {
        answer = fetch(*among.p1, kept.id());
      } catch (const std::bad_alloc&) {  // of the peer
      } catch (const RemoteError&) {     // as well
      }
      is_refused = refused.happened();
    }
    if (!answer || among.p1->is_broken() || among.core().failure()) continue;
    const bool is_unsent =
        *answer && !(*answer)->ok() && (*answer)->error().peer == "m";  // else p1 had no memory for it
    if (!is_unsent) continue;
    ++unsent;
    BOOST_TEST_CONTEXT("allocation " << n) { BOOST_CHECK_NO_THROW(static_cast<void>(numbers.next(*among.node))); }
  }
  BOOST_TEST(unsent > 5U);
}

BOOST_AUTO_TEST_CASE(a_stream_that_is_being_read_is_not_sent_and_not_read_by_another_thread) {
  detail::StreamClaim claim;
  claim.begin_reading();
  BOOST_TEST(!claim.send());
  BOOST_TEST(!claim.was_sent());
  expect_throw<std::logic_error>([&] { claim.begin_reading(); }, "[Stream] it is being read by another thread");
  claim.end_reading();
  BOOST_TEST(claim.send());
  claim.take_back();
  BOOST_TEST(claim.send());
  BOOST_TEST(!claim.send());
  BOOST_TEST(claim.was_sent());
}

BOOST_AUTO_TEST_CASE(a_stream_on_a_value_keeps_the_value_until_it_ends_or_is_dropped) {
  for (const bool is_member : {true, false}) {
    for (const bool reads_all : {true, false}) {
      RRef<Table> own(*node, Table(tables));
      Stream<std::int64_t> rows = is_member ? own.rpc_sync(*node, &Table::rows, 3) : own.rpc_sync(*node, &rows_of, 3);
      own = {};
      BOOST_TEST(rows.ahead(1).next(*node).value() == 0);
      BOOST_TEST(tables_left() == 2);
      if (reads_all) {
        BOOST_TEST(rows.next(*node).value() == 1);
        BOOST_TEST(rows.next(*node).value() == 2);
        BOOST_TEST(!rows.next(*node));
        BOOST_TEST(tables_left() == 1);
      }
      rows = {};
      BOOST_TEST(tables_left() == 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_stream_on_a_value_that_fails_lets_the_value_go) {
  Stream<std::int64_t> rows = table.rpc_sync(*node, &Table::fails);
  table = {};
  BOOST_TEST(rows.ahead(1).next(*node).value() == 0);
  BOOST_TEST(tables_left() == 1);
  BOOST_CHECK_THROW(static_cast<void>(rows.next(*node)), RemoteError);
  BOOST_TEST(tables_left() == 0);
}

BOOST_AUTO_TEST_CASE(a_stream_on_a_value_takes_its_turn_for_each_element) {
  Stream<std::int64_t> rows = table.rpc_sync(*node, &Table::rows, 3);
  rows.ahead(1);
  BOOST_TEST(rows.next(*node).value() == 0);
  table.rpc_sync(*node, &Table::set, 10);  // between two elements others have the value
  std::optional held(table.local_value(*node));
  ActingWaits others;
  others.action = [&] {
    BOOST_TEST((*held)->next() == 10);  // the function waits
    held.reset();
  };
  const detail::BlockingHook::Guard others_act(others);
  BOOST_TEST(rows.next(*node).value() == 10);
  BOOST_TEST(!held);
}

// Streams that never end would pass the turn to each other.
BOOST_AUTO_TEST_CASE(a_stream_on_a_value_asks_for_the_turn_of_an_element_behind_those_that_wait) {
  Stream<std::int64_t> rows = table.rpc_sync(*node, &Table::rows, 3);
  BOOST_TEST(rows.ahead(1).next(*node).value() == 0);
  std::optional held(table.local_value(*node));
  const Future<void> set = table.rpc_async(*node, &Table::set, 10);
  ActingWaits others;
  others.action = [&] { held.reset(); };
  const detail::BlockingHook::Guard others_act(others);
  BOOST_TEST(rows.next(*node).value() == 10);
  BOOST_TEST(set.ready());
}

BOOST_AUTO_TEST_CASE(a_wait_for_an_element_on_a_held_value_ends_at_its_deadline_and_leaves_the_turn_to_others) {
  const RRef<Stream<std::int64_t>> kept = table.remote(*node, &Table::rows, 3);
  Stream<std::int64_t> rows = *kept.local_value(*node);
  const Scope quick = node->with({.deadline = std::chrono::seconds(1)});
  std::optional held(table.local_value(*node));
  const Error late = error_of([&] { return rows.next(quick); });
  BOOST_TEST((late.code == ErrorCode::timeout));
  BOOST_TEST(late.hint == "uses of a value take turns: does this program hold it with local_value meanwhile?");
  held.reset();
  table.rpc_sync(*node, &Table::set, 10);
  BOOST_TEST(rows.next(quick).value() == 10);
  BOOST_TEST(rows.next(quick).value() == 11);
}

BOOST_AUTO_TEST_CASE(a_function_on_a_value_reads_a_stream_that_runs_on_the_same_value) {
  const RRef<Stream<std::int64_t>> kept = table.remote(*node, &Table::rows, 3);
  BOOST_TEST(on_table(&Table::sum_of_two, kept) == 0 + 10);
  const RRef<Stream<std::int64_t>> failing = table.remote(*node, &Table::fails);
  on_table(&Table::reads_until_it_fails, failing);
  BOOST_TEST(table.local_value(*node)->next() == 10);  // it went on in its turn, and has given it up
}

BOOST_AUTO_TEST_CASE(a_read_that_gets_no_memory_to_give_its_turn_up_keeps_its_place) {
  const RRef<Stream<std::int64_t>> kept = table.remote(*node, &Table::rows, 3);
  Stream<std::int64_t> rows = *kept.local_value(*node);
  const Scope quick = node->with({.deadline = std::chrono::seconds(1)});
  std::optional held(table.local_value(*node));
  std::optional<RefusedAllocation> refused;
  {
    ActingWaits others;
    others.action = [&] { refused.emplace(1); };
    const detail::BlockingHook::Guard others_act(others);
    BOOST_CHECK_THROW(static_cast<void>(rows.next(quick)), std::bad_alloc);
    BOOST_TEST(refused->happened());
    refused.reset();
  }
  BOOST_TEST((error_of([&] { return rows.next(quick); }).code == ErrorCode::timeout));
  held.reset();
  BOOST_TEST(rows.next(quick).value() == 0);
}

BOOST_AUTO_TEST_CASE(what_a_dropped_stream_destroys_has_its_turn_on_the_value) {
  Stream<std::int64_t> rows = table.rpc_sync(*node, &Table::rows, 3);
  BOOST_TEST(rows.ahead(1).next(*node).value() == 0);
  std::optional held(table.local_value(*node));
  rows = {};  // waits for nothing
  clock->advance(std::chrono::seconds(1));
  BOOST_TEST((*held)->next() == 1);
  held.reset();
  BOOST_TEST(table.local_value(*node)->next() == -1);
}

BOOST_AUTO_TEST_CASE(what_a_dropped_stream_destroys_ends_with_the_node_that_grants_no_turn) {
  Stream<std::int64_t> rows = table.rpc_sync(*node, &Table::rows, 3);
  BOOST_TEST(rows.ahead(1).next(*node).value() == 0);
  std::optional held(table.local_value(*node));
  rows = {};
  pool->refuses = Error{.code = ErrorCode::shutting_down};
  references().stop(*pool->refuses);
  BOOST_TEST((*held)->next() == -1);
  table = {};
  held.reset();
  BOOST_TEST(tables == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
