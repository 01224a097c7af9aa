// Frames between launcher and agent, cut anywhere, and bytes that are none.
#include "node/hosts/agent_frames.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace troupe::detail;

BOOST_AUTO_TEST_SUITE(agent_frames)

namespace {

/// Returns a frame's header for a body of `size` bytes.
std::string header(std::uint32_t size) {
  std::string bytes;
  put_u32(bytes, size);
  return bytes + '\x01';
}

}  // namespace

BOOST_AUTO_TEST_CASE(frames_arrive_however_their_bytes_are_cut) {
  const std::vector<std::string> bodies{"", "a", std::string(1000, 'x'), std::string("zero\0byte", 9)};
  std::string bytes;
  for (const std::string& body : bodies) bytes += encode_frame(AgentFrameKind::output, body);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, bytes.size()}) {
    AgentFrameReader reader;
    std::vector<std::string> found;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.feed(std::string_view(bytes).substr(at, piece));
      while (const auto frame = reader.next()) {
        BOOST_CHECK(frame->kind == AgentFrameKind::output);
        found.push_back(frame->body);
      }
    }
    BOOST_TEST(found == bodies);
  }
}

BOOST_AUTO_TEST_CASE(a_body_beyond_the_bound_is_refused_by_its_size_alone) {
  AgentFrameReader reader;
  reader.feed(header(AgentFrameReader::kBodyMax));
  BOOST_CHECK(!reader.next());
  AgentFrameReader other;
  other.feed(header(AgentFrameReader::kBodyMax + 1));
  BOOST_CHECK_THROW((void)other.next(), AgentProtocolError);
}

BOOST_AUTO_TEST_CASE(what_a_shell_prints_before_the_greeting_is_no_frame) {
  const std::string bytes = "Welcome to b!\n" + std::string(kAgentGreeting) + encode_frame(AgentFrameKind::pong, "");
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    AgentGreetingReader greeting;
    auto rest = greeting.feed(std::string_view(bytes).substr(0, cut));
    if (!rest) {
      rest = greeting.feed(std::string_view(bytes).substr(cut));
    } else {
      *rest += bytes.substr(cut);
    }
    BOOST_TEST_REQUIRE(rest.has_value());
    BOOST_TEST(greeting.noise() == "Welcome to b!\n");
    BOOST_TEST(*rest == encode_frame(AgentFrameKind::pong, ""));
  }
}

BOOST_AUTO_TEST_CASE(other_output_without_an_end_is_not_kept) {
  AgentGreetingReader greeting;
  BOOST_CHECK(!greeting.feed(std::string(AgentGreetingReader::kNoiseMax, 'x')));
  BOOST_CHECK_THROW((void)greeting.feed("x"), AgentProtocolError);
}

BOOST_AUTO_TEST_CASE(numbers_are_read_within_the_body) {
  std::string body;
  put_u32(body, 0xfedcba98U);
  std::string_view rest = body;
  BOOST_TEST(take_u32(rest) == 0xfedcba98U);
  BOOST_TEST(rest.empty());
  BOOST_CHECK_THROW((void)take_u8(rest), AgentProtocolError);
  rest = std::string_view(body).substr(1);
  BOOST_CHECK_THROW((void)take_u32(rest), AgentProtocolError);
}

BOOST_AUTO_TEST_SUITE_END()
