#include "actors/references/death_notices.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
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

BOOST_AUTO_TEST_CASE(many_owners_are_not_listed_before_the_job_and_each_is_told_once_of_several_peers) {
  const std::size_t many = detail::DeathNotices::kToldHere + 1;
  std::size_t listed = 0;
  std::vector<std::size_t> told;
  std::vector<std::function<void()>> jobs;
  detail::DeathNotices notices(
      {[&] { return many; },
       [&] {
         ++listed;
         return std::vector<RRefId>(many);
       }},
      [&](const RRefId&, const auto& lives) { told.push_back(lives->size()); },
      [&](auto job, const auto&) { jobs.push_back(std::move(job)); }, [](const Error&) {});
  for (const char* name : {"p1", "p2", "p3"}) notices.add({name, {1, 1}});
  BOOST_TEST(listed == 0U);
  BOOST_TEST_REQUIRE(jobs.size() == 1U);
  jobs[0]();
  BOOST_TEST(listed == 1U);
  BOOST_TEST(told.size() == many);
  BOOST_TEST(std::ranges::all_of(told, [](std::size_t lives) { return lives == 3; }));
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
