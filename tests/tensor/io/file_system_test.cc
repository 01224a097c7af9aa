#include "tensor/io/file_system.h"

#include <cerrno>
#include <span>

#include "tests/tensor/io/file_bytes.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(file_system)

namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

BOOST_AUTO_TEST_CASE(file_has_what_was_written_and_goes_by_its_new_name) {
  const FileOfBytes file("b");
  file.set("old");
  const auto files = disk();
  const auto directory = file.path().parent_path();
  const auto out = files->create(directory / "a");
  out->write(bytes_of("new "));
  out->write(bytes_of("bytes"));
  out->finish();
  BOOST_TEST((files->names_in(directory) == std::vector<std::string>{"a", "b"}));
  files->rename(directory / "a", directory / "b");
  files->sync_directory(directory);
  BOOST_TEST(file.get() == "new bytes");
  BOOST_TEST(files->read(directory / "b", 9) == "new bytes");
  files->remove(directory / "b");
  BOOST_TEST(files->names_in(directory).empty());
}

BOOST_AUTO_TEST_CASE(directory_is_made_once) {
  const FileOfBytes file("a");
  BOOST_TEST(disk()->make_directory(file.path()));
  BOOST_TEST(!disk()->make_directory(file.path()));
}

BOOST_AUTO_TEST_CASE(directory_is_locked_until_the_lock_ends) {
  const FileOfBytes file("a");
  const std::string directory = file.path().parent_path().string();
  auto lock = disk()->lock_directory(directory);
  BOOST_TEST(lock != nullptr);
  expect_error<FileError>("[file] " + directory + ": another writer has locked it",
                          [&] { static_cast<void>(disk()->lock_directory(directory)); });
  lock.reset();
  BOOST_TEST(disk()->lock_directory(directory) != nullptr);
  for (const int error : {EBADF, EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP}) BOOST_TEST(detail::says_never_locked(error));
  for (const int error : {0, EWOULDBLOCK, EINTR, EIO, ENOMEM}) BOOST_TEST(!detail::says_never_locked(error));
}

BOOST_AUTO_TEST_CASE(directory_that_cannot_be_synced_is_left_as_it_is) {
  BOOST_CHECK_NO_THROW(disk()->sync_directory("/proc"));  // it has no fsync
  // A directory that may be changed but not read, and file systems that sync no directory.
  for (const int error : {EACCES, EINVAL, EBADF}) BOOST_TEST(detail::says_never_synced(error));
  for (const int error : {EIO, ENOSPC, EDQUOT, ENOENT, ENOTDIR, EMFILE}) BOOST_TEST(!detail::says_never_synced(error));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_done_is_an_error_with_the_path) {
  const FileOfBytes file("a");
  file.set("x");
  const std::string path = file.path().string();
  const std::string none = (file.path().parent_path() / "none").string();
  expect_error<FileError>("[file] " + path + ": File exists", [&] { static_cast<void>(disk()->create(path)); });
  expect_error<FileError>("[file] " + none + "/a: No such file or directory",
                          [&] { static_cast<void>(disk()->create(none + "/a")); });
  expect_error<FileError>("[file] " + path + ": 1 bytes, at most 0", [&] { static_cast<void>(disk()->read(path, 0)); });
  expect_error<FileError>("[file] " + none + ": No such file or directory",
                          [&] { static_cast<void>(disk()->read(none, 1)); });
  expect_error<FileError>("[file] " + path + ": No such file or directory", [&] { disk()->rename(none, path); });
  expect_error<FileError>("[file] " + none + ": No such file or directory", [&] { disk()->remove(none); });
  expect_error<FileError>("[file] " + none + ": No such file or directory", [&] { disk()->sync_directory(none); });
  expect_error<FileError>("[file] " + none + ": No such file or directory",
                          [&] { static_cast<void>(disk()->lock_directory(none)); });
  expect_error<FileError>("[file] " + none + ": No such file or directory",
                          [&] { static_cast<void>(disk()->names_in(none)); });
  expect_error<FileError>("[file] " + none + "/a: No such file or directory",
                          [&] { static_cast<void>(disk()->make_directory(none + "/a")); });
}

BOOST_AUTO_TEST_SUITE_END()
