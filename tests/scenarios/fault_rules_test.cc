// Messages of one kind that are lost or late, and the results for the caller.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/dist_autograd.h"
#include "actors/references/references.h"
#include "actors/rref.h"
#include "actors/sessions/session_header.h"
#include "messages/codec.h"
#include "messages/rref.h"
#include "node/sim/faulty_link.h"
#include "tests/scenarios/lost_messages.h"
#include "tests/support/error_of.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(fault_rules)

namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;
using sim::FaultRule;
using sim::FaultRules;

/// Long enough for three losses of one message: the session sends it again after 200, 300 and 450 ms.
constexpr auto kPatient = 10s;
/// Never delivered within a test.
constexpr int kAlways = 1'000'000;

std::int64_t next(std::int64_t x) { return x + 1; }
std::int64_t fetch_and_add(Scope& scope, const RRef<std::int64_t>& x, std::int64_t y) { return x.to_here(scope) + y; }

/// A function that ps1 does not serve.
std::int64_t sum_of(const std::int64_t& x, const std::vector<RRef<std::int64_t>>& more) { return x + std::ssize(more); }

LocalClusterOptions with_functions(LocalClusterOptions options) {
  options.functions["ps1"] = {{"next", &next}, {"fetch_and_add", &fetch_and_add}};
  return options;
}

template <class Condition>
bool comes_true(Condition holds) {
  const auto due = std::chrono::steady_clock::now() + kPatient;
  while (!holds() && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  return holds();
}

struct Faulty {
  explicit Faulty(std::vector<FaultRule> rules) : Faulty(FaultRules(std::move(rules)).options()) {}
  explicit Faulty(LocalClusterOptions options)
      : cluster({"trainer", "ps0", "ps1"}, {{"next", &next}, {"fetch_and_add", &fetch_and_add}, {"sum_of", &sum_of}},
                with_functions(std::move(options))),
        trainer(cluster.node("trainer")) {}

  [[nodiscard]] detail::NodeCounts counts(const char* name) { return cluster.node(name).core().counts(); }

  /// Returns whether `ps0` owns no value any more, within kPatient.
  [[nodiscard]] bool frees_all() {
    return comes_true([&] { return counts("ps0").owned_values == 0; });
  }

  /// Returns whether the node owns nothing and depends on nothing of others, within kPatient.
  [[nodiscard]] bool is_empty(const char* name) {
    const detail::References& references = cluster.node(name).core().references();
    return comes_true(
        [&] { return references.owned_values() == 0 && references.handles() == 0 && references.forks() == 0; });
  }

  LocalCluster cluster;
  Node& trainer;
};

}  // namespace

BOOST_AUTO_TEST_CASE(rules_that_were_set_are_read_back_and_wrong_ones_are_refused, *label("X-01")) {
  const FaultRules rules({{.message = "Call", .fail_first = 2, .delay = 5ms}, {.message = "RRefForked"}});
  BOOST_TEST(rules.list().size() == 2U);
  BOOST_TEST(rules.list()[0].message == "Call");
  BOOST_TEST(rules.list()[0].fail_first == 2);
  BOOST_TEST(rules.list()[0].delay.count() == 5);
  BOOST_CHECK_THROW(FaultRules({{.message = "Cal"}}), std::invalid_argument);
  BOOST_CHECK_THROW(FaultRules({{.message = "Call"}, {.message = "Call"}}), std::invalid_argument);
  BOOST_CHECK_THROW(FaultRules({{.message = "Call", .fail_first = -1}}), std::invalid_argument);
  BOOST_CHECK_THROW(FaultRules({{.message = "Call", .delay = -1ms}}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(no_rules_make_no_faults_and_rules_touch_only_what_they_name, *label("X-02")) {
  Faulty none(std::vector<FaultRule>{});
  BOOST_TEST(none.trainer.with({.deadline = kPatient}).rpc_sync("ps0", &next, 1) == 2);
  Faulty calls({{.message = "Call", .fail_first = kAlways}});
  const RRef<std::int64_t> kept = calls.trainer.remote("ps0", &next, 1);  // a RemoteCall
  BOOST_TEST(kept.to_here(calls.trainer.with({.deadline = kPatient})) == 2);
  BOOST_TEST((error_of([&] { return calls.trainer.with({.deadline = 50ms}).rpc_sync("ps0", &next, 1); }).code ==
              ErrorCode::timeout));
}

// Notifications of references ride in the packets of other messages.
BOOST_AUTO_TEST_CASE(rules_see_a_message_that_rides_in_the_packet_of_another, *label("X-02")) {
  const Frames rider = msg::encode({}, msg::RRefForkAck{}).value();
  const auto packet = [&](std::uint64_t number, std::uint8_t riders) {
    Frames frames{encode(SessionHeader{.number = number, .riders = riders})};
    std::ranges::copy(msg::encode({}, msg::RRefDeleted{}).value(), std::back_inserter(frames));
    for (int i = 0; i < riders; ++i) std::ranges::copy(rider, std::back_inserter(frames));
    return frames;
  };
  auto decide = FaultRules({{.message = "RRefForkAck", .fail_first = 2, .delay = 7ms}}).decide();
  BOOST_TEST((decide("ps0", packet(1, 0)) == sim::Fate(0us)));
  for (const std::uint8_t riders : {std::uint8_t{1}, std::uint8_t{3}}) {
    for (int i = 0; i < 2; ++i) BOOST_TEST((decide("ps0", packet(riders, riders)) == std::nullopt));
    BOOST_TEST((decide("ps0", packet(riders, riders)) == sim::Fate(7ms)));
  }
  auto both =
      FaultRules({{.message = "RRefForkAck", .fail_first = 1}, {.message = "RRefDeleted", .delay = 3ms}}).decide();
  BOOST_TEST((both("ps0", packet(1, 1)) == std::nullopt));
  BOOST_TEST((both("ps0", packet(1, 1)) == sim::Fate(3ms)));
}

BOOST_AUTO_TEST_CASE(calls_with_references_succeed_though_each_notification_is_lost_three_times,
                     *label("X-03") * label("fault-F01")) {
  Faulty faulty({{.message = "RRefForked", .fail_first = 3},
                 {.message = "RRefForkAck", .fail_first = 3},
                 {.message = "RRefDeleted", .fail_first = 3},
                 {.message = "ContextReleased", .fail_first = 3}});
  const Scope patient = faulty.trainer.with({.deadline = kPatient});
  {
    const RRef<std::int64_t> x = patient.remote("ps0", &next, 1);
    BOOST_TEST(patient.rpc_sync("ps1", &fetch_and_add, x, 10) == 12);
  }
  BOOST_TEST(faulty.frees_all());
}

BOOST_AUTO_TEST_CASE(end_of_a_context_arrives_though_its_first_notifications_are_lost, *label("G-13")) {
  Faulty faulty({{.message = "ContextReleased", .fail_first = 3}});
  const auto open = [&](const char* node) { return faulty.counts(node).contexts; };
  {
    const DistContext context(faulty.trainer.with({.deadline = kPatient}));
    for (const char* node : {"ps0", "ps1"}) {
      BOOST_TEST(context.rpc_sync(node, &next, 1) == 2);
      BOOST_TEST(open(node) == 1U);
    }
  }
  BOOST_TEST(comes_true([&] { return open("ps0") == 0 && open("ps1") == 0; }));
}

BOOST_AUTO_TEST_CASE(creation_that_is_lost_fails_the_fetch_and_the_passing_on, *label("X-04") * label("X-05")) {
  Faulty faulty({{.message = "RemoteCall", .fail_first = kAlways}});
  const RRef<std::int64_t> lost = faulty.trainer.with({.deadline = 50ms}).remote("ps0", &next, 1);
  const Scope patient = faulty.trainer.with({.deadline = kPatient});
  const auto begin = std::chrono::steady_clock::now();
  const Error error = error_of([&] { return lost.to_here(patient); });
  BOOST_TEST((std::chrono::steady_clock::now() - begin < kPatient / 2));  // the caller is told when the creation fails
  BOOST_TEST((error.code == ErrorCode::timeout));
  BOOST_TEST(error.operation == "to_here " + lost.id().text());
  const Error passed_on = error_of([&] { return patient.rpc_sync("ps1", &fetch_and_add, lost, 1); });
  BOOST_TEST((passed_on.code == ErrorCode::timeout));
  BOOST_TEST((passed_on.execution == Execution::never));
}

BOOST_AUTO_TEST_CASE(creation_that_is_late_times_out_and_leaves_nothing, *label("X-06")) {
  Faulty faulty({{.message = "RemoteCall", .delay = 300ms}});
  {
    const RRef<std::int64_t> late = faulty.trainer.with({.deadline = 50ms}).remote("ps0", &next, 1);
    BOOST_TEST(
        (error_of([&] { return late.to_here(faulty.trainer.with({.deadline = 1ms})); }).code == ErrorCode::timeout));
    BOOST_TEST((error_of([&] { return late.to_here(faulty.trainer.with({.deadline = kPatient})); }).code ==
                ErrorCode::timeout));
  }
  // The call arrives after its caller has dropped the result: nothing may remain.
  BOOST_TEST(faulty.trainer.with({.deadline = kPatient}).remote("ps0", &next, 5).to_here(faulty.trainer) == 6);
  BOOST_TEST(faulty.frees_all());
  BOOST_TEST(faulty.counts("trainer").handles == 0U);
}

BOOST_AUTO_TEST_CASE(users_are_pending_until_the_owner_has_confirmed_them_and_forks_until_they_are_dropped,
                     *label("O-26")) {
  std::atomic<bool> lost = true;
  Faulty faulty(losing("RemoteCall", lost));
  const Scope patient = faulty.trainer.with({.deadline = kPatient});
  const auto counts_of = [&](const char* node) {
    const DebugInfo info = faulty.cluster.node(node).debug_info();
    return std::vector{info.owners, info.handles, info.forks, info.pending_users};
  };
  using Counts = std::vector<std::size_t>;
  RRef<std::int64_t> a = patient.remote("ps0", &next, 1);
  BOOST_TEST(counts_of("trainer") == (Counts{0, 1, 1, 1}), boost::test_tools::per_element());
  RRef<std::int64_t> b = patient.remote("ps0", &next, 2);
  BOOST_TEST(counts_of("trainer") == (Counts{0, 2, 2, 2}), boost::test_tools::per_element());
  BOOST_TEST(counts_of("ps0") == (Counts{0, 0, 0, 0}), boost::test_tools::per_element());
  lost = false;                                                              // the session sends both calls again
  for (const auto& rref : {a, b}) static_cast<void>(rref.to_here(patient));  // their owner has confirmed both
  BOOST_TEST(counts_of("trainer") == (Counts{0, 2, 2, 0}), boost::test_tools::per_element());
  BOOST_TEST(counts_of("ps0") == (Counts{2, 0, 0, 0}), boost::test_tools::per_element());
  a = {};
  BOOST_TEST(counts_of("trainer") == (Counts{0, 1, 1, 0}), boost::test_tools::per_element());
  b = {};
  BOOST_TEST(faulty.frees_all());
  BOOST_TEST(counts_of("trainer") == (Counts{0, 0, 0, 0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(late_fetch_times_out_and_a_patient_one_succeeds, *label("X-07")) {
  Faulty faulty({{.message = "RRefFetch", .delay = 200ms}});
  const RRef<std::int64_t> x = faulty.trainer.remote("ps0", &next, 1);
  BOOST_TEST((error_of([&] { return x.to_here(faulty.trainer.with({.deadline = 20ms})); }).code == ErrorCode::timeout));
  BOOST_TEST(x.to_here(faulty.trainer.with({.deadline = kPatient})) == 2);
}

BOOST_AUTO_TEST_CASE(late_call_times_out_by_its_own_deadline_only, *label("X-08")) {
  Faulty faulty({{.message = "Call", .delay = 200ms}});
  BOOST_TEST((error_of([&] { return faulty.trainer.with({.deadline = 20ms}).rpc_sync("ps0", &next, 1); }).code ==
              ErrorCode::timeout));
  BOOST_TEST(faulty.trainer.with({.deadline = Deadline::while_peer_lives()}).rpc_sync("ps0", &next, 1) == 2);
  BOOST_TEST(faulty.trainer.rpc_sync("ps0", &next, 1) == 2);
}

BOOST_AUTO_TEST_CASE(refused_call_that_comes_when_nobody_waits_any_more_keeps_no_reference) {
  for (const char* late : {"Call", "RemoteCall", "ValueCall"}) {
    BOOST_TEST_CONTEXT(late) {
      Faulty faulty({{.message = late, .delay = 200ms}});
      const Scope patient = faulty.trainer.with({.deadline = kPatient});
      const Scope hasty = faulty.trainer.with({.deadline = 20ms});
      {
        const RRef<std::int64_t> target = patient.remote("ps1", &next, 1);
        const std::vector<RRef<std::int64_t>> of_all{patient.remote("ps0", &next, 1), patient.remote("ps1", &next, 1),
                                                     RRef<std::int64_t>(patient, 7)};
        for (const auto& rref : of_all) static_cast<void>(rref.to_here(patient));
        const auto call = [&] {
          if (std::string_view(late) == "Call") return hasty.rpc_sync("ps1", &sum_of, 1, of_all);
          if (std::string_view(late) == "RemoteCall") return hasty.remote("ps1", &sum_of, 1, of_all).to_here(patient);
          return target.rpc_sync(hasty, &sum_of, of_all);
        };
        BOOST_TEST((error_of(call).code == ErrorCode::timeout));
      }
      for (const char* name : {"ps0", "ps1", "trainer"}) {
        BOOST_TEST(faulty.is_empty(name), name);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(shutdown_whose_words_are_lost_in_any_phase_ends_everywhere_and_says_who_is_missing,
                     *label("S-08")) {
  for (const char* lost : {"ShutdownReady", "ShutdownCount", "ShutdownCounted", "ShutdownAgreed"}) {
    BOOST_TEST_CONTEXT(lost) {
      Faulty faulty({{.message = lost, .fail_first = kAlways}});
      const auto begin = std::chrono::steady_clock::now();
      std::map<NodeName, ShutdownReport> reports;
      std::mutex mutex;
      {
        std::vector<std::jthread> ending;
        for (const char* name : {"trainer", "ps0", "ps1"}) {
          ending.emplace_back([&, name] {
            ShutdownReport report = faulty.cluster.node(name).shutdown(300ms);
            const std::lock_guard lock(mutex);
            reports[name] = std::move(report);
          });
        }
      }
      BOOST_TEST(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < 3.0);
      BOOST_TEST(reports.size() == 3U);
      // A node that cannot agree with the others reports it. The agreement itself cannot be missed: a node that knows
      // it leaves, and the remaining nodes then agree without it.
      const auto is_clean = [](const auto& entry) { return entry.second.clean(); };
      BOOST_TEST(std::all_of(reports.begin(), reports.end(), is_clean) == (std::string_view(lost) == "ShutdownAgreed"));
      for (const auto& [name, report] : reports) {
        if (!report.clean())
          BOOST_TEST(report.waited_for.front().starts_with("not all have finished; still up: "),
                     report.waited_for.front());
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
