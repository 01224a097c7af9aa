#include "node/control/control_socket.h"

#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "tests/support/fresh_control_name.h"

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(control_socket)

using testing::fresh_control_name;

const std::string kHeading = "Num       RefCount Protocol Flags    Type St Inode Path\n";

BOOST_AUTO_TEST_CASE(name_and_text_stand_for_each_other) {
  const ControlName node{"4f2a", "trainer0"};
  const ControlName launcher{"127.0.0.1:29500", {}};
  const ControlName part{"4f2a", "@alpha"};
  BOOST_TEST(node.text() == "troupe-control/4f2a/trainer0");
  BOOST_TEST(launcher.text() == "troupe-control/127.0.0.1:29500");
  BOOST_TEST((parse_control_name(node.text()).value() == node));
  BOOST_TEST((parse_control_name(launcher.text()).value() == launcher));
  BOOST_TEST((parse_control_name(part.text()).value() == part));
  BOOST_TEST((launcher.is_launcher() && part.is_launcher() && !node.is_launcher()));
  for (const char* text : {"", "troupe-control", "troupe-control/", "troupe-control//ps", "troupe-control/4f2a/",
                           "troupe-control/4f2a/a/b", "troupe-control/4f2a/@", "troupe-control/4f2a/@@a",
                           "troupe-control/4f2a/a@", "troupe-control/4 2/ps", "troupe-4f2a-ps", "x/4f2a/ps"}) {
    BOOST_TEST(!parse_control_name(text).has_value(), text);
  }
}

BOOST_AUTO_TEST_CASE(only_listening_sockets_of_ours_are_found) {
  const std::string sockets =
      kHeading +
      "0000000000000000: 00000002 00000000 00010000 0001 01 4242 @troupe-control/4f2a/ps\n"
      "0000000000000000: 00000003 00000000 00000000 0001 03 4243 @troupe-control/4f2a/connected\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 4244 @troupe-control/4f2a\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 4245 /run/troupe-control/4f2a/file\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 4246 @troupe-4f2a-ps\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 4247\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 4248 @troupe-control/4f2a/ps\n"
      "nonsense\n";
  BOOST_TEST((control_names(sockets) == std::vector<ControlName>{{"4f2a", ""}, {"4f2a", "ps"}}));
  BOOST_TEST(control_names("").empty());
}

BOOST_AUTO_TEST_CASE(who_listens_is_found_and_gone_without_a_trace) {
  const ControlName name = fresh_control_name();
  const auto is_there = [&] {
    const auto names = control_names();
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  FileDescriptor listening = listen_at(name);
  BOOST_TEST(is_there());
  BOOST_TEST(connect_to(name).is_open());
  listening.close();
  BOOST_TEST(!is_there());
  BOOST_TEST(!connect_to(name).is_open());
}

BOOST_AUTO_TEST_CASE(name_in_use_and_names_that_cannot_be_are_refused) {
  const ControlName name = fresh_control_name();
  const FileDescriptor listening = listen_at(name);
  BOOST_CHECK_EXCEPTION(listen_at(name), std::system_error, [&](const std::system_error& error) {
    return error.code() == std::errc::address_in_use &&
           std::string(error.what()).find(name.text()) != std::string::npos;
  });
  BOOST_CHECK_THROW(listen_at({"", "ps"}), std::invalid_argument);
  BOOST_CHECK_THROW(listen_at({"4f2a", "a/b"}), std::invalid_argument);
  BOOST_CHECK_THROW(listen_at({std::string(64, 'a'), std::string(64, 'b')}), std::invalid_argument);  // 144 bytes
}

BOOST_AUTO_TEST_CASE(both_ends_know_the_other_process) {
  const ControlName name = fresh_control_name();
  const FileDescriptor listening = listen_at(name);
  const ControlPeer peer = peer_of(connect_to(name));
  BOOST_TEST(peer.pid == getpid());
  BOOST_TEST(peer.user == geteuid());
  BOOST_TEST(peer_of(FileDescriptor()).user == ControlPeer{}.user);
}

BOOST_AUTO_TEST_CASE(a_user_asks_his_own_processes_and_root_asks_all) {
  constexpr uid_t kUnknown = ControlPeer{}.user;
  BOOST_TEST(may_ask(1000, 1000));
  BOOST_TEST(may_ask(0, 1000));
  BOOST_TEST(!may_ask(1000, 0));
  BOOST_TEST(!may_ask(1000, 1001));
  BOOST_TEST(!may_ask(kUnknown, kUnknown));
  BOOST_TEST(!may_ask(0, kUnknown));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
