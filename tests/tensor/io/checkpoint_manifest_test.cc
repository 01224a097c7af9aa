#include "tensor/io/checkpoint_manifest.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "tests/tensor/io/file_bytes.h"

using namespace troupe;
using namespace troupe::testing;
using detail::format_manifest;
using detail::ManifestFile;
using detail::parse_manifest;

BOOST_AUTO_TEST_SUITE(checkpoint_manifest)

namespace {

const std::string kWhere = "[checkpoint] run/manifest.json";

const std::vector<ManifestFile> kFiles{{"1-0-net.safetensors", "net", 128, 0xfedcba9876543210},
                                       {"1-1-net.safetensors", "net", 0, 1},
                                       {"1-2-a_b.safetensors", "a/b \"c\"", ~std::uint64_t{0}, 0}};

/// A manifest of other contents, with the hash that belongs to them.
std::string with_hash(std::string text) {
  return text + fmt::format("\"xxh64\":\"{:016x}\"}}\n", XXH64(text.data(), text.size(), 0));
}
std::string of_files(const std::string& list) {
  return with_hash(R"({"format":"troupe checkpoint","version":1,"files":[)" + list + "],\n");
}
std::string of_file(const std::string& name, const std::string& bytes = "8",
                    const std::string& hash = "\"0000000000000001\"") {
  return of_files("{\"name\":" + name + ",\"part\":\"net\",\"bytes\":" + bytes + ",\"xxh64\":" + hash + "}");
}
void expect_complaint(const std::string& complaint, const std::string& text) {
  expect_error<FileError>(kWhere + ": " + complaint, [&] { static_cast<void>(parse_manifest(kWhere, text)); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(formatted_manifest_is_read_back) {
  BOOST_TEST((parse_manifest(kWhere, format_manifest(kFiles)) == kFiles));
  BOOST_TEST(parse_manifest(kWhere, format_manifest({})).empty());
  BOOST_TEST(format_manifest(std::span(kFiles).first(1))
                 .starts_with("{\"format\":\"troupe checkpoint\",\"version\":1,\"files\":[\n"
                              "  "
                              "{\"name\":\"1-0-net.safetensors\",\"part\":\"net\",\"bytes\":128,\"xxh64\":"
                              "\"fedcba9876543210\"}],\n\"xxh64\":\""));
}

BOOST_AUTO_TEST_CASE(every_beginning_and_every_changed_byte_is_refused) {
  const std::string text = format_manifest(kFiles);
  for (std::size_t size = 0; size < text.size(); ++size) {
    BOOST_TEST_CONTEXT("the first " << size << " bytes") {
      BOOST_CHECK_THROW(static_cast<void>(parse_manifest(kWhere, text.substr(0, size))), FileError);
    }
  }
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    BOOST_TEST_CONTEXT("byte " << at) {
      BOOST_CHECK_THROW(static_cast<void>(parse_manifest(kWhere, changed)), FileError);
    }
  }
}

BOOST_AUTO_TEST_CASE(wrong_hash_is_named_with_its_place) {
  std::string text = format_manifest({});
  const std::size_t at = text.find("\"xxh64\"");
  const std::string hash = text.substr(at + 9, 16);
  text.replace(at + 9, 16, "0123456789abcdef");
  expect_complaint(fmt::format("at byte {}: the hash of the text before is {}, not 0123456789abcdef", at, hash), text);
  expect_complaint("at byte 2: the manifest does not end with its hash", "{}");
}

BOOST_AUTO_TEST_CASE(manifests_that_somebody_made_up_are_refused_by_what_is_wrong) {
  expect_complaint("the format is \"x\", not \"troupe checkpoint\"",
                   with_hash(R"({"format":"x","version":1,"files":[],)"));
  expect_complaint("version 2 of the format, this program reads 1",
                   with_hash(R"({"format":"troupe checkpoint","version":2,"files":[],)"));
  expect_complaint("no list \"files\"", with_hash(R"({"format":"troupe checkpoint","version":1,"files":3,)"));
  expect_complaint("an entry of \"files\" is no object", of_files("3"));
  expect_complaint("no number \"bytes\"", of_file("\"a.safetensors\"", "-8"));
  expect_complaint("no number \"bytes\"", of_file("\"a.safetensors\"", "1e300"));
  expect_complaint("a number that is too large", of_file("\"a.safetensors\"", "1e999"));
  expect_complaint("a.safetensors: not a hash: \"12\"", of_file("\"a.safetensors\"", "8", "\"12\""));
  expect_complaint("no text \"name\"", of_file("7"));
  const std::string entry = R"({"name":"a.safetensors","part":"net","bytes":8,"xxh64":"0000000000000001"})";
  expect_complaint("file given twice: \"a.safetensors\"", of_files(entry + "," + entry));
  for (const std::string name :
       {"../a.safetensors", "/a.safetensors", "", "..", ".safetensors", "a", "a/b.safetensors"}) {
    expect_complaint("not a file name: \"" + name + "\"", of_file("\"" + name + "\""));
  }
}

BOOST_AUTO_TEST_CASE(deep_and_long_texts_cost_no_memory) {
  const std::string deep(std::size_t{1} << 20, '[');
  expect_complaint("not a manifest: lists inside a file's fields", with_hash("{\"files\":[{\"name\":" + deep));
  const std::string text = with_hash(std::string(detail::kManifestBytesMax, ' '));
  expect_complaint(fmt::format("{} bytes, at most {}", text.size(), detail::kManifestBytesMax), text);
}

BOOST_AUTO_TEST_SUITE_END()
