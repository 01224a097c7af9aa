#include "messages/schema.h"

#include <boost/test/unit_test.hpp>

namespace troupe {

BOOST_AUTO_TEST_SUITE(schema)

namespace {

struct Point {
  float x = 0;
  float y = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(x, y);
  }
};

struct Place {
  float latitude = 0;
  float longitude = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(cereal::make_nvp("latitude", latitude), cereal::make_nvp("longitude", longitude));
  }
};

struct Tree {
  std::string label;
  std::vector<Tree> children;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(label, children);
  }
};

struct Derived : Point {
  std::int64_t z = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(cereal::base_class<Point>(this), z);
  }
};

struct Celsius {
  double degrees = 0;
};
template <class Archive>
double save_minimal(const Archive&, const Celsius& value) {
  return value.degrees;
}
template <class Archive>
void load_minimal(const Archive&, Celsius& value, const double& degrees) {
  value.degrees = degrees;
}

enum class Color : std::uint8_t { red };

/// Has neither serialize nor a default constructor.
struct Machine {
  explicit Machine(int p) : parts(p) {}
  int parts;
};

}  // namespace

BOOST_AUTO_TEST_CASE(types_are_described_by_structure) {
  BOOST_TEST((schema_of<Tensor, int, const bool>() == "tensor,i32,bool"));
  BOOST_TEST((schema_of<std::vector<std::string>, std::deque<std::string>>() == "list<string>,list<string>"));
  BOOST_TEST((schema_of<std::map<std::string, std::vector<std::uint8_t>>>() == "map<string,list<u8>>"));
  BOOST_TEST((schema_of<std::optional<double>, std::variant<char, float>>() == "optional<f64>,variant<char,f32>"));
  BOOST_TEST((schema_of<std::pair<int, int>, std::tuple<>>() == "tuple<i32,i32>,tuple<>"));
  BOOST_TEST((schema_of<std::array<int, 3>, std::chrono::milliseconds>() == "array3<i32>,duration1/1000<i64>"));
  BOOST_TEST((schema_of<Point, Color>() == "{f32,f32},u8"));
  BOOST_TEST(schema_of<Derived>() == "{f32,f32,i64}");
  BOOST_TEST(schema_of<Celsius>() == "{f64}");
  BOOST_TEST(schema_of<>() == "");
}

BOOST_AUTO_TEST_CASE(a_type_that_contains_itself_refers_back) { BOOST_TEST(schema_of<Tree>() == "{string,list<^1>}"); }

BOOST_AUTO_TEST_CASE(a_type_that_does_not_travel_is_an_object) { BOOST_TEST(schema_of<Machine>() == "object"); }

BOOST_AUTO_TEST_CASE(names_of_types_and_fields_do_not_matter) {
  BOOST_TEST((fingerprint_of<Point>() == fingerprint_of<Place>()));
}

BOOST_AUTO_TEST_CASE(order_and_width_matter) {
  BOOST_TEST((fingerprint_of<int, float>() != fingerprint_of<float, int>()));
  BOOST_TEST((fingerprint_of<std::int32_t>() != fingerprint_of<std::int64_t>()));
  BOOST_TEST((fingerprint_of<std::vector<Point>>() != fingerprint_of<std::vector<Point>, int>()));
}

BOOST_AUTO_TEST_CASE(long_and_int64_are_one_type) {
  BOOST_TEST((fingerprint_of<long, unsigned long, std::size_t>() ==
              fingerprint_of<long long, unsigned long long, std::uint64_t>()));
}

BOOST_AUTO_TEST_CASE(the_fingerprint_is_the_same_under_every_compiler) {
  // FNV-1a of "": the offset basis; of "a": a published test vector.
  BOOST_TEST(fingerprint_of_schema("").value == 0xcbf29ce484222325U);
  BOOST_TEST(fingerprint_of_schema("a").value == 0xaf63dc4c8601ec8cU);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
