#include "actors/references/cached_value.h"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>

namespace troupe::detail {

BOOST_AUTO_TEST_SUITE(cached_value)

BOOST_AUTO_TEST_CASE(copy_is_kept_until_it_is_out_of_date) {
  CachedValue kept;
  BOOST_TEST(kept.get() == nullptr);
  const auto first = std::make_shared<int>(1);
  kept.keep(first, 5);
  BOOST_TEST(kept.get() == first);
  kept.changed(5);  // older versions are stale
  BOOST_TEST(kept.get() == first);
  kept.changed(6);
  BOOST_TEST(kept.get() == nullptr);
  const auto second = std::make_shared<int>(2);
  kept.keep(second, 6);
  BOOST_TEST(kept.get() == second);
  BOOST_TEST(first.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(word_of_a_change_may_overtake_the_copy) {
  CachedValue kept;
  kept.changed(6);
  kept.keep(std::make_shared<int>(1), 5);
  BOOST_TEST(kept.get() == nullptr);
}

BOOST_AUTO_TEST_CASE(later_copy_wins_whichever_comes_first) {
  CachedValue kept;
  const auto later = std::make_shared<int>(2);
  kept.keep(later, 6);
  kept.keep(std::make_shared<int>(1), 5);
  BOOST_TEST(kept.get() == later);
  kept.changed(4);
  BOOST_TEST(kept.get() == later);
}

BOOST_AUTO_TEST_CASE(copy_that_is_taken_out_says_where_its_destructor_may_run) {
  CachedValue kept;
  BOOST_TEST(kept.take().copy == nullptr);
  kept.keep(std::make_shared<int>(1), 5);
  BOOST_TEST((kept.take().end == ValueEnd::anywhere));
  BOOST_TEST(kept.get() == nullptr);
  kept.keep(std::make_shared<const std::string>("one"), 6);
  kept.changed(7);
  const CachedValue::Taken taken = kept.take();
  BOOST_TEST((taken.end == ValueEnd::together));
  BOOST_TEST(taken.copy.use_count() == 1);
  kept.keep(std::make_shared<const std::shared_ptr<int>>(), 7);
  BOOST_TEST((kept.take().end == ValueEnd::alone));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail
