#include "node/links/zap_request.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/recording_sink.h"

namespace troupe {
namespace {

using testing::frame_of;
using testing::text_of;

const std::string kKey(32, 'k');

Frames request_of(std::string_view mechanism, const std::vector<std::string>& credentials) {
  Frames frames{frame_of("route"),  frame_of(""),          frame_of("1.0"), frame_of("7"),
                frame_of("troupe"), frame_of("127.0.0.1"), frame_of(""),    frame_of(mechanism)};
  for (const std::string& each : credentials) frames.push_back(frame_of(each));
  return frames;
}

BOOST_AUTO_TEST_SUITE(zap_request)

BOOST_AUTO_TEST_CASE(key_of_a_curve_client_is_found) {
  const auto request = decode_zap(request_of("CURVE", {kKey}));
  BOOST_REQUIRE(request);
  BOOST_TEST(request->address == "127.0.0.1");
  BOOST_REQUIRE(request->key);
  BOOST_TEST((request->key->bytes.front() == std::byte{'k'} && request->key->bytes.back() == std::byte{'k'}));
}

BOOST_AUTO_TEST_CASE(client_without_a_proved_key_has_none, *boost::unit_test::label("S2")) {
  for (const Frames& message : {request_of("NULL", {}), request_of("PLAIN", {"user", "password"}),
                                request_of("PLAIN", {kKey}), request_of("CURVE", {}), request_of("CURVE", {kKey, kKey}),
                                request_of("CURVE", {std::string(31, 'k')}), request_of("curve", {kKey})}) {
    const auto request = decode_zap(message);
    BOOST_REQUIRE(request);
    BOOST_CHECK(!request->key);
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_request_is_not_answered) {
  Frames short_one = request_of("NULL", {});
  short_one.pop_back();
  BOOST_CHECK(!decode_zap(short_one));
  Frames other_version = request_of("CURVE", {kKey});
  other_version[2] = frame_of("2.0");
  BOOST_CHECK(!decode_zap(other_version));
  BOOST_CHECK(!decode_zap({}));
}

BOOST_AUTO_TEST_CASE(answer_names_the_user_or_refuses) {
  const auto request = decode_zap(request_of("CURVE", {kKey}));
  const auto texts = [](const Frames& frames) {
    std::vector<std::string> result;
    for (const Frame& frame : frames) result.push_back(std::string(text_of(frame)));
    return result;
  };
  const std::vector<std::string> granted{"route", "", "1.0", "7", "200", "OK", "worker1", ""};
  BOOST_TEST(texts(encode_zap_answer(*request, "worker1")) == granted, boost::test_tools::per_element());
  const std::vector<std::string> refused{"route", "", "1.0", "7", "400", "no member has this key", "", ""};
  BOOST_TEST(texts(encode_zap_answer(*request, std::nullopt)) == refused, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
