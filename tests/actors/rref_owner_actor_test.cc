#include <boost/test/unit_test.hpp>

#include <memory>
#include <optional>
#include <utility>

#include "actors/references.h"
#include "actors/rref_handle.h"
#include "node/local_cluster.h"

namespace troupe {
namespace {

struct Owner {
  Owner() : cluster({"ps0"}, FunctionRegistry{}) {}

  [[nodiscard]] detail::References& references() { return cluster.node("ps0").core().references(); }

  LocalCluster cluster;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(rref_owner_actor)

// The use is put into the owner's mailbox by the owner's own last turn: behind the words that end the value's life.
BOOST_FIXTURE_TEST_CASE(a_use_that_comes_behind_the_last_release_is_told_that_the_value_is_gone, Owner) {
  auto handle = references().own(detail::ValueBox::of(7), "i32", SourceLocation::current());
  const RRefId rref = handle->id();
  std::optional<ErrorCode> told;
  references().use(rref, detail::UseKind::reads, [&](const Result<detail::ValueBox>& value, std::shared_ptr<detail::ValueUse> use) {
    BOOST_REQUIRE(value.ok());
    handle.reset();
    use.reset();
    references().use(rref, detail::UseKind::reads, [&](const Result<detail::ValueBox>& late, const std::shared_ptr<detail::ValueUse>& no_use) {
      BOOST_TEST(!no_use);
      if (!late.ok()) told = late.error().code;
    });
  });
  BOOST_REQUIRE(told.has_value());
  BOOST_TEST((*told == ErrorCode::ref_revoked));
  BOOST_TEST(references().owned_values() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_use_that_comes_behind_the_stop_is_told_why, Owner) {
  const auto handle = references().own(detail::ValueBox::of(7), "i32", SourceLocation::current());
  Error why;
  why.code = ErrorCode::shutting_down;
  std::optional<ErrorCode> told;
  references().use(handle->id(), detail::UseKind::reads, [&](const Result<detail::ValueBox>& value, const std::shared_ptr<detail::ValueUse>&) {
    BOOST_REQUIRE(value.ok());
    references().stop(why);
    references().use(handle->id(), detail::UseKind::reads, [&](const Result<detail::ValueBox>& late, const std::shared_ptr<detail::ValueUse>&) {
      if (!late.ok()) told = late.error().code;
    });
  });
  BOOST_REQUIRE(told.has_value());
  BOOST_TEST((*told == ErrorCode::shutting_down));
}

/// What a use was told: that it begins, or why it never will.
struct Told {
  std::optional<ErrorCode> error;
  std::shared_ptr<detail::ValueUse> use;

  [[nodiscard]] bool waits() const { return !error && !use; }
};

detail::UseHandler telling(const std::shared_ptr<Told>& told) {
  return [told](const Result<detail::ValueBox>& value, std::shared_ptr<detail::ValueUse> use) {
    if (!value) told->error = value.error().code;
    told->use = std::move(use);
  };
}

NodeLife life_of_user(std::uint64_t number) { return {"user", {number, 0}}; }

BOOST_FIXTURE_TEST_CASE(uses_that_wait_for_the_value_end_with_the_life_that_asked_for_them, Owner) {
  const auto rref = cluster.node("ps0").core().next_id<RRefId>();
  ForkId fork;
  const auto handle = references().created(rref, fork, "ps0", "i32", SourceLocation::current());
  const auto of_first = std::make_shared<Told>();
  const auto of_second = std::make_shared<Told>();
  const auto of_nobody = std::make_shared<Told>();
  references().use(rref, {detail::UseKind::reads, "first", life_of_user(1)}, telling(of_first));
  references().use(rref, {detail::UseKind::reads, "second", life_of_user(2)}, telling(of_second));
  references().use(rref, detail::UseKind::reads, telling(of_nobody));
  references().peer_down({"user", {1, 0}, {}}, Error{});
  BOOST_TEST((of_first->error == ErrorCode::cancelled));
  BOOST_TEST(of_second->waits());
  BOOST_TEST(of_nobody->waits());
  const auto late = std::make_shared<Told>();
  references().use(rref, {detail::UseKind::reads, "late", life_of_user(1)}, telling(late));
  BOOST_TEST((late->error == ErrorCode::cancelled));
  Error never;
  never.code = ErrorCode::remote_exception;
  references().creation_ended(*handle, fork, never);
  BOOST_TEST((of_second->error == ErrorCode::remote_exception));
  BOOST_TEST((of_nobody->error == ErrorCode::remote_exception));
}

BOOST_FIXTURE_TEST_CASE(value_that_only_a_dead_node_waited_for_is_released, Owner) {
  const auto rref = cluster.node("ps0").core().next_id<RRefId>();
  ForkId fork;
  auto handle = references().created(rref, fork, "ps0", "i32", SourceLocation::current());
  const auto told = std::make_shared<Told>();
  references().use(rref, {detail::UseKind::looks, "look", life_of_user(1)}, telling(told));
  handle.reset();
  BOOST_TEST(references().owned_values() == 1U);
  references().peer_down({"user", {1, 0}, {}}, Error{});
  BOOST_TEST(references().owned_values() == 0U);
}

BOOST_FIXTURE_TEST_CASE(use_that_waits_for_its_turn_ends_with_who_asked_and_the_turn_goes_to_the_next, Owner) {
  const auto handle = references().own(detail::ValueBox::of(7), "i32", SourceLocation::current());
  const auto running = std::make_shared<Told>();
  const auto of_first = std::make_shared<Told>();
  const auto of_second = std::make_shared<Told>();
  references().use(handle->id(), {detail::UseKind::reads, "running", life_of_user(1)}, telling(running));
  references().use(handle->id(), {detail::UseKind::reads, "first", life_of_user(1)}, telling(of_first));
  references().use(handle->id(), {detail::UseKind::reads, "second", life_of_user(2)}, telling(of_second));
  references().peer_down({"user", {1, 0}, {}}, Error{});
  BOOST_TEST((running->use != nullptr));  // it has begun: its stop_token tells it
  BOOST_TEST((of_first->error == ErrorCode::cancelled));
  BOOST_TEST(of_second->waits());
  running->use.reset();
  BOOST_TEST((of_second->use != nullptr));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
