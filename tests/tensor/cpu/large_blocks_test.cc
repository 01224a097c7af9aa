#include "tensor/cpu/large_blocks.h"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <map>
#include <new>
#include <optional>
#include <random>

#include "tests/support/counting_new.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(large_blocks)

constexpr std::size_t kMiB = std::size_t{1} << 20U;

// An address only; it is never read or written.
std::byte* at(std::size_t address) { return reinterpret_cast<std::byte*>(address); }

BOOST_AUTO_TEST_CASE(a_segment_is_split_and_joined_again) {
  LargeBlocks blocks;
  blocks.add({at(64 * kMiB), 64 * kMiB});
  const auto first = blocks.take(2 * kMiB);
  const auto second = blocks.take(3 * kMiB + 1);
  BOOST_REQUIRE((first && second));
  BOOST_TEST((first->begin == at(64 * kMiB)));
  BOOST_TEST((second->begin == at(66 * kMiB)));
  BOOST_TEST(second->size == 3 * kMiB + LargeBlocks::kUnit);
  BOOST_TEST(!blocks.remove_free());
  BOOST_TEST(blocks.give(first->begin) == 2 * kMiB);
  BOOST_TEST(blocks.give(second->begin) == 3 * kMiB + LargeBlocks::kUnit);
  const auto whole = blocks.take(64 * kMiB);
  BOOST_REQUIRE(whole.has_value());
  BOOST_TEST((whole->begin == at(64 * kMiB)));
}

BOOST_AUTO_TEST_CASE(the_smallest_part_that_is_large_enough_is_taken) {
  LargeBlocks blocks;
  blocks.add({at(64 * kMiB), 64 * kMiB});
  const auto a = blocks.take(8 * kMiB);
  const auto b = blocks.take(1 * kMiB);
  const auto c = blocks.take(4 * kMiB);
  const auto d = blocks.take(1 * kMiB);
  BOOST_REQUIRE((a && b && c && d));
  blocks.give(a->begin);
  blocks.give(c->begin);
  const auto found = blocks.take(3 * kMiB);
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST((found->begin == c->begin));
}

BOOST_AUTO_TEST_CASE(neighbours_of_two_segments_are_not_joined) {
  LargeBlocks blocks;
  blocks.add({at(64 * kMiB), 64 * kMiB});
  blocks.add({at(128 * kMiB), 64 * kMiB});
  BOOST_TEST(!blocks.take(65 * kMiB));
  const auto one = blocks.take(64 * kMiB);
  const auto two = blocks.take(64 * kMiB);
  BOOST_REQUIRE((one && two));
  blocks.give(one->begin);
  blocks.give(two->begin);
  BOOST_TEST(!blocks.take(65 * kMiB));
}

BOOST_AUTO_TEST_CASE(a_segment_for_one_block_is_not_split_for_small_ones) {
  LargeBlocks blocks;
  blocks.add({at(64 * kMiB), 400 * kMiB});
  BOOST_TEST(!blocks.take(4 * kMiB));
  const auto half = blocks.take(200 * kMiB);
  BOOST_REQUIRE(half.has_value());
  BOOST_TEST(half->size == 400 * kMiB);
}

BOOST_AUTO_TEST_CASE(segments_without_blocks_are_given_back_the_largest_first) {
  LargeBlocks blocks;
  blocks.add({at(64 * kMiB), 64 * kMiB});
  blocks.add({at(256 * kMiB), 100 * kMiB});
  BOOST_TEST(blocks.remove_free()->size == 100 * kMiB);
  BOOST_TEST(blocks.remove_free()->size == 64 * kMiB);
  BOOST_TEST(!blocks.remove_free());
  BOOST_TEST(!blocks.take(kMiB));
}

BOOST_AUTO_TEST_CASE(segments_that_nobody_used_since_the_last_time_are_given_back) {
  LargeBlocks blocks;
  blocks.add({at(64 * kMiB), 64 * kMiB});
  blocks.add({at(256 * kMiB), 100 * kMiB});
  BOOST_TEST(blocks.remove_unused().empty());  // they are new
  const auto passing = blocks.take(2 * kMiB);
  BOOST_REQUIRE(passing.has_value());
  blocks.give(passing->begin);
  const auto unused = blocks.remove_unused();
  BOOST_REQUIRE(unused.size() == 1U);
  BOOST_TEST((unused[0].begin == at(256 * kMiB)));
  BOOST_TEST(unused[0].size == 100 * kMiB);

  const auto lasting = blocks.take(2 * kMiB);
  BOOST_REQUIRE(lasting.has_value());
  BOOST_TEST(blocks.remove_unused().empty());
  BOOST_TEST(blocks.remove_unused().empty());
  blocks.give(lasting->begin);
  BOOST_TEST(blocks.remove_unused().empty());  // it was in use when this period began
  BOOST_TEST(blocks.remove_unused().size() == 1U);
  BOOST_TEST(!blocks.take(kMiB));
}

// Blocks in use never overlap and lie in their segments. At the end all memory is free again.
BOOST_AUTO_TEST_CASE(random_requests_never_get_what_is_in_use) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    BOOST_TEST_INFO_SCOPE("seed " << seed);
    std::mt19937_64 random(seed);
    LargeBlocks blocks;
    std::map<std::byte*, std::size_t> used;
    std::size_t next_segment = 64 * kMiB;
    for (int i = 0; i < 2000; ++i) {
      if (random() % 2 == 0 && !used.empty()) {
        auto victim = used.begin();
        std::advance(victim, static_cast<std::ptrdiff_t>(random() % used.size()));
        BOOST_TEST(blocks.give(victim->first) == victim->second);
        used.erase(victim);
        continue;
      }
      const std::size_t size = kMiB + random() % (40 * kMiB);
      auto block = blocks.take(size);
      if (!block) {
        const std::size_t segment = LargeBlocks::segment_size(size);
        blocks.add({at(next_segment), segment});
        next_segment += segment;
        block = blocks.take(size);
      }
      BOOST_REQUIRE(block.has_value());
      BOOST_TEST(block->size >= size);
      const auto after = used.lower_bound(block->begin);
      if (after != used.end()) BOOST_TEST((block->begin + block->size <= after->first));
      if (after != used.begin()) {
        const auto before = std::prev(after);
        BOOST_TEST((before->first + before->second <= block->begin));
      }
      BOOST_TEST((block->begin + block->size <= at(next_segment)));
      used.emplace(block->begin, block->size);
    }
    for (const auto& [begin, size] : used) blocks.give(begin);
    std::size_t returned = 0;
    while (const auto segment = blocks.remove_free()) returned += segment->size;
    BOOST_TEST(returned == next_segment - 64 * kMiB);
  }
}

BOOST_AUTO_TEST_CASE(refused_memory_for_an_entry_changes_nothing) {
  LargeBlocks blocks;
  for (std::size_t n = 1;; ++n) {
    const testing::RefusedAllocation refused(n);
    try {
      blocks.add({at(64 * kMiB), 64 * kMiB});
      break;
    } catch (const std::bad_alloc&) {
      BOOST_TEST(!blocks.remove_free());
    }
  }
  std::optional<LargeBlocks::Segment> taken;
  for (std::size_t n = 1; !taken; ++n) {
    const testing::RefusedAllocation refused(n);
    try {
      taken = blocks.take(2 * kMiB);
    } catch (const std::bad_alloc&) {
      BOOST_TEST(n < 10U);
    }
  }
  {
    const testing::RefusedAllocation refused(1);
    BOOST_TEST(blocks.give(taken->begin) == 2 * kMiB);
    BOOST_TEST(!refused.happened());
  }
  const auto whole = blocks.take(64 * kMiB);
  BOOST_REQUIRE(whole.has_value());
  BOOST_TEST((whole->begin == at(64 * kMiB)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
