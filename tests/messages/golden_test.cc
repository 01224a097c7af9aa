// Protects the bytes on the wire from accidental change. One message of each family is written by hand in
// messages/WIRE.md, and compared here. The others are files in golden/, generated once and reviewed.
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <map>
#include <sstream>

#include "tests/messages/message_samples.h"

namespace troupe {

BOOST_AUTO_TEST_SUITE(golden)

namespace {

using namespace msg;

/// Returns the bytes of each "```wire Name" block of WIRE.md. Text after '#' is explanation; "--" begins the next
/// frame.
std::map<std::string, std::string> written_by_hand() {
  std::ifstream file(TROUPE_SOURCE_DIR "/messages/WIRE.md");
  std::map<std::string, std::string> blocks;
  std::string name;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```wire ")) {
      name = line.substr(8);
    } else if (line.starts_with("```")) {
      name.clear();
    } else if (!name.empty()) {
      blocks[name] += line.substr(0, line.find('#')) + "\n";
    }
  }
  return blocks;
}

Frames frames_of_block(const std::string& block) {
  Frames frames;
  std::string frame;
  std::istringstream lines(block);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("--")) {
      frame += line;
      continue;
    }
    frames.push_back(make_frame(testing::from_hex(frame)));
    frame.clear();
  }
  frames.push_back(make_frame(testing::from_hex(frame)));
  return frames;
}

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_message_has_the_bytes_that_were_written_down) {
  const auto by_hand = written_by_hand();
  BOOST_TEST(by_hand.size() == 5U);
  for (const AnyMessage& message : testing::every_message()) {
    const std::string name(info_of(message).name);
    BOOST_TEST_CONTEXT(name) {
      const std::string bytes = testing::to_hex(encode(testing::envelope_for(message), message).value());
      const auto block = by_hand.find(name);
      BOOST_TEST(bytes == (block != by_hand.end()
                               ? testing::to_hex(frames_of_block(block->second))
                               : file_text(TROUPE_SOURCE_DIR "/tests/messages/golden/" + name + ".hex")));
    }
  }
}

BOOST_AUTO_TEST_CASE(what_was_written_down_is_still_understood) {
  for (const auto& [name, block] : written_by_hand()) {
    const Result<Decoded> result = decode(frames_of_block(block));
    BOOST_TEST_REQUIRE(result.ok(), name);
    BOOST_TEST(info_of(result.value().message).name == name);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
