// Whom unix sockets admit where the kernel shows many users as one.
#include "node/unmapped_user.h"

#include <boost/test/unit_test.hpp>

#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "node/control/control_socket.h"
#include "node/file_descriptor.h"
#include "node/keys/key_ring.h"
#include "node/links/transports.h"
#include "node/links/zmq_link.h"

namespace troupe::detail {
namespace {

using boost::test_tools::assertion_result;
using boost::unit_test::label;
using boost::unit_test::precondition;

constexpr const char* kAll = "         0          0 4294967295\n";
constexpr uid_t kNobody = 65'534;

/// Runs `check` in a process whose namespace maps no user. Returns its status; 2: there are no such namespaces here.
int status_without_users(const std::function<bool()>& check) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWUSER) != 0) ::_exit(2);
    bool right = false;
    try {
      right = check();
    } catch (...) {  // must not unwind into the parent's test
    }
    ::_exit(right ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

assertion_result has_namespaces(boost::unit_test::test_unit_id /*unit*/) {
  assertion_result result(status_without_users([] { return true; }) == 0);
  if (!result) result.message() << "skipped: no user namespaces for this user";
  return result;
}

BOOST_AUTO_TEST_SUITE(unmapped_users, *label("attack"))

BOOST_AUTO_TEST_CASE(overflow_uid_is_one_user_only_where_all_users_are_mapped) {
  BOOST_TEST(!may_be_several(kNobody, "65534\n", kAll));
  BOOST_TEST(!may_be_several(kNobody, "65534\n", "0 0 65534\n65534 65534 4294901761\n"));  // 65534 + 4294901761 = all
  BOOST_TEST(may_be_several(kNobody, "65534\n", "0 1000 1\n"));
  BOOST_TEST(may_be_several(kNobody, "65534\n", "0 1000 1\n1 100000 65536\n"));  // of a container: 65534 is mapped, too
  BOOST_TEST(may_be_several(kNobody, "65534\n", ""));                            // maps nobody
  BOOST_TEST(may_be_several(kNobody, "", ""));
}

BOOST_AUTO_TEST_CASE(other_users_are_themselves) {
  for (const char* map : {kAll, "0 1000 1\n", ""}) {
    BOOST_TEST(!may_be_several(0, "65534\n", map));
    BOOST_TEST(!may_be_several(1000, "65534\n", map));
    BOOST_TEST(!may_be_several(kNobody, "99\n", map));
    BOOST_TEST(may_be_several(99, "99\n", map) == (map != kAll));
  }
}

BOOST_AUTO_TEST_CASE(process_of_an_unmapped_user_listens_at_no_unix_socket_and_says_why,
                     *precondition(has_namespaces)) {
  BOOST_TEST(status_without_users([] {
               ZmqLinkOptions options;
               options.name = "a";
               options.bind = "ipc://@troupe-unmapped-" + std::to_string(::getpid());
               const auto link = ZmqLink::open(std::move(options));
               return !link && link.error().code == ErrorCode::not_authorized &&
                      link.error().message.find("user 65534") != std::string::npos;
             }) == 0);
}

BOOST_AUTO_TEST_CASE(process_of_an_unmapped_user_shares_no_memory_with_peers_over_tcp, *precondition(has_namespaces)) {
  const KeyRing ring = make_run_keys(std::vector<NodeName>{"a", "b"}).front();
  BOOST_TEST(status_without_users([&] {
               LinkRequest request;
               request.name = "a";
               request.network = Network::keys;
               request.keys = ring;
               request.listen = "tcp://127.0.0.1:*";
               return bool(Transports{}.open(std::move(request)));
             }) == 0);
}

BOOST_AUTO_TEST_CASE(process_of_an_unmapped_user_answers_no_question, *precondition(has_namespaces)) {
  BOOST_TEST(status_without_users([] {
               int both[2] = {-1, -1};
               if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0) return false;
               const FileDescriptor here(both[0]);
               const FileDescriptor there(both[1]);
               return peer_of(here).user == ControlPeer{}.user && !may_ask(peer_of(here).user, ::geteuid());
             }) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
