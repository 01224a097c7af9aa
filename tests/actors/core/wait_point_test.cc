#include "actors/core/wait_point.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

#include "actors/core/node_core.h"
#include "actors/references/references.h"
#include "actors/rref.h"
#include "tests/actors/bare_peer.h"
#include "tests/support/meanwhile.h"

namespace troupe::testing {
namespace {

using detail::References;
using detail::ValueBox;
using detail::ValueUse;
using detail::WaitPoint;

std::int64_t twice(std::int64_t x) { return 2 * x; }

struct Relay {
  std::int64_t value = 0;
  [[nodiscard]] std::int64_t ask_p2(Scope& scope) const { return scope.rpc_sync("p2", &twice, value); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(value);
  }
};

FunctionRegistry functions() {
  return {{"twice", &twice}, {"Relay", constructor<Relay>}, {"Relay::ask_p2", &Relay::ask_p2}};
}

struct Used : AmongBarePeers {
  Used() : AmongBarePeers(0, functions()) {}

  [[nodiscard]] References& references() { return core().references(); }

  /// Returns a use that has its turn; null if it must wait.
  std::shared_ptr<ValueUse> use() {
    const auto begun = std::make_shared<std::shared_ptr<ValueUse>>();
    references().use(value->id(), detail::UseKind::reads,
                     [begun](const Result<ValueBox>&, std::shared_ptr<ValueUse> use) { *begun = std::move(use); });
    return std::move(*begun);
  }

  std::unique_ptr<BarePeer> p1 = peer("p1", 1);
  std::unique_ptr<BarePeer> p2 = peer("p2", 2);
  std::shared_ptr<detail::RRefHandle> value =
      references().own(ValueBox::of(Relay{4}), "Relay", SourceLocation::current());
};

/// Notes in its destructor whether a wait there may throw.
struct Noting {
  bool& may_throw;
  ~Noting() { may_throw = detail::BlockingHook::may_throw(); }
};

BOOST_AUTO_TEST_SUITE(hooks)

BOOST_AUTO_TEST_CASE(a_wait_may_throw_but_not_in_a_destructor_that_forbids_it_or_that_an_exception_calls) {
  using detail::BlockingHook;
  BOOST_TEST(BlockingHook::may_throw());
  {
    const BlockingHook::NoThrow outer;
    {
      const BlockingHook::NoThrow inner;
      BOOST_TEST(!BlockingHook::may_throw());
    }
    BOOST_TEST(!BlockingHook::may_throw());
  }
  bool may_throw = true;
  try {
    const Noting noting{may_throw};
    throw std::runtime_error("unwinds");
  } catch (const std::runtime_error&) {
    BOOST_TEST(!may_throw);
  }
  BOOST_TEST(BlockingHook::may_throw());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(waits_of_uses, Used)

BOOST_AUTO_TEST_CASE(a_turn_that_is_free_is_had_again_without_a_hook) {
  const auto first = use();
  bool is_free = false;
  first->run_without_turn(nullptr, [&] { is_free = use() != nullptr; });
  BOOST_TEST(is_free);
  BOOST_TEST(use() == nullptr);  // the first use has the turn
}

BOOST_AUTO_TEST_CASE(who_takes_its_turn_again_waits_for_it_as_its_thread_waits) {
  const auto first = use();
  std::shared_ptr<ValueUse> second;
  Meanwhile meanwhile({[&](const WaitPoint& turn) {
    BOOST_TEST(!turn.signalled());
    second.reset();
    BOOST_TEST(turn.signalled());
  }});
  first->run_without_turn(detail::BlockingHook::current(), [&] {
    second = use();
    BOOST_TEST(second != nullptr);
  });
  BOOST_TEST(meanwhile.waits() == 1U);
}

BOOST_AUTO_TEST_CASE(a_function_that_waited_goes_on_when_who_used_its_value_meanwhile_has_ended) {
  const RRef<Relay> theirs = node->remote("p1", constructor<Relay>);
  static_cast<void>(theirs.rpc_async(*node, &Relay::ask_p2));
  auto call = std::move(p1->take<msg::ValueCall>().at(0));  // as the node encodes it
  call.rref = value->id();
  std::shared_ptr<ValueUse> second;
  const auto answered_while_used = [&](const WaitPoint&) {
    second = use();
    BOOST_TEST(second != nullptr);
    Error error;
    error.message = "no";
    p2->answer("m", p2->take_heard<msg::Call>().at(0), msg::Failure{error});
  };
  const auto used_no_more = [&](const WaitPoint& turn) {
    BOOST_TEST(!turn.signalled());
    second.reset();
  };
  pool->keeps = true;
  const auto asked = p1->ask("m", "worker", call);
  pool->keeps = false;
  Meanwhile meanwhile({answered_while_used, used_no_more});
  for (const Job& job : std::exchange(pool->kept, {})) job.run();
  BOOST_TEST(meanwhile.waits() == 2U);
  BOOST_REQUIRE((asked->has_value() && !(*asked)->ok()));
  BOOST_TEST(((*asked)->error().code == ErrorCode::remote_exception));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
