#include "messages/plain_struct.h"

#include <boost/test/unit_test.hpp>

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "messages/schema.h"
#include "messages/values.h"
#include "tensor/create.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(plain_struct)

namespace {

struct Item {
  std::string name;
  std::int32_t count = 0;
  double price = 0;
  friend bool operator==(const Item&, const Item&) = default;
};

/// The same fields, with a `serialize`.
struct NamedItem {
  std::string name;
  std::int32_t count = 0;
  double price = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, count, price);
  }
};

struct Basket {
  std::vector<Item> items;
  std::optional<Item> gift;
  std::variant<std::int32_t, std::string> note;
  std::map<std::string, std::array<float, 2>> places;
  bool paid = false;
  friend bool operator==(const Basket&, const Basket&) = default;
};

struct WithTensor {
  Tensor values;
};

/// Its serialize sends only one of its fields.
struct Partly {
  std::int32_t sent = 0;
  std::int32_t kept = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(sent);
  }
};

struct Sixteen {
  int a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12, m = 13, n = 14, o = 15,
      p = 16;
  friend bool operator==(const Sixteen&, const Sixteen&) = default;
};
struct Seventeen : Sixteen {};
struct Derived : Item {
  int more = 0;
};
struct OfArray {
  std::int32_t numbers[3] = {};
  std::int32_t last = 0;
};
struct OfPointer {
  int* pointer = nullptr;
};
struct OfReference {
  int number = 0;
  int& reference;
};
struct OfConst {
  const int number = 0;
};
struct OfMutex {
  std::mutex mutex;
  int number = 0;
};
struct OfPointerInside {
  std::vector<OfPointer> pointers;
};
struct TooLong {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q;
};
union Either {
  int number;
  float real;
};

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  OutArchive out;
  out(value);
  return out.finish().bytes;
}

template <class T>
T there_and_back(const T& value) {
  OutArchive out;
  out(value);
  const Encoded encoded = out.finish();
  InArchive in(encoded.bytes, encoded.frames);
  T result;
  in(result);
  in.finish();
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_plain_struct_travels_field_by_field) {
  BOOST_CHECK(there_and_back(Item{"pen", 3, 1.5}) == (Item{"pen", 3, 1.5}));
  const Basket basket{
      {{"pen", 3, 1.5}, {"book", 1, 13.0}}, Item{"card", 1, 0.0}, "by mail", {{"shelf", {1.F, 2.F}}}, true};
  BOOST_CHECK(there_and_back(basket) == basket);
  Sixteen numbers;
  numbers.p = 40;
  BOOST_CHECK(there_and_back(numbers) == numbers);
  const OfArray array = there_and_back(OfArray{{1, 2, 3}, 4});
  BOOST_TEST(array.numbers[2] == 3);
  BOOST_TEST(array.last == 4);
  BOOST_CHECK(same_bytes(there_and_back(WithTensor{ones({2})}).values, ones({2})));
}

BOOST_AUTO_TEST_CASE(a_plain_struct_looks_on_the_wire_as_with_a_serialize_of_all_fields) {
  BOOST_CHECK(bytes_of(Item{"pen", 3, 1.5}) == bytes_of(NamedItem{"pen", 3, 1.5}));
  BOOST_CHECK_EQUAL(schema_of<Item>(), schema_of<NamedItem>());
  BOOST_CHECK_EQUAL(schema_of<Item>(), "{string,i32,f64}");
}

BOOST_AUTO_TEST_CASE(a_serialize_decides_alone) {
  const Partly partly = there_and_back(Partly{1, 2});
  BOOST_TEST(partly.sent == 1);
  BOOST_TEST(partly.kept == 0);
  BOOST_CHECK_EQUAL(schema_of<Partly>(), "{i32}");
}

BOOST_AUTO_TEST_CASE(what_is_not_plain_does_not_travel_by_itself) {
  BOOST_TEST(Travels<Sixteen>);
  BOOST_TEST(!Travels<Seventeen>);
  BOOST_TEST(!Travels<Derived>);
  BOOST_TEST(!Travels<OfPointer>);
  BOOST_TEST(!Travels<OfReference>);
  BOOST_TEST(!Travels<OfConst>);
  BOOST_TEST(!Travels<OfMutex>);
  BOOST_TEST(!Travels<OfPointerInside>);
  BOOST_TEST(!Travels<TooLong>);
  BOOST_TEST(!Travels<Either>);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
