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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
