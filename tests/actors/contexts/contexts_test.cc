#include "actors/contexts/contexts.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/contexts/ended_contexts.h"
#include "actors/contexts/recv_tag.h"
#include "actors/core/node_core.h"
#include "autograd/boundary.h"
#include "autograd/ops.h"
#include "autograd/variable.h"
#include "tensor/create.h"
#include "tests/actors/contexts/among_contexts.h"
#include "tests/support/counting_new.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using Asked = std::shared_ptr<std::optional<Result<msg::AnyMessage>>>;

/// A node whose peers may bring one context each.
struct AmongFew : AmongContexts {
  AmongFew() : AmongContexts(PeerLimits{.contexts_max = 1}) {}
};

/// A node of whose allocations, or of its peers', one is refused.
struct WithoutMemory : AmongContexts {
  enum class End : std::uint8_t { unsaid, node_failed, goes_on };

  /// Refuses the `n`-th allocation during `action`, in which something is said. Then packets that were lost are sent
  /// again. A node that fails is one whose router got no memory, and its peers hear of it.
  template <class Action>
  End run(std::size_t n, const Action& action) {
    bool is_said = true;
    {
      const RefusedAllocation refused(n);
      try {
        action();
      } catch (const std::exception&) {  // it could not be sent
        is_said = false;
      }
      is_refused = refused.happened();
    }
    for (BarePeer* peer : {p1.get(), p2.get()}) {
      if (!is_said || peer->is_broken()) return End::unsaid;
    }
    if (const auto failed = core().failure()) {
      BOOST_TEST(failed->text().starts_with("the router on m: resource_exhausted"), failed->text());
      for (const BarePeer* peer : {p1.get(), p2.get()}) BOOST_TEST(peer->end_of("m").has_value());
      return End::node_failed;
    }
    for (const Duration later : {1s, 2s, 3s}) {
      p1->send_again(later);
      p2->send_again(later);
      clock->advance(1s);
    }
    return End::goes_on;
  }

  bool is_refused = false;  ///< by run()
};

template <class Message>
std::vector<ContextId> contexts_of(const std::vector<BarePeer::Heard>& heard) {
  std::vector<ContextId> ids;
  for (const auto& one : heard) ids.push_back(one.message.get<Message>().context);
  return ids;
}

BOOST_FIXTURE_TEST_SUITE(contexts, AmongContexts)

BOOST_AUTO_TEST_CASE(a_context_of_its_own_is_released_everywhere_it_went) {
  const ContextId first = contexts().open();
  const ContextId second = contexts().open();
  BOOST_TEST(first.creator == "m");
  BOOST_TEST(first.incarnation == core().incarnation().low);
  BOOST_TEST(first.serial == 1U);
  BOOST_TEST(second.serial == 2U);
  BOOST_TEST(contexts().size() == 2U);
  contexts().called(first, "p1");
  p2->say("m", "", msg::ContextEntered{first});
  BOOST_TEST(peers_of(first) == "p1 p2");
  BOOST_TEST(peers_of(second).empty());
  contexts().release(first);
  BOOST_TEST(contexts().size() == 1U);
  for (BarePeer* peer : {p1.get(), p2.get()}) {
    const auto released = contexts_of<msg::ContextReleased>(peer->take_heard<msg::ContextReleased>());
    BOOST_REQUIRE(released.size() == 1U);
    BOOST_TEST((released[0] == first));
  }
  BOOST_TEST(gradients(first) == "context_aborted context m.1 does not exist or was released");
  BOOST_TEST(gradients(second) == "gradients");
}

BOOST_AUTO_TEST_CASE(a_late_word_about_what_has_ended_is_answered_and_begins_nothing) {
  const ContextId own = contexts().open();
  contexts().release(own);
  p2->say("m", "", msg::ContextEntered{own});
  const auto told = p2->take_heard<msg::ContextReleased>();
  BOOST_REQUIRE(told.size() == 1U);
  BOOST_TEST((told[0].message.get<msg::ContextReleased>().context == own));
  contexts().called(own, "p1");
  BOOST_TEST(p1->take<msg::ContextReleased>().size() == 1U);
  BOOST_TEST(!contexts().joined(of_p1(1), "p1").has_value());
  BOOST_TEST(contexts().size() == 1U);
  p1->say("m", "", msg::ContextReleased{of_p1(1)});
  BOOST_TEST(contexts().size() == 0U);
  contexts().received_from(of_p1(1), "p2");
  BOOST_TEST(p2->take<msg::ContextReleased>().size() == 1U);
  contexts().called(of_p1(1), "m");  // a node sends itself no notification
  BOOST_TEST(contexts().size() == 0U);
  BOOST_TEST(gradients(of_p1(1)) == "context_aborted context p1.1 does not exist or was released");
}

BOOST_AUTO_TEST_CASE(a_context_whose_creator_never_was_here_ends_with_the_peer_that_brought_it) {
  const ContextId foreign{"p3", 3, 1};
  BOOST_TEST(!contexts().joined(foreign, "p1").has_value());
  contexts().called(foreign, "p2");
  p1->die();
  BOOST_TEST(contexts().size() == 0U);
  BOOST_TEST(p2->take<msg::ContextAborted>().size() == 1U);
  // A function that p1 called still runs, and calls on.
  contexts().called(foreign, "p1");
  BOOST_TEST(contexts().size() == 0U);
  contexts().called(foreign, "p2");
  BOOST_TEST(contexts().size() == 1U);
  p2->die();
  BOOST_TEST(contexts().size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_context_that_never_was_here_has_no_gradients) {
  const Variable leaf(ones({2}), RequiresGrad::yes);
  BOOST_TEST(gradients(of_p1(1)) == "gradients");
  BOOST_TEST(!contexts().gradient(of_p1(1), leaf).get().defined());
  BOOST_TEST(!contexts().joined(of_p1(1), "p1").has_value());
  BOOST_TEST(gradients(of_p1(1)) == "gradients");
  BOOST_TEST(!contexts().gradient(of_p1(1), leaf).get().defined());
  p1->say("m", "", msg::ContextReleased{of_p1(1)});
  BOOST_TEST(outcome(contexts().gradient(of_p1(1), leaf)).find("context_aborted") == 0U);
}

BOOST_AUTO_TEST_CASE(of_a_context_in_doubt_the_creator_is_asked_when_it_is_made_again) {
  contexts().called(of_p1(1), "p2");
  BOOST_TEST(p1->take<msg::ContextEntered>().empty());  // no question is open
  for (std::uint64_t run = 0; run <= EndedContexts::kRunsMax; ++run) {
    p1->say("m", "", msg::ContextReleased{of_p1(10 + 2 * run)});  // one more than is remembered: 10 is forgotten
  }
  contexts().called(of_p1(9), "p2");
  contexts().called(of_p1(9), "p2");
  BOOST_TEST(!contexts().joined(of_p1(8), "p2").has_value());
  BOOST_TEST(!contexts().joined(of_p1(8), "p2").has_value());
  contexts().called(of_p1(11), "p2");
  const auto asked = contexts_of<msg::ContextEntered>(p1->take_heard<msg::ContextEntered>());
  BOOST_REQUIRE(asked.size() == 2U);  // once each
  BOOST_TEST((asked[0] == of_p1(9)));
  BOOST_TEST((asked[1] == of_p1(8)));
}

// Who takes part in a context knows its secret; who guesses its serial names another context.
BOOST_AUTO_TEST_CASE(who_guesses_the_id_of_a_context_neither_ends_nor_changes_it, *boost::unit_test::label("attack")) {
  ContextId real = of_p1(1);
  real.secret = {3, 4};
  BOOST_TEST(!contexts().joined(real, "p1").has_value());
  Error why;
  why.code = ErrorCode::context_aborted;
  why.peer = "p2";
  for (const IdSecret secret : {IdSecret{}, IdSecret{3, 5}, IdSecret{2, 4}}) {
    ContextId guess = of_p1(1);
    guess.secret = secret;
    p2->say("m", "", msg::ContextReleased{guess});
    p2->say("m", "", msg::ContextAborted{guess, why});
    p2->say("m", "", msg::ContextReleased{guess});
    p2->say("m", "", msg::BackwardRun{guess, {"p2", 2, 9}});
  }
  BOOST_TEST(contexts().size() == 1U);
  BOOST_TEST(gradients(real) == "gradients");
  BOOST_TEST(peers_of(real) == "p1");
}

BOOST_AUTO_TEST_CASE(who_guesses_the_id_of_a_context_that_is_still_to_come_does_not_end_it_either,
                     *boost::unit_test::label("attack")) {
  ContextId real = of_p1(1);
  real.secret = {3, 4};
  p2->say("m", "", msg::ContextReleased{of_p1(1)});
  BOOST_TEST(!contexts().joined(real, "p1").has_value());
  BOOST_TEST(contexts().size() == 1U);
  BOOST_TEST(gradients(real) == "gradients");
  const auto asked = contexts_of<msg::ContextEntered>(p1->take_heard<msg::ContextEntered>());
  BOOST_REQUIRE(asked.size() == 1U);  // p2's word cannot be proved: p1 knows whether its context lives
  BOOST_TEST((asked[0] == real));
  p1->say("m", "", msg::ContextReleased{real});
  BOOST_TEST(contexts().size() == 0U);
  BOOST_TEST(!contexts().joined(real, "p2").has_value());
  BOOST_TEST(contexts().size() == 0U);  // p1's word is enough
}

BOOST_AUTO_TEST_CASE(contexts_of_this_node_have_secrets_that_differ, *boost::unit_test::label("attack")) {
  const ContextId first = contexts().open();
  const ContextId second = contexts().open();
  BOOST_TEST((first.secret != IdSecret{}));
  BOOST_TEST((first.secret != second.secret));
  ContextId guess = first;
  guess.secret.low ^= 1;
  p2->say("m", "", msg::ContextReleased{guess});  // as a participant that forgot it: would end it for all
  BOOST_TEST(gradients(first) == "gradients");
  BOOST_TEST(contexts().size() == 2U);
}

BOOST_AUTO_TEST_CASE(contexts_end_with_their_creator_and_abort_with_who_took_part) {
  BOOST_TEST(!contexts().joined(of_p1(1), "p1").has_value());
  BOOST_TEST(!contexts().joined(of_p1(2), "p2").has_value());
  const ContextId own = contexts().open();
  contexts().called(own, "p1");
  contexts().called(own, "p2");
  const ContextId other = contexts().open();
  contexts().called(other, "p2");
  p1->die();
  BOOST_TEST(contexts().size() == 2U);
  BOOST_TEST(gradients(of_p1(1)).find("context_aborted") == 0U);
  BOOST_TEST(gradients(own) == "context_aborted p1 took part in context m.1 and is gone");
  BOOST_TEST(gradients(other) == "gradients");
  const auto aborted = p2->take<msg::ContextAborted>();
  BOOST_REQUIRE(aborted.size() == 2U);
  for (const msg::ContextAborted& word : aborted) {
    BOOST_TEST((word.context == own || word.context == of_p1(2)));
    BOOST_TEST(word.error.peer == "p1");
  }
}

BOOST_AUTO_TEST_CASE(a_peer_that_goes_before_the_context_knows_it_aborts_it_all_the_same) {
  const ContextId own = contexts().open();
  contexts().called(own, "p1");
  is_over(*p2);
  contexts().called(own, "p2");  // it is down: the call fails by itself
  BOOST_TEST(gradients(own) == "gradients");
}

BOOST_AUTO_TEST_CASE(a_mark_for_what_has_ended_is_refused_and_one_for_a_context_makes_it) {
  const auto mark = [&](const ContextId& id) {
    return p1->ask("m", "context/" + id.text(), msg::BackwardMark{id, {"p1", 1, 9}, "p1", {}, {}});
  };
  const auto outcome_of = [](const Asked& asked) {
    if (!*asked) return std::string("waits");
    return (*asked)->ok() ? std::string("marked") : std::string(name_of((*asked)->error().code));
  };
  const Asked marked = mark(of_p1(1));
  BOOST_TEST(outcome_of(marked) == "marked");
  BOOST_TEST(contexts().size() == 1U);
  p1->say("m", "", msg::ContextReleased{of_p1(1)});
  BOOST_TEST(outcome_of(mark(of_p1(1))) == "context_aborted");
  BOOST_TEST(contexts().size() == 0U);
  p1->say("m", "context/p1.2", msg::BackwardRun{of_p1(2), {"p1", 1, 10}});  // a context that was never here: ignored
  BOOST_TEST(contexts().size() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_mark_that_brings_one_context_too_many_is_refused, AmongFew) {
  const auto mark = [&](const ContextId& id) {
    return p1->ask("m", "context/" + id.text(), msg::BackwardMark{id, {"p1", 1, 9}, "p1", {}, {}});
  };
  const Asked first = mark(of_p1(1));
  BOOST_TEST((first->has_value() && (*first)->ok()));
  const Asked second = mark(of_p1(2));
  BOOST_REQUIRE((second->has_value() && !(*second)->ok()));
  BOOST_TEST(((*second)->error().code == ErrorCode::resource_exhausted));
  BOOST_TEST(contexts().size() == 1U);
}

BOOST_AUTO_TEST_CASE(large_graph_of_a_context_of_the_dead_is_dropped_on_the_pool) {
  const Variable large(ones({40, 40}), RequiresGrad::yes);
  contexts().record_send(of_p1(1), {"m", 7, 1}, SendFn::make(std::vector{large}), "p2", "arguments of rpc f");
  pool->keeps = true;
  p1->die();
  BOOST_REQUIRE(pool->kept.size() == 1U);
  BOOST_TEST(pool->kept[0].label == "drop context p1.1");
  pool->keeps = false;
  for (const Job& job : std::exchange(pool->kept, {})) job.run();
}

BOOST_AUTO_TEST_CASE(passes_are_counted_over_all_contexts) {
  contexts().passes_changed(2);
  contexts().passes_changed(-1);
  BOOST_TEST(contexts().passes() == 1U);
}

BOOST_AUTO_TEST_CASE(the_end_of_the_node_fails_a_pass_that_is_under_way) {
  const ContextId own = contexts().open();
  detail::PassPlan plan;
  plan.roots.remote["p1"] = {RRefId{"p1", 1, 5}};
  const auto asked = pass(own, std::move(plan));
  BOOST_TEST(outcome(asked) == "waits");  // p1 does not answer
  Error why;
  why.code = ErrorCode::shutting_down;
  why.message = "the node ends";
  contexts().stop(why);
  BOOST_TEST(outcome(asked) == "shutting_down the node ends");
  BOOST_TEST(contexts().passes() == 0U);
}

BOOST_AUTO_TEST_CASE(the_end_of_the_node_fails_what_is_asked_and_tells_nobody) {
  const ContextId own = contexts().open();
  contexts().called(own, "p1");
  Error why;
  why.code = ErrorCode::shutting_down;
  why.message = "the node ends";
  contexts().stop(why);
  BOOST_TEST(contexts().size() == 0U);
  BOOST_TEST(gradients(own) == "shutting_down the node ends");
  BOOST_TEST(outcome(pass(own, {})) == "shutting_down the node ends");
  BOOST_CHECK_EXCEPTION(static_cast<void>(contexts().open()), RemoteError,
                        [](const RemoteError& error) { return error.code() == ErrorCode::shutting_down; });
  p2->say("m", "", msg::ContextEntered{of_p1(1)});
  BOOST_TEST(contexts().size() == 0U);
  BOOST_TEST(p2->take<msg::ContextReleased>().empty());
  BOOST_TEST(p1->take<msg::ContextReleased>().empty());
  const Asked mark = p1->ask("m", "context/m.1", msg::BackwardMark{own, {"p1", 1, 9}, "p1", {}, {}});
  BOOST_REQUIRE((mark->has_value() && !(*mark)->ok()));
  BOOST_TEST(((*mark)->error().code == ErrorCode::shutting_down));
}

BOOST_AUTO_TEST_CASE(gradients_that_get_no_memory_fail_their_pass) {
  std::size_t failed = 0;
  bool is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    WithoutMemory among;
    const ContextId id = among.contexts().open();
    among.contexts().called(id, "p1");
    const auto recv = detail::make_recv({id, {"p1", 1, 5}, "p1", msg::RouteLegs{}}, 1);
    const Variable received = RecvFn::variable(recv, 0, ones({10}));
    // The gradient of `received` is a small part of another tensor, so that it is copied for its message.
    const Variable root = sum(mul(concat({received, Variable(ones({100}))}), Variable(ones({110}))));
    std::optional<Future<void>> done;
    const auto end = among.run(n, [&] { done = among.pass(id, {{{root}, {}}, {}}); });
    is_refused = among.is_refused;
    if (end == WithoutMemory::End::node_failed) {
      BOOST_TEST(done->ready(), "allocation " << n);
    }
    if (end != WithoutMemory::End::goes_on) continue;
    const bool is_sent = among.p1->take<msg::BackwardGradients>().size() == 1U;
    BOOST_TEST((is_sent || done->ready()), "allocation " << n);
    if (!done->ready()) continue;
    const std::string outcome = among.outcome(*done);  // aborted, if the context itself got none
    failed += outcome.starts_with("resource_exhausted") || outcome.starts_with("context_aborted") ? 1 : 0;
  }
  BOOST_TEST(failed > 10U);
}

BOOST_AUTO_TEST_CASE(word_about_a_pass_that_gets_no_memory_aborts_its_context_on_all_nodes) {
  const auto p3 = peer("p3", 3);
  for (const NodeName name : {"p1", "p2"}) BOOST_TEST(!contexts().joined(of_p1(1), name).has_value());
  BOOST_TEST(!contexts().joined(of_p1(2), "p1").has_value());
  const Error why = core().error(ErrorCode::resource_exhausted, "m", {}, "m has no memory for 8 bytes");
  BOOST_TEST(contexts().word_lost("m/context/p1.3", p2->life(), why));  // it has ended
  BOOST_TEST(contexts().word_lost("m/context/p1.1", p2->life(), why));
  for (BarePeer* peer : {p1.get(), p2.get()}) {
    const auto aborted = peer->take<msg::ContextAborted>();
    BOOST_REQUIRE(aborted.size() == 1U);
    BOOST_TEST((aborted[0].context == of_p1(1)));
    BOOST_TEST((aborted[0].error.code == ErrorCode::context_aborted));
    BOOST_TEST(aborted[0].error.cause.find("m has no memory for 8 bytes") != std::string::npos);
  }
  BOOST_TEST(gradients(of_p1(1)) == "context_aborted a part of context p1.1 is lost");

  // A guess ends no context, only the session of the one that makes it.
  BOOST_TEST(contexts().word_lost("m/context/p1.2", p3->life(), why));
  BOOST_TEST(p3->end_of("m").has_value());
  BOOST_TEST(gradients(of_p1(2)) == "gradients");
  BOOST_TEST(!contexts().word_lost("m/worker", p2->life(), why));
  BOOST_TEST(!p2->end_of("m").has_value());
}

BOOST_AUTO_TEST_CASE(abort_that_gets_no_memory_reaches_every_peer_or_ends_the_node) {
  std::size_t told = 0;
  for (const bool is_death : {false, true}) {
    bool is_refused = true;
    for (std::size_t n = 1; is_refused; ++n) {
      AmongContexts among;
      const auto p3 = among.peer("p3", 3);
      const auto p4 = among.peer("p4", 4);
      for (const NodeName name : {"p1", "p2", "p3", "p4"})
        BOOST_TEST(!among.contexts().joined(of_p1(1), name).has_value());
      const Peer lost = p4->self();
      const Error why = among.core().error(ErrorCode::resource_exhausted, "p4", {}, "a word about a pass is lost");
      bool is_known = true;
      {
        const RefusedAllocation refused(n);
        try {
          is_death ? among.contexts().peer_down(lost, why)
                   : static_cast<void>(among.contexts().word_lost("m/context/p1.1", p4->life(), why));
        } catch (const std::bad_alloc&) {
          is_known = false;  // to the context; its router, which calls this, ends the node
        }
        is_refused = refused.happened();
      }
      const auto peers = {among.p1.get(), among.p2.get(), p3.get()};
      if (!is_known || among.core().failure() || std::ranges::any_of(peers, &BarePeer::is_broken)) continue;
      for (int second = 0; second < 3; ++second) among.clock->advance(1s);  // packets that were lost are sent again
      for (BarePeer* peer : peers)
        BOOST_TEST(!peer->take<msg::ContextAborted>().empty(), peer->self().name << " and allocation " << n);
      BOOST_TEST(among.gradients(of_p1(1)) != "gradients", "allocation " << n);
      told += is_refused ? 1 : 0;
    }
  }
  BOOST_TEST(told > 10U);
}

BOOST_AUTO_TEST_CASE(word_about_a_pass_that_gets_no_memory_is_taken_or_aborts_its_context_or_ends_the_session,
                     *boost::unit_test::label("attack")) {
  std::size_t aborted = 0;
  bool is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    WithoutMemory among;
    for (const NodeName name : {"p1", "p2"}) BOOST_TEST(!among.contexts().joined(of_p1(1), name).has_value());
    // Its route leads nowhere: the node says so when it has taken the word.
    const msg::BackwardGradients word{of_p1(1), {"p1", 1, 7}, {"m", 7, 1}, {ones({1'000'000})}, msg::BackwardRoute{}};
    const auto end = among.run(n, [&] { among.p1->say("m", "context/p1.1", word); });
    is_refused = among.is_refused;
    if (end != WithoutMemory::End::goes_on) continue;
    const std::string outcome = among.gradients(of_p1(1));
    BOOST_TEST_CONTEXT("allocation " << n << ": " << outcome) {
      if (outcome.starts_with("context_aborted")) {
        BOOST_TEST(among.p1->take<msg::ContextAborted>().size() == 1U);
        BOOST_TEST(among.p2->take<msg::ContextAborted>().size() == 1U);
        ++aborted;
      } else {
        BOOST_TEST((among.p1->take<msg::BackwardFinished>().size() == 1U || among.p1->end_of("m")));
      }
    }
  }
  BOOST_TEST(aborted >= 1U);
}

BOOST_AUTO_TEST_CASE(word_about_no_pass_that_gets_no_memory_is_taken_or_ends_the_session,
                     *boost::unit_test::label("attack")) {
  Error why;
  why.code = ErrorCode::context_aborted;
  why.peer = "p1";
  why.message = std::string(1000, 'w');
  std::size_t ended = 0;
  bool is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    WithoutMemory among;
    const ContextId id = among.contexts().open();
    among.contexts().release(id);
    // The node answers when it has taken the word: the context has ended.
    const auto end = among.run(n, [&] { among.p1->say("m", "", msg::ContextAborted{id, why}); });
    is_refused = among.is_refused;
    if (end != WithoutMemory::End::goes_on) continue;
    const bool is_taken = among.p1->take<msg::ContextReleased>().size() == 1U;
    BOOST_TEST((is_taken || among.p1->end_of("m")), "allocation " << n);
    BOOST_TEST(!among.p2->end_of("m").has_value());
    ended += is_taken ? 0 : 1;
  }
  BOOST_TEST(ended >= 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
