#include "tensor/io/checkpoint_names.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace troupe::detail;

BOOST_AUTO_TEST_SUITE(checkpoint_names)

namespace {

std::uint64_t generation_of_one(const std::string& name) {
  const std::vector<ManifestFile> files{{name, "net", 0, 0}};
  return generation_of(files);
}

}  // namespace

BOOST_AUTO_TEST_CASE(name_has_generation_index_and_what_is_readable_of_the_part) {
  BOOST_TEST(checkpoint_file_name(3, 0, "net") == "troupe-checkpoint-3-0-net.safetensors");
  BOOST_TEST(checkpoint_file_name(12, 34, "a/b-\xc3\xa4") == "troupe-checkpoint-12-34-a_b___.safetensors");
  BOOST_TEST(checkpoint_file_name(1, 2, "") == "troupe-checkpoint-1-2-.safetensors");
  BOOST_TEST(checkpoint_file_name(1, 2, std::string(100, 'x')) ==
             "troupe-checkpoint-1-2-" + std::string(64, 'x') + ".safetensors");
}

BOOST_AUTO_TEST_CASE(generation_is_read_from_names_of_this_form_only) {
  for (const std::string part : {"net", "a/b-\xc3\xa4", ""}) {
    BOOST_TEST(generation_of(checkpoint_file_name(3, 17, part)).value_or(0) == 3U);
  }
  for (const std::string name : {"",
                                 "manifest.json",
                                 "3-0-net.safetensors",
                                 "2026-11-28.safetensors",
                                 "troupe-checkpoint-",
                                 ".safetensors",
                                 "troupe-checkpoint-.safetensors",
                                 "troupe-checkpoint-3.safetensors",
                                 "troupe-checkpoint-3-0.safetensors",
                                 "troupe-checkpoint-3-net.safetensors",
                                 "troupe-checkpoint-3-0-n.t.safetensors",
                                 "troupe-checkpoint-03-0-net.safetensors",
                                 "troupe-checkpoint-3-00-net.safetensors",
                                 "troupe-checkpoint--3-0-net.safetensors",
                                 "troupe-checkpoint-3-0-net.safetensors.new",
                                 "troupe-checkpoint-3-0-net.safetensor",
                                 "a-troupe-checkpoint-3-0-net.safetensors",
                                 "troupe-checkpoint-9223372036854775808-0-net.safetensors",      // 2^63
                                 "troupe-checkpoint-18446744073709551615-0-net.safetensors",     // 2^64 - 1
                                 "troupe-checkpoint-18446744073709551616-0-net.safetensors"}) {  // 2^64
    BOOST_TEST_CONTEXT(name) { BOOST_TEST(!generation_of(name)); }
  }
  BOOST_TEST(generation_of("troupe-checkpoint-9223372036854775807-0-net.safetensors").value() == 9223372036854775807U);
}

BOOST_AUTO_TEST_CASE(generation_of_a_manifest_is_the_largest_of_its_files_whatever_version_named_them) {
  BOOST_TEST(generation_of(std::vector<ManifestFile>{}) == 0U);
  const std::vector<ManifestFile> files{{"troupe-checkpoint-3-0-net.safetensors", "net", 0, 0},
                                        {"5-1-table.safetensors", "table", 0, 0},
                                        {"troupe-checkpoint-4-2-net.safetensors", "net", 0, 0}};
  BOOST_TEST(generation_of(files) == 5U);
  BOOST_TEST(generation_of_one("net.safetensors") == 0U);
  BOOST_TEST(generation_of_one("18446744073709551615-0-net.safetensors") == 0U);
}

BOOST_AUTO_TEST_CASE(path_is_in_the_directory_however_that_ends) {
  BOOST_TEST(path_in("run", "a") == "run/a");
  BOOST_TEST(path_in("run/", "a") == "run/a");
  BOOST_TEST(path_in("/", "a") == "/a");
}

BOOST_AUTO_TEST_SUITE_END()
