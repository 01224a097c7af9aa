#include "actors/sessions/ring_queue.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <new>
#include <random>
#include <utility>

#include "tests/support/counting_new.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(ring_queue)

namespace {

using Item = std::shared_ptr<int>;

bool holds_the_same(const RingQueue<Item>& queue, const std::deque<Item>& items) {
  if (queue.size() != items.size() || queue.empty() != items.empty()) return false;
  for (std::size_t place = 0; place < items.size(); ++place) {
    if (queue[place] != items[place]) return false;
  }
  return true;
}

}  // namespace

BOOST_AUTO_TEST_CASE(is_a_deque_for_all_that_it_can_do) {
  std::mt19937_64 random(17);
  const auto draw = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  for (const std::size_t items_max : {1U, 4U, 5U, 100U, 3000U}) {
    RingQueue<Item> queue;
    std::deque<Item> items;
    bool grows = true;
    for (int step = 0; step < 20'000; ++step) {
      if (items.size() >= items_max) grows = false;
      if (items.empty()) grows = true;
      const std::size_t what = draw(1000);
      if (what == 0) {
        queue.clear();
        items.clear();
      } else if (what < 3) {
        const auto is_over = [](const Item& item) { return *item % 3 == 0; };
        queue.remove_if(is_over);
        std::erase_if(items, is_over);
      } else if (what < 5) {
        RingQueue<Item> moved(std::move(queue));
        BOOST_REQUIRE(queue.empty());
        BOOST_REQUIRE(holds_the_same(moved, items));
        queue.push_back(std::make_shared<int>(step));  // what was moved from is as good as new
        for (; !moved.empty(); moved.pop_front()) {
          if (moved.size() == 1) queue.push_back(std::move(moved.front()));
        }
        items = {queue[0]};
        if (queue.size() == 2) items.push_back(queue[1]);
      } else if (grows == (draw(10) < 7) || items.empty()) {
        items.push_back(std::make_shared<int>(step));
        queue.push_back(Item(items.back()));
        BOOST_REQUIRE(queue.back() == items.back());
      } else {
        BOOST_REQUIRE(queue.front() == items.front());
        queue.pop_front();
        items.pop_front();
      }
      if (step % 16 == 0) BOOST_REQUIRE(holds_the_same(queue, items));
      if (!items.empty()) BOOST_REQUIRE(items.back().use_count() == 2);  // no item is kept twice
    }
  }
}

BOOST_AUTO_TEST_CASE(takes_no_memory_while_it_is_empty_and_keeps_at_most_eight_times_what_it_needs) {
  RingQueue<Item> queue;
  BOOST_TEST(queue.capacity() == 0U);
  std::weak_ptr<int> last;
  for (int i = 0; i < 100'000; ++i) {
    auto item = std::make_shared<int>(i);
    last = item;
    queue.push_back(std::move(item));
  }
  BOOST_TEST(queue.capacity() == 131'072U);
  while (queue.size() > 1000) queue.pop_front();
  BOOST_TEST(queue.capacity() <= 8'000U);
  BOOST_TEST(*queue.front() == 99'000);
  while (!queue.empty()) queue.pop_front();
  BOOST_TEST(queue.capacity() * sizeof(Item) <= 4096U);
  BOOST_TEST(last.expired());
  for (int i = 0; i < 10'000; ++i) queue.push_back(std::make_shared<int>(i));
  queue.remove_if([](const Item& item) { return *item != 5000; });
  BOOST_TEST(*queue.front() == 5000);
  BOOST_TEST(queue.capacity() < 10'000U);
  queue.clear();
  BOOST_TEST(queue.capacity() * sizeof(Item) <= 4096U);
}

BOOST_AUTO_TEST_CASE(is_as_before_without_memory_for_more) {
  RingQueue<Item> queue;
  for (int i = 0; i < 4; ++i) queue.push_back(std::make_shared<int>(i));
  Item fifth = std::make_shared<int>(4);
  {
    const testing::RefusedAllocation refused(1);
    BOOST_CHECK_THROW(queue.push_back(std::move(fifth)), std::bad_alloc);
  }
  BOOST_TEST(queue.size() == 4U);
  BOOST_TEST(*queue.front() == 0);
  BOOST_TEST_REQUIRE(fifth != nullptr);
  queue.push_back(std::move(fifth));
  BOOST_TEST(*queue.back() == 4);
}

BOOST_AUTO_TEST_CASE(keeps_its_memory_without_memory_for_fewer) {
  RingQueue<Item> queue;
  for (int i = 0; i < 1024; ++i) queue.push_back(std::make_shared<int>(i));
  {
    const testing::RefusedAllocation refused(1, 0, 1024);
    while (queue.size() > 1) queue.pop_front();
    BOOST_TEST(refused.happened());
  }
  BOOST_TEST(queue.capacity() == 1024U);
  BOOST_TEST(*queue.front() == 1023);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
