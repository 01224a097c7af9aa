#include "actors/references/death_notices.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "tests/actors/references/among_values.h"

namespace troupe::testing {
namespace {

/// A node with a value that p1 alone holds, and further ones of its own.
struct AmongManyValues : AmongValues {
  void own_values(std::size_t count) {
    const auto held = own();
    static_cast<void>(references().hand_out(held, p1->life()));
    while (values.size() + 1 < count) values.push_back(own());
  }

  std::vector<std::shared_ptr<detail::RRefHandle>> values;
};

BOOST_FIXTURE_TEST_SUITE(death_notices, AmongManyValues)

BOOST_AUTO_TEST_CASE(few_owners_are_told_at_once_that_a_peer_is_down) {
  own_values(detail::DeathNotices::kToldHere);
  pool->keeps = true;
  p1->die();
  BOOST_TEST(references().owned_values() == values.size());
  BOOST_TEST(pool->kept.empty());
}

BOOST_AUTO_TEST_CASE(many_owners_are_told_by_a_job_that_a_peer_is_down) {
  own_values(detail::DeathNotices::kToldHere + 1);
  pool->keeps = true;
  p1->die();
  BOOST_TEST(references().owned_values() == values.size() + 1);  // no owner has been told yet
  const std::vector<Job> jobs = std::exchange(pool->kept, {});
  BOOST_TEST_REQUIRE(jobs.size() == 1U);
  BOOST_TEST(jobs[0].label == "tell owners");
  BOOST_TEST((jobs[0].priority == msg::Priority::high));
  BOOST_TEST((jobs[0].urgency == Urgency::in_turn));  // so it is refused when all threads wait
  jobs[0].run();
  BOOST_TEST(references().owned_values() == values.size());
}

BOOST_AUTO_TEST_CASE(one_job_tells_many_owners_of_all_peers_that_are_down) {
  own_values(detail::DeathNotices::kToldHere + 1);
  const auto of_p2 = own();
  static_cast<void>(references().hand_out(of_p2, p2->life()));
  const std::size_t before = references().owned_values();
  pool->keeps = true;
  p1->die();
  p2->die();
  const std::vector<Job> jobs = std::exchange(pool->kept, {});
  BOOST_TEST_REQUIRE(jobs.size() == 1U);
  jobs[0].run();
  BOOST_TEST(references().owned_values() == before - 1);  // that which p1 alone held; this node holds the other
}

BOOST_AUTO_TEST_CASE(many_owners_are_told_here_if_the_pool_takes_no_job) {
  own_values(detail::DeathNotices::kToldHere + 1);
  pool->refuses = Error{.code = ErrorCode::shutting_down};
  p1->die();
  BOOST_TEST(references().owned_values() == values.size());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
