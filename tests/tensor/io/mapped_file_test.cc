#include "tensor/io/mapped_file.h"

#include <sys/stat.h>

#include "tests/tensor/io/file_bytes.h"

using namespace troupe;
using namespace troupe::testing;
using detail::map_file;
using detail::map_file_if_exists;
using detail::storage_of;

BOOST_AUTO_TEST_SUITE(mapped_file)

namespace {

std::string text_of(const FrozenBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.bytes().data()), bytes.bytes().size()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_part_keeps_the_mapping_and_a_replaced_file_changes_nothing) {
  const FileOfBytes file("a");
  file.set("0123456789");
  FrozenBytes part;
  {
    const FrozenBytes all = map_file("test", file.path());
    BOOST_TEST(text_of(all) == "0123456789");
    part = all.part(2, 3);
  }
  std::filesystem::remove(file.path());
  file.set("abcdefghij");
  BOOST_TEST(text_of(part) == "234");
}

BOOST_AUTO_TEST_CASE(an_empty_file_is_no_bytes) {
  const FileOfBytes file("a");
  BOOST_TEST(map_file("test", file.set("")).bytes().empty());
}

BOOST_AUTO_TEST_CASE(elements_are_shared_where_they_are_aligned) {
  const FileOfBytes file("a");
  const FrozenBytes all = map_file("test", file.set("0123456789"));
  const Storage aligned = storage_of(all.part(4, 4), DType::f32);
  BOOST_CHECK(aligned.data() == all.bytes().data() + 4);
  const Storage copied = storage_of(all.part(5, 4), DType::f32);
  BOOST_TEST(!copied.frozen());
  BOOST_TEST(text_of(copied.freeze()) == "5678");
  BOOST_TEST(storage_of(all.part(10, 0), DType::f32).size() == 0U);
}

BOOST_AUTO_TEST_CASE(what_is_no_file_is_refused) {
  const FileOfBytes file("a");
  expect_refused(file, "test", ": No such file or directory", [&] { (void)map_file("test", file.path()); });
  std::filesystem::create_directory(file.path());
  expect_refused(file, "test", ": Is a directory", [&] { (void)map_file("test", file.path()); });
}

BOOST_AUTO_TEST_CASE(only_a_file_that_does_not_exist_is_none) {
  const FileOfBytes file("a");
  BOOST_TEST(!map_file_if_exists("test", file.path()));
  BOOST_TEST(text_of(map_file_if_exists("test", file.set("01")).value()) == "01");
  BOOST_TEST(map_file_if_exists("test", file.set("")).value().bytes().empty());
  std::filesystem::remove(file.path());
  std::filesystem::create_directory(file.path());
  expect_refused(file, "test", ": Is a directory", [&] { (void)map_file_if_exists("test", file.path()); });
}

BOOST_AUTO_TEST_CASE(a_pipe_without_a_writer_is_refused_at_once) {
  const FileOfBytes file("a");
  BOOST_REQUIRE(mkfifo(file.path().c_str(), 0600) == 0);
  expect_refused(file, "test", ": not a regular file", [&] { (void)map_file("test", file.path()); });
}

BOOST_AUTO_TEST_SUITE_END()
