#include "actors/modules/placement.h"

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace troupe {
BOOST_AUTO_TEST_SUITE(placement)

BOOST_AUTO_TEST_CASE(text_has_a_name_or_a_rank_and_may_have_a_device) {
  const Placement plain = Placement::parse("ps0");
  BOOST_TEST(plain.node == "ps0");
  BOOST_TEST(!plain.rank);
  BOOST_TEST((plain.device == Device::cpu()));
  const Placement on_gpu = Placement::parse("ps:0.a/cuda:3");
  BOOST_TEST(on_gpu.node == "ps:0.a");
  BOOST_TEST((on_gpu.device == Device::cuda(3)));
  const Placement ranked = Placement::parse("rank:12/cuda");
  BOOST_TEST(ranked.node.empty());
  BOOST_TEST(ranked.rank.value() == 12);
  BOOST_TEST((ranked.device == Device::cuda(0)));
}

BOOST_AUTO_TEST_CASE(what_is_no_place_is_refused_with_its_text) {
  for (const std::string_view text : {"", "/", "/cpu", "ps0/", "ps0/gpu", "ps0/cuda:", "ps0/cuda:-1", "ps0/cuda:0/",
                                      "a/b/c", "rank:", "rank:x", "rank:-1", "rank:1x", "rank:99999999999999999999"}) {
    BOOST_CHECK_EXCEPTION(static_cast<void>(Placement::parse(text)), std::invalid_argument, [&](const auto& error) {
      const std::string_view what = error.what();
      return what.starts_with("[placement] \"" + std::string(text) + "\" ") &&
             what.ends_with(": expected NODE, NODE/DEVICE or rank:N/DEVICE");
    });
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
