#include "actors/core/guarded.h"

#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/dist_autograd.h"
#include "actors/membership/membership.h"
#include "actors/references/references.h"
#include "actors/references/rref_handle.h"
#include "actors/rref.h"
#include "node/local_cluster.h"
#include "tests/actors/bare_peer.h"
#include "tests/support/counting_new.h"
#include "tests/support/hold.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(guarded)

namespace {

using namespace std::chrono_literals;

/// Returns the failure of an actor that threw `exception`.
template <class Exception>
Error failure_of(const Exception& exception) {
  try {
    throw exception;
  } catch (...) {
    return detail::failure_of_current_exception("the router");
  }
}

void hold_for(Scope& scope) { testing::hold(scope); }
int square(int x) { return x * x; }

FunctionRegistry functions() { return {{"hold_for", &hold_for}, {"square", &square}}; }

/// Waits until `holds()`, at most 5 s.
template <class Predicate>
bool soon(Predicate holds) {
  const auto due = std::chrono::steady_clock::now() + 5s;
  while (!holds() && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  return holds();
}

struct Pair {
  LocalCluster cluster{{"a", "b"}, functions()};
  Node& a = cluster.node("a");
  Node& b = cluster.node("b");

  /// Makes the router of `node` throw.
  static void throw_in_router(Node& node) {
    detail::NodeCore& core = node.core();
    core.request({core.name(), "worker", "boom", std::nullopt, msg::CallCancelled{}},
                 [](const Result<msg::AnyMessage>&) { throw std::runtime_error("boom"); });
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(shortage_is_resource_exhausted_and_anything_else_is_internal) {
  BOOST_TEST((failure_of(std::bad_alloc()).code == ErrorCode::resource_exhausted));
  BOOST_TEST(failure_of(std::bad_alloc()).message == "out of memory");
  const std::system_error no_thread(std::make_error_code(std::errc::resource_unavailable_try_again));
  BOOST_TEST((failure_of(no_thread).code == ErrorCode::resource_exhausted));
  const std::system_error no_entry(std::make_error_code(std::errc::no_such_file_or_directory));
  BOOST_TEST((failure_of(no_entry).code == ErrorCode::internal));
  BOOST_TEST((failure_of(std::logic_error("boom")).code == ErrorCode::internal));
  BOOST_TEST(failure_of(std::logic_error("boom")).message == "boom");
  BOOST_TEST(failure_of(std::logic_error("boom")).operation == "the router");
  BOOST_TEST(failure_of(7).message == "it threw what is no std::exception");
}

BOOST_FIXTURE_TEST_CASE(node_whose_router_throws_ends_and_says_why_to_all_who_wait, Pair) {
  const Future<void> waiting = a.rpc_async("b", &hold_for);
  throw_in_router(a);
  const auto result = waiting.get_for(5s);
  BOOST_REQUIRE(result.has_value());
  BOOST_TEST(result->error().message == "boom");
  BOOST_REQUIRE(a.core().failure().has_value());
  BOOST_TEST(a.core().failure()->operation == "the router");
  const auto later = a.rpc_async("b", &square, 2).get_for(5s);
  BOOST_REQUIRE(later.has_value());
  BOOST_TEST(later->error().message == "node a has failed: boom");
}

BOOST_AUTO_TEST_CASE(node_that_ends_without_memory_tells_those_who_wait) {
  for (std::size_t n = 1, is_refused = 1; is_refused != 0; n += 3) {  // every third, or it takes seconds
    Pair pair;
    const Future<void> waiting = pair.a.with({.deadline = Deadline::while_peer_lives()}).rpc_async("b", &hold_for);
    Error why;
    why.code = ErrorCode::resource_exhausted;
    why.message = "a text that does not fit into the string itself";
    {
      const testing::RefusedAllocation refused(n);
      pair.a.core().fail(std::move(why));
      is_refused = refused.happened() ? 1 : 0;
    }
    pair.a.stop();
    const auto result = waiting.get_for(5s);
    BOOST_REQUIRE(result.has_value());
    BOOST_TEST(!result->ok());
  }
}

BOOST_FIXTURE_TEST_CASE(use_of_a_value_that_ends_without_memory_ends_the_node, Pair) {
  detail::NodeCore& core = a.core();
  const RRef<int> value = a.remote("a", &square, 3);
  // Of the test alone: a LocalValue's use may also be held, a moment longer, by the actor that granted it.
  std::optional<detail::ValueUse> use(std::in_place, core.shared_from_this(), value.id(),
                                      core.references().next_turn());
  {
    const testing::RefusedAllocation refused(1);
    use.reset();
    BOOST_TEST(refused.happened());
  }
  BOOST_REQUIRE(a.core().failure().has_value());
  BOOST_TEST((a.core().failure()->code == ErrorCode::resource_exhausted));
}

BOOST_FIXTURE_TEST_CASE(context_that_ends_without_memory_ends_the_node, Pair) {
  std::optional<DistContext> context(a);
  {
    const testing::RefusedAllocation refused(1);
    context.reset();
    BOOST_TEST(refused.happened());
  }
  BOOST_REQUIRE(a.core().failure().has_value());
  BOOST_TEST((a.core().failure()->code == ErrorCode::resource_exhausted));
}

BOOST_FIXTURE_TEST_CASE(program_that_serves_learns_that_its_node_has_failed, Pair) {
  throw_in_router(a);
  BOOST_CHECK_EXCEPTION(a.serve(), RemoteError,
                        [](const RemoteError& error) { return error.error().message == "boom"; });
  BOOST_CHECK_EXCEPTION(a.shutdown(), RemoteError,
                        [](const RemoteError& error) { return error.error().message == "boom"; });
}

BOOST_FIXTURE_TEST_CASE(program_that_already_serves_is_told_when_its_node_fails, Pair) {
  std::thread serving([this] { BOOST_CHECK_THROW(a.serve(), RemoteError); });  // b lives and is not ready to leave
  throw_in_router(a);
  serving.join();
}

BOOST_FIXTURE_TEST_CASE(peers_hear_of_a_node_that_fails_and_go_on, Pair) {
  throw_in_router(b);
  BOOST_TEST(soon([this] { return a.members().size() == 1; }));
  BOOST_TEST(a.rpc_sync("a", &square, 3) == 9);
  const auto gone = a.rpc_async("b", &square, 3).get_for(5s);
  BOOST_REQUIRE(gone.has_value());
  BOOST_TEST((gone->error().code == ErrorCode::shutting_down));
}

BOOST_FIXTURE_TEST_CASE(value_whose_owner_throws_is_lost_with_what_was_thrown_and_its_node_lives, Pair) {
  detail::References& references = a.core().references();
  const NodeLife here{a.name(), a.core().incarnation()};
  const auto lost = references.own(detail::ValueBox::of(7), "i32", SourceLocation::current());
  const auto other = references.own(detail::ValueBox::of(8), "i32", SourceLocation::current());
  references.value_of(lost->id(), here, [](const Result<detail::ValueBox>&) { throw std::runtime_error("boom"); });
  const auto told = [&](const RRefId& rref) {
    std::optional<Error> error;
    references.value_of(rref, here, [&](const Result<detail::ValueBox>& value) {
      error = value ? Error{.message = "it is here"} : value.error();
    });
    return error.value_or(Error{.message = "nothing"}).message;
  };
  BOOST_TEST(told(lost->id()) == "boom");
  BOOST_TEST(told(other->id()) == "it is here");
  BOOST_TEST(a.rpc_sync("b", &square, 2) == 4);
}

BOOST_FIXTURE_TEST_CASE(value_whose_owner_gets_no_memory_is_lost_to_who_wants_it_and_leaves_no_owner,
                        testing::AmongBarePeers) {
  using Codes = std::vector<ErrorCode>;
  const auto use = [this](const RRefId& rref, const std::shared_ptr<Codes>& told) {
    core().references().use(rref, detail::UseKind::reads,
                            [told](const Result<detail::ValueBox>& value, const std::shared_ptr<detail::ValueUse>&) {
                              told->push_back(value.error().code);
                            });
  };
  std::uint64_t serial = 0;
  for (bool is_refused = true; is_refused;) {
    const RRefId rref{"p1", 1, ++serial};
    const auto told = std::make_shared<Codes>();
    told->reserve(1);
    bool has_thrown = false;
    {
      const testing::RefusedAllocation refused(serial);  // the first allocation, then the second, ...
      try {
        use(rref, told);
      } catch (const std::bad_alloc&) {
        has_thrown = true;
      }
      is_refused = refused.happened();
    }
    BOOST_TEST(told->size() <= 1U);
    BOOST_TEST((has_thrown || !told->empty()) == is_refused);
    const auto later = std::make_shared<Codes>();
    use(rref, later);
    // Either the call awaits the value, or the living owner reports why there is none, or the owner has ended.
    BOOST_TEST((later->empty() || later->front() != ErrorCode::owner_died));
  }
}

BOOST_AUTO_TEST_CASE(what_fails_while_a_failure_is_told_ends_the_process) {
  const ::pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {  // reports by its exit status
    std::set_terminate([] { ::_exit(7); });
    auto failed = [](const Error&) { throw std::runtime_error("again"); };
    auto handler = [](const int&) { throw std::runtime_error("boom"); };
    const detail::Guarded<decltype(failed), decltype(handler)> guarded("the router", failed, handler);
    guarded(1);
    ::_exit(0);
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == 7);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
