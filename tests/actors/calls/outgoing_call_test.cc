#include "actors/calls/outgoing_call.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "actors/references/references.h"
#include "actors/to_here_all.h"
#include "node/local_cluster.h"
#include "tests/actors/references/among_values.h"
#include "tests/support/error_of.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(outgoing_call)

std::int64_t count_of(const std::vector<RRef<std::int64_t>>& values) {
  return static_cast<std::int64_t>(values.size());
}

/// A node that calls p1 with a reference to a value of its own, which nothing else holds.
struct Handing : AmongValues {
  Handing() : AmongValues({{"count_of", &count_of}}) {}

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
