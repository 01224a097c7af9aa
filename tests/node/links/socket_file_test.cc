#include "node/links/socket_file.h"

#include <boost/test/unit_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "node/links/zmq_link.h"
#include "tests/support/temporary_directory.h"

namespace troupe::detail {
namespace {

namespace fs = std::filesystem;
using troupe::testing::TemporaryDirectory;

struct Place {
  TemporaryDirectory directory;
  std::string path = (directory.path() / "socket").string();
};

BOOST_FIXTURE_TEST_SUITE(socket_file, Place)

BOOST_AUTO_TEST_CASE(the_file_is_removed_once) {
  std::ofstream(path) << "";
  SocketFile file("ipc://" + path);
  BOOST_TEST(fs::exists(path));
  file.remove();
  BOOST_TEST(!fs::exists(path));
  std::ofstream(path) << "";
  file.remove();
  BOOST_TEST(fs::exists(path));
}

BOOST_AUTO_TEST_CASE(a_file_that_has_taken_its_place_stays) {
  std::ofstream(path) << "";
  SocketFile file("ipc://" + path);
  std::ofstream(path + ".new") << "";
  fs::rename(path + ".new", path);
  file.remove();
  BOOST_TEST(fs::exists(path));
}

BOOST_AUTO_TEST_CASE(forked_child_leaves_the_file_to_its_parent, *boost::unit_test::label("fault-F30")) {
  std::ofstream(path) << "";
  SocketFile file("ipc://" + path);
  const pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    file.remove();
    ::_exit(0);
  }
  BOOST_REQUIRE(::waitpid(child, nullptr, 0) == child);
  BOOST_TEST(fs::exists(path));
  file.remove();
  BOOST_TEST(!fs::exists(path));
}

BOOST_AUTO_TEST_CASE(addresses_without_a_file_are_nothing) {
  std::ofstream(path) << "";
  for (const std::string& address : {"tcp://" + path, "ipc://@" + path, "ipc://" + path + ".none", std::string()}) {
    SocketFile(address).remove();
  }
  BOOST_TEST(fs::exists(path));
}

BOOST_AUTO_TEST_CASE(a_link_that_has_ended_leaves_no_file) {
  ZmqLinkOptions options;
  options.name = "a";
  options.bind = "ipc://" + path;
  std::unique_ptr<ZmqLink> link = ZmqLink::open(std::move(options)).value();
  BOOST_TEST(fs::exists(path));
  link->stop();
  BOOST_TEST(!fs::exists(path));
  link.reset();
  BOOST_TEST(fs::is_empty(directory.path()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
