#include "node/joining/rendezvous_content.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe {
namespace {

const std::string kHead = "troupe-rendezvous 1 mnist\n";
const std::string kLine = "0123456789abcdef0000000000000007 ps0 tcp://127.0.0.1:40123\n";

BOOST_AUTO_TEST_SUITE(rendezvous_content)

BOOST_AUTO_TEST_CASE(what_is_written_is_read) {
  const RendezvousContent content{"mnist", {{"ps0", {0x0123456789abcdef, 7}, "tcp://127.0.0.1:40123"}}};
  BOOST_TEST(content.text() == kHead + kLine);
  BOOST_TEST((RendezvousContent::parse(kHead + kLine) == content));
  BOOST_TEST((RendezvousContent::parse(kHead) == RendezvousContent{"mnist", {}}));
}

BOOST_AUTO_TEST_CASE(whatever_else_somebody_wrote_is_refused, *boost::unit_test::label("attack")) {
  const std::string life = "0123456789abcdef0000000000000007";
  const std::vector<std::string> wrong{
      "",
      "troupe-rendezvous 1 mnist",                                 // no end of the line
      "troupe-rendezvous 2 mnist\n",                               // a later form
      "troupe-rendezvous 1 mn\x1b[2Jist\n",                        // it would command a terminal
      kHead + kLine.substr(0, kLine.size() - 1),                   // cut off
      kHead + "\n",                                                // no node
      kHead + life.substr(1) + " ps0 tcp://127.0.0.1:1\n",         // 31 digits
      kHead + "+" + life.substr(1) + " ps0 tcp://127.0.0.1:1\n",   // sscanf takes it
      kHead + "0x" + life.substr(2) + " ps0 tcp://127.0.0.1:1\n",  // and this
      kHead + life + " p/s0 tcp://127.0.0.1:1\n",                  // no name of a node
      kHead + life + " ps0 \n",                                    // no address
      kHead + life + " ps0\n",
      kHead + life + " ps0 tcp://127.0.0.1\t:1\n",
      kHead + life + " ps0 tcp://127.0.0.1:1\x7f\n",
  };
  for (const std::string& text : wrong) BOOST_TEST(!RendezvousContent::parse(text).has_value(), text);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
