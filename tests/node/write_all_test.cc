#include "node/write_all.h"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <thread>
#include <vector>

#include "node/file_descriptor.h"

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(write_all_of_node)

struct Pipe {
  explicit Pipe(int flags = 0) {
    std::array<int, 2> ends{};
    BOOST_REQUIRE(::pipe2(ends.data(), O_CLOEXEC | flags) == 0);
    out = FileDescriptor(ends[0]);
    in = FileDescriptor(ends[1]);
  }
  FileDescriptor out, in;
};

/// Returns what comes out of a descriptor until its end, or until it would have to wait.
std::vector<std::byte> read_all(const FileDescriptor& from) {
  std::vector<std::byte> all;
  std::array<std::byte, 4096> some{};
  for (ssize_t got = 0; (got = ::read(from.get(), some.data(), some.size())) > 0;)
    all.insert(all.end(), some.begin(), some.begin() + got);
  return all;
}

std::vector<std::byte> numbered(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i % 251);
  return bytes;
}

BOOST_AUTO_TEST_CASE(more_than_a_pipe_holds_arrives_as_it_is) {
  Pipe pipe;
  const std::vector<std::byte> bytes = numbered(1'000'000);
  std::vector<std::byte> got;
  std::thread reader([&] { got = read_all(pipe.out); });
  const bool written = write_all(pipe.in.get(), bytes);
  pipe.in.close();
  reader.join();
  BOOST_TEST(written);
  BOOST_TEST((got == bytes));
}

BOOST_AUTO_TEST_CASE(what_a_part_lacks_is_told_and_errno_says_why) {
  Pipe pipe(O_NONBLOCK);
  const std::vector<std::byte> bytes = numbered(1'000'000);
  errno = 0;
  BOOST_TEST(!write_all(pipe.in.get(), bytes));  // the first write takes what the pipe holds, the second none
  BOOST_TEST(errno == EAGAIN);
  const std::vector<std::byte> got = read_all(pipe.out);
  BOOST_TEST_REQUIRE((!got.empty() && got.size() < bytes.size()));
  BOOST_TEST(std::equal(got.begin(), got.end(), bytes.begin()));
  BOOST_TEST(!write_all(-1, bytes));
  BOOST_TEST(errno == EBADF);
  BOOST_TEST(write_all(-1, {}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
