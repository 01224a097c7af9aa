#include "actors/calls/outgoing_call.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "actors/references/references.h"
#include "actors/to_here_all.h"
#include "actors/wait_all_scope.h"
#include "messages/values.h"
#include "node/local_cluster.h"
#include "tests/actors/references/among_values.h"
#include "tests/support/counting_new.h"
#include "tests/support/error_of.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(outgoing_call)

std::int64_t count_of(const std::vector<RRef<std::int64_t>>& values) {
  return static_cast<std::int64_t>(values.size());
}

/// A value that takes references.
struct Counted {
  std::int64_t count = 0;
  std::int64_t add(const std::vector<RRef<std::int64_t>>& values) { return count += count_of(values); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(count);
  }
};

/// A node that calls p1 with a reference to a value of its own, which nothing else holds.
struct Handing : AmongValues {
  explicit Handing(const std::string& name = "count_of")
      : AmongValues({{name, &count_of}, {"Counted::add_references", &Counted::add}}) {}

  Future<std::int64_t> call_of_p1() {
    const std::vector<RRef<std::int64_t>> values{RRef<std::int64_t>(*node, 7)};
    return node->rpc_async("p1", &count_of, values);
  }

  /// Returns the error of a call that has failed.
  static Error error_of(const Future<std::int64_t>& call) {
    const auto end = call.get_for(Duration{});
    BOOST_REQUIRE(end.has_value());
    BOOST_REQUIRE(!end->ok());
    return end->error();
  }

  void refuse(const BarePeer::Heard& call, bool unread) {
    Error refused;
    refused.code = ErrorCode::no_such_function;
    refused.execution = Execution::never;
    p1->answer("m", call, msg::Failure{refused, unread});
  }
};

BOOST_FIXTURE_TEST_CASE(a_reference_in_a_refused_call_stays_until_the_callee_that_read_it_returns_it, Handing) {
  const Future<std::int64_t> count = call_of_p1();
  const auto calls = p1->take_heard<msg::Call>();
  BOOST_REQUIRE(calls.size() == 1U);
  const msg::RRefHandout out = calls[0].message.get<msg::Call>().arguments.refs.at(0);
  refuse(calls[0], false);
  BOOST_TEST((error_of(count).code == ErrorCode::no_such_function));
  BOOST_TEST(references().owned_values() == 1U);  // p1 may rely on this fork for another handle of the value
  p1->say("m", "rref/" + out.rref.text(), msg::RRefDeleted{out.rref, out.fork});
  BOOST_TEST(references().owned_values() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_reference_that_the_callee_could_not_read_is_taken_back, Handing) {
  const Future<std::int64_t> count = call_of_p1();
  const auto calls = p1->take_heard<msg::Call>();
  BOOST_REQUIRE(calls.size() == 1U);
  refuse(calls[0], true);
  BOOST_TEST((error_of(count).code == ErrorCode::no_such_function));
  BOOST_TEST(references().owned_values() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_reference_in_a_call_that_never_left_is_taken_back, Handing) {
  p1->die();
  const Future<std::int64_t> count = call_of_p1();
  BOOST_TEST((error_of(count).execution == Execution::never));
  BOOST_TEST(references().owned_values() == 0U);
}

BOOST_AUTO_TEST_CASE(a_reference_in_a_call_that_gets_no_memory_is_taken_back) {
  std::size_t unsent = 0;
  bool is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    Handing node;
    std::optional<std::vector<RRef<std::int64_t>>> values(std::in_place, 3, RRef<std::int64_t>(*node.node, 7));
    std::optional<Future<std::int64_t>> count;
    {
      const RefusedAllocation refused(n);
      try {
        count = node.node->rpc_async("p1", &count_of, *values);
      } catch (const std::bad_alloc&) {
      }
      is_refused = refused.happened();
    }
    values.reset();
    if (node.core().failure()) continue;
    const bool is_open = count && !count->ready();
    const bool is_unsent = !is_open && (!count || Handing::error_of(*count).execution == Execution::never);
    BOOST_TEST(node.references().owned_values() == (is_unsent ? 0U : 1U), "allocation " << n);
    unsent += is_unsent ? 1 : 0;
  }
  BOOST_TEST(unsent > 20U);
}

using References = std::vector<RRef<std::int64_t>>;

/// Makes a call of the node to itself, with references to its values, with the first allocation refused, then with the
/// second, ... `name` is that of the function. Checks that nothing holds the values after it.
template <class Call>
void expect_released(const std::string& name, Call call) {
  bool is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    Handing node(name);
    const RRef<Counted> counted(*node.node, Counted{});
    std::optional<References> values(std::in_place, 3, RRef<std::int64_t>(*node.node, 7));
    std::optional<decltype(call(node, counted, *values))> made;
    {
      const RefusedAllocation refused(n);
      try {
        made = call(node, counted, *values);
      } catch (const std::bad_alloc&) {
      }
      is_refused = refused.happened();
    }
    if (node.core().failure()) continue;
    if constexpr (std::is_same_v<decltype(made), std::optional<Future<std::int64_t>>>) {
      if (made) BOOST_TEST(made->ready(), "allocation " << n);
    }
    made.reset();
    values.reset();
    BOOST_TEST(node.references().owned_values() == 1U, "allocation " << n);  // `counted`
  }
}

BOOST_AUTO_TEST_CASE(a_reference_in_a_call_of_its_own_node_that_gets_no_memory_is_released) {
  const auto call = [](Handing& node, const RRef<Counted>&, const References& values) {
    return node.node->rpc_async("m", &count_of, values);
  };
  expect_released("count_of", call);
  expect_released("count_of_many_references_to_values", call);
}

BOOST_AUTO_TEST_CASE(a_reference_in_a_call_that_makes_or_uses_a_value_of_its_own_node_without_memory_is_released) {
  const std::string long_name = "count_of_many_references_to_values";
  expect_released(long_name, [](Handing& node, const RRef<Counted>&, const References& values) {
    return node.node->remote("m", &count_of, values);
  });
  expect_released(long_name, [](Handing& node, const RRef<Counted>& counted, const References& values) {
    return counted.rpc_async(*node.node, &Counted::add, values);
  });
  expect_released(long_name, [](Handing& node, const RRef<Counted>& counted, const References& values) {
    return counted.remote(*node.node, &Counted::add, values);
  });
}

BOOST_FIXTURE_TEST_CASE(a_call_that_gets_no_memory_fails_the_scope_that_counts_it, Handing) {
  WaitAllScope calls(*node);
  auto call = detail::OutgoingCall::make(calls.shared_state(), [](const auto& /*reply*/) {});
  call->count_as_open();
  call.reset();
  BOOST_CHECK_EXCEPTION(calls.wait_all(), RemoteError,
                        [](const RemoteError& error) { return error.code() == ErrorCode::resource_exhausted; });
}

BOOST_FIXTURE_TEST_CASE(a_scope_waits_for_the_types_of_values_that_are_asked_for_through_it, Handing) {
  ActingWaits acting;
  const detail::BlockingHook::Guard acts(acting);
  const auto answer = [&] {
    const auto fetches = p1->take_heard<msg::RRefFetch>();
    BOOST_REQUIRE(fetches.size() == 1U);
    p1->answer("m", fetches[0], msg::Reply{to_payload(nullptr, std::string("i64"))});
  };
  const auto expect_waited = [&](const auto& ask) {
    WaitAllScope calls(*node);
    const auto asked = ask(node->remote("p1", &count_of, std::vector<RRef<std::int64_t>>{}), calls);
    BOOST_TEST(!asked.ready());
    acting.action = answer;
    calls.wait_all();
    BOOST_TEST(asked.ready());
    BOOST_TEST(p1->take<msg::RRefFetch>().empty());
  };
  expect_waited([](const auto& value, const Scope& scope) { return value.created(scope); });
  expect_waited([](const auto& value, const Scope& scope) { return value.type_async(scope); });
}

/// Notes its end.
struct Noted {
  explicit Noted(bool& has_ended) : ended(has_ended) {}
  Noted(const Noted&) = delete;
  Noted& operator=(const Noted&) = delete;
  ~Noted() { ended = true; }
  bool& ended;
};

BOOST_FIXTURE_TEST_CASE(a_kept_copy_of_a_value_that_only_a_call_still_uses_ends_on_the_pool, Handing) {
  bool has_ended = false;
  std::optional<RRef<Counted>> value(confirmed());
  value->shared_handle()->copies().keep(std::make_shared<const Noted>(has_ended), 3);
  const Future<std::int64_t> count = value->rpc_async(*node, &Counted::add, References{});
  value.reset();
  const auto calls = p1->take_heard<msg::ValueCall>();
  BOOST_REQUIRE(calls.size() == 1U);
  pool->keeps = true;
  refuse(calls[0], false);
  BOOST_TEST(count.ready());
  BOOST_TEST(!has_ended);  // this thread receives
  for (const Job& job : std::exchange(pool->kept, {})) job.run();
  BOOST_TEST(has_ended);
}

/// A result that notes on which threads it and its copies end, but for those that have been moved from.
struct EndsNoted {
  EndsNoted() = default;
  EndsNoted(const EndsNoted&) = default;
  EndsNoted(EndsNoted&&) noexcept = default;
  EndsNoted& operator=(const EndsNoted&) = default;
  EndsNoted& operator=(EndsNoted&&) noexcept = default;
  ~EndsNoted() {
    if (ends) ends->push_back(std::this_thread::get_id());
  }
  template <class Archive>
  void save(Archive& ar) const {
    ar(std::int64_t{1});
  }
  template <class Archive>
  void load(Archive& ar) {
    std::int64_t number = 0;
    ar(number);
    ends = noted;
  }
  std::shared_ptr<std::vector<std::thread::id>> ends;
  static inline std::shared_ptr<std::vector<std::thread::id>> noted;  // by one thread at a time
};

EndsNoted ends_noted() { return {}; }

// The receiving thread is held, as it submits a callback, after it has woken those who wait.
BOOST_AUTO_TEST_CASE(a_result_that_is_taken_while_the_receiving_thread_still_completes_its_future_ends_elsewhere) {
  EndsNoted::noted = std::make_shared<std::vector<std::thread::id>>();
  AmongValues among({{"ends_noted", &ends_noted}});
  const auto taken_elsewhere = [&](auto future, auto answer) {
    std::thread::id taker;
    std::ignore = future.state().on_done([&](const Error*) {
      std::thread([&, own = std::exchange(future, {})]() mutable {
        taker = std::this_thread::get_id();
        static_cast<void>(std::exchange(own, {}).get());
      }).join();
    });
    answer();
    const auto ends = std::exchange(*EndsNoted::noted, {});
    BOOST_TEST(ends.size() >= 2U);  // the result, and the copy that was got
    for (const std::thread::id& end : ends) BOOST_TEST((end == taker));
  };
  taken_elsewhere(among.node->rpc_async("p1", &ends_noted), [&] {
    const auto calls = among.p1->take_heard<msg::Call>();
    among.p1->answer("m", calls.at(0), msg::Reply{to_payload(nullptr, EndsNoted())});
  });
  const std::vector values{RRef<EndsNoted>(among.confirmed())};
  const auto& scope = among.node->shared_state();
  taken_elsewhere(detail::fetch_several<EndsNoted>(scope, {values[0].shared_handle()}, SourceLocation::current()), [&] {
    const auto fetches = among.p1->take_heard<msg::RRefFetch>();
    among.p1->answer("m", fetches.at(0), msg::Reply{to_payload(nullptr, EndsNoted())});
  });
  EndsNoted::noted.reset();
}

/// A value that its receiver cannot read.
struct Unreadable {
  template <class Archive>
  void save(Archive& ar) const {
    ar(std::int64_t{1});
  }
  template <class Archive>
  void load(Archive& ar) {
    std::int64_t number = 0;
    ar(number);
    throw std::domain_error("the number is odd");
  }
};

Unreadable unreadable() { return {}; }

BOOST_AUTO_TEST_CASE(a_result_that_cannot_be_read_names_the_call_and_the_node_that_sent_it) {
  LocalCluster cluster({"a", "b"}, {{"unreadable", &unreadable}});
  Node& a = cluster.node("a");
  const auto check = [](const Error& error, const std::string& operation) {
    BOOST_TEST((error.code == ErrorCode::decode));
    BOOST_TEST(error.peer == "b");
    BOOST_TEST(error.operation == operation);
    BOOST_TEST(error.message == "the number is odd");
    BOOST_TEST((error.execution == Execution::yes));
  };
  check(error_of([&] { return a.rpc_sync("b", &unreadable), 0; }), "rpc unreadable");
  const RRef<Unreadable> there = a.remote("b", &unreadable);
  check(error_of([&] { return there.to_here(a), 0; }), "to_here " + there.id().text());
  check(error_of([&] { return static_cast<void>(to_here_all(a, std::vector{there})), 0; }),
        "to_here " + there.id().text());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
