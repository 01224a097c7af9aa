#include "tensor/io/safetensors_header.h"

#include "tests/tensor/io/file_bytes.h"

using namespace troupe;
using namespace troupe::testing;
using detail::format_safetensors_header;
using detail::parse_safetensors_header;
using detail::SafetensorsHeader;

BOOST_AUTO_TEST_SUITE(safetensors_header)

namespace {

/// Checks that the header is refused with this text. Places count from the file's first byte.
void refused(const std::string& json, const std::string& text) {
  expect_error<FileError>("w: at byte " + text, [&] { (void)parse_safetensors_header("w", json); });
}

/// Returns a header of one tensor with these fields.
std::string tensor(const std::string& fields) { return R"({"w":{)" + fields + "}}"; }

}  // namespace

BOOST_AUTO_TEST_CASE(entries_and_metadata_are_read_in_any_order) {
  const SafetensorsHeader header =
      parse_safetensors_header("w", R"({"a.b":{"shape":[2,3],"data_offsets":[4,28],"dtype":"F32"},
            "__metadata__":{"format":"pt","":"\u00e9"},
            "b":{"dtype":"BOOL","shape":[],"data_offsets":[0,1]}}   )");
  BOOST_TEST_REQUIRE(header.entries.size() == 2U);
  BOOST_TEST(header.entries[0].name == "a.b");
  BOOST_CHECK(header.entries[0].dtype == DType::f32);
  BOOST_CHECK(header.entries[0].shape == Shape({2, 3}));
  BOOST_TEST(header.entries[0].begin == 4U);
  BOOST_TEST(header.entries[0].end == 28U);
  BOOST_CHECK(header.entries[1].dtype == DType::boolean);
  BOOST_CHECK(header.entries[1].shape.empty());
  BOOST_TEST(header.metadata.at("format") == "pt");
  BOOST_TEST(header.metadata.at("") == "\xc3\xa9");
  BOOST_TEST(parse_safetensors_header("w", "{}").entries.empty());
}

BOOST_AUTO_TEST_CASE(what_is_formatted_is_read_again) {
  SafetensorsHeader header;
  header.metadata = {{"made by", "a \"test\""}};
  header.entries.push_back({"w", DType::f64, {2, 0}, 0, 0});
  const std::string text = format_safetensors_header(header);
  BOOST_TEST(text ==
             R"({"__metadata__":{"made by":"a \"test\""},"w":{"dtype":"F64","shape":[2,0],"data_offsets":[0,0]}})");
  BOOST_TEST(text.size() % 8 == 0U);
  BOOST_TEST(format_safetensors_header({}) == "{}      ");
  const SafetensorsHeader again = parse_safetensors_header("w", text);
  BOOST_TEST(again.metadata == header.metadata);
  BOOST_TEST(again.entries.at(0).name == "w");
}

BOOST_AUTO_TEST_CASE(names_the_format_cannot_hold_are_refused) {
  const auto not_formatted = [](const std::vector<std::string>& names, const std::string& text) {
    SafetensorsHeader header;
    for (const std::string& name : names) header.entries.push_back({name, DType::f32, {}, 0, 4});
    expect_error<ValueError>(text, [&] { (void)format_safetensors_header(header); });
  };
  not_formatted({"w", "v", "w"}, "[safetensors] name given twice: w");
  not_formatted({"__metadata__"}, "[safetensors] not a name: __metadata__");
  not_formatted({"\xff"}, "[safetensors] a name or metadata that is not UTF-8");
}

BOOST_AUTO_TEST_CASE(other_json_than_the_format_s_is_refused_with_its_place) {
  refused("", "8: the header does not begin with {");
  refused(" {}", "8: the header does not begin with {");
  refused("{", "9: not JSON");
  refused("{} x", "12: not JSON");
  refused(std::string("{}\0 x", 5), "10: a byte of 0 in the header");
  refused(std::string("{}\0", 3), "10: a byte of 0 in the header");
  refused(R"({"w")", "12: not JSON");
  refused("{\"\xff\":1}", "11: not JSON");
  refused(R"({"w":1})", "15: a number where none may be");
  refused(R"({"w":[]})", "14: a list where none may be");
  refused(R"({"w":null})", "17: null where none may be");
  refused(R"({"w":true})", "17: true or false where none may be");
  refused(R"({"w":"F32"})", "18: a string where none may be");
  refused(R"({"__metadata__":{"a":1}})", "31: a number where none may be");
  refused(R"({"__metadata__":{"a":"1","a":"2"}})", "36: \"a\" is given twice");
  refused(R"({"__metadata__":{"a":{}}})", "30: an object where none may be");
}

BOOST_AUTO_TEST_CASE(a_tensor_has_three_fields_once_and_of_their_kind) {
  refused(tensor(R"("dtype":"F32","shape":[1])"),
          "40: not all of \"dtype\", \"shape\" and \"data_offsets\" of tensor \"w\" are given");
  refused(tensor(R"("strides":[1])"), "23: \"strides\" is not known");
  refused(tensor(R"("dtype":"F32","dtype":"F32")"), "35: \"dtype\" is given twice");
  refused(tensor(R"("dtype":"F8_E5M2")"), "31: not a dtype: \"F8_E5M2\"");
  refused(tensor(R"("dtype":5)"), "24: a number where none may be");
  refused(tensor(R"("dtype":{})"), "23: an object where none may be");
  refused(tensor(R"("shape":"F32")"), "27: a string where none may be");
  refused(tensor(R"("shape":[-1])"), "26: a negative number");
  refused(tensor(R"("shape":[1.5])"), "27: not an integer: 1.5");
  refused(tensor(R"("shape":[[1]])"), "24: a list where none may be");
  refused(tensor(R"("shape":[9223372036854775808])"), "43: a size that does not fit");
  refused(tensor(R"("shape":[99999999999999999999])"), "44: not an integer: 99999999999999999999");
  refused(tensor(R"("shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1])"), "57: more than 16 dimensions");
  refused(tensor(R"("data_offsets":[])"), "31: \"data_offsets\" are not two numbers");
  refused(tensor(R"("data_offsets":[1])"), "32: \"data_offsets\" are not two numbers");
  refused(tensor(R"("data_offsets":[1,2,3])"), "36: a number where none may be");
  refused(R"({"w":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"w":{}})", "63: \"w\" is given twice");
}

BOOST_AUTO_TEST_CASE(depth_costs_nothing) {
  refused(std::string(2'000'000, '{'), "10: not JSON");
  refused(R"({"w":)" + std::string(2'000'000, '['), "14: a list where none may be");
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += R"({"w":)";
  refused(deep, "17: \"w\" is not known");
}

BOOST_AUTO_TEST_SUITE_END()
